"""Rows of a finding as CSV or JSON lines, and its summary as a table."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from cli.context import CommandContext
from cli.review.options import Detail
from cli.show.table import table
from review.rows import csv_cells


def print_rows(rows: Generator[dict[str, Any], None, None], fields: Sequence[str], how: Detail) -> None:
    """Every row, as it comes."""
    with closing(rows):
        if how.jsonl:
            for row in rows:
                sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
            return
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(fields)
        writer.writerows(csv_cells(row, fields, raw=how.raw) for row in rows)


def print_summary(context: CommandContext, lines: Sequence[tuple[str, object]], how: Detail) -> None:
    """What it came to; beside rows on standard error."""
    console = context.err if how.wanted else context.out
    console.print(table(("", "number"), lines, right=(1,)))

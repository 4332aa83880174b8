"""What `edbench items` prints; imported while the services start."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from cli.context import CommandContext
from cli.output import bytes_text
from cli.show.table import table
from controller.browse.item_filter import ItemFilter
from controller.browse.items import csv_row, fields_of, stream_all
from controller.databases import JobHandle

ROWS_SHOWN = 50


def print_items(
    context: CommandContext,
    handles: Sequence[JobHandle],
    wanted: ItemFilter,
    *,
    as_jsonl: bool,
    as_csv: bool,
    raw: bool,
) -> None:
    """The items of these jobs that are wanted, as JSON lines, CSV or a table."""
    # Closed here and not by the collector: the reader may go away, and then the services do.
    with closing(stream_all(handles, wanted)) as rows:
        if as_jsonl:
            for item in rows:
                sys.stdout.write(json.dumps(item, ensure_ascii=False) + "\n")
        elif as_csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            fields = fields_of(handles)
            writer.writerow(fields)
            writer.writerows(csv_row(item, fields, raw=raw) for item in rows)
        else:
            _show(context, rows, of_several=len(handles) > 1)


def _show(context: CommandContext, rows: Iterator[dict[str, Any]], *, of_several: bool) -> None:
    shown = list(itertools.islice(rows, ROWS_SHOWN + 1))
    cells = [
        (
            *((item["database"],) if of_several else ()),
            " / ".join(item["container_path"]),
            item["custodian"],
            item["kind"],
            item["media_type"],
            bytes_text(item["bytes"]),
            item["text_state"] or "",
            " ".join(item["exceptions"]),
        )
        for item in shown[:ROWS_SHOWN]
    ]
    origin = ("database",) if of_several else ()
    columns = (*origin, "container path", "custodian", "kind", "media type", "bytes", "text", "exceptions")
    context.out.print(table(columns, cells, right=(4 + len(origin),)))
    if len(shown) > ROWS_SHOWN:
        context.say(f"only the first {ROWS_SHOWN} are shown; --jsonl or --csv gives all of them")

"""`edbench items`."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Annotated, Any

import typer

from cli.context import CommandContext, installation, jobs_of, shared
from cli.options import JobArgument
from cli.output import bytes_text
from cli.show import table
from controller.databases import JobHandle
from controller.items import csv_row, fields_of, stream_all
from core.errors import UsageError

ROWS_SHOWN = 50


def items(
    ctx: typer.Context,
    job: JobArgument,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="one JSON object a line, every item")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header, every item")] = False,
) -> None:
    """Print every item of a job: what it is, where it was found, its hash, its text, its exceptions.

    Without an option a table of the first items is shown. Of a group each job's items come, one job after the other,
    each with its database.
    """
    if as_jsonl and as_csv:
        raise UsageError("--jsonl and --csv exclude each other; give one")
    context = shared(ctx)
    with installation(context.settings()) as installed:
        handles = jobs_of(installed.find(job))
        _print(context, handles, as_jsonl=as_jsonl, as_csv=as_csv)


def _print(context: CommandContext, handles: Sequence[JobHandle], *, as_jsonl: bool, as_csv: bool) -> None:
    # Closed here and not by the collector: the reader may go away, and then the services do.
    with closing(stream_all(handles)) as rows:
        if as_jsonl:
            for item in rows:
                sys.stdout.write(json.dumps(item, ensure_ascii=False) + "\n")
        elif as_csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            fields = fields_of(handles)
            writer.writerow(fields)
            writer.writerows(csv_row(item, fields) for item in rows)
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

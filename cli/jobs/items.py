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

from cli.context import CommandContext, shared
from cli.installation import installation
from cli.options import JobArgument
from cli.output import bytes_text
from cli.show.table import table
from controller.browse.item_filter import ANY_EXCEPTION, ItemFilter, parse_conditions
from controller.browse.items import csv_row, fields_of, stream_all
from controller.databases import JobHandle
from core.errors import ExceptionCode, UsageError
from core.records import Kind, TextState

ROWS_SHOWN = 50


def items(
    ctx: typer.Context,
    job: JobArgument,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="one JSON object a line, every item")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header, every item")] = False,
    csv_raw: Annotated[bool, typer.Option("--csv-raw", help="the same, formulas and all")] = False,
    where: Annotated[str, typer.Option(metavar="CONDITIONS", help="only items whose metadata is like that")] = "",
    custodian: Annotated[str | None, typer.Option(metavar="NAME", help="only this custodian's")] = None,
    media_type: Annotated[str | None, typer.Option("--type", help="only of this media type")] = None,
    kind: Annotated[Kind | None, typer.Option(help="only of this kind")] = None,
    text: Annotated[TextState | None, typer.Option(help="only with this text state")] = None,
    exception: Annotated[str | None, typer.Option(metavar="CODE", help="only with this exception, or `any`")] = None,
) -> None:
    """Print a job's items: what each is, where it was found, its hash, its text, its exceptions.

    Without --jsonl or --csv a table of the first items is shown. Of a group each job's items come, one job after the
    other, each with its database. In CSV what a spreadsheet would run as a formula has an apostrophe in front.

    CONDITIONS are KEY OPERATOR VALUE joined by `and`, with the operators = != < <= > >= and ~ (contains):
    'date>=2001-06 and author~smith and page_count>10'. A date is compared as far as it is given; an item without the
    key is left out. docs/formats.md lists the keys.
    """
    if as_jsonl + as_csv + csv_raw > 1:
        raise UsageError("--jsonl, --csv and --csv-raw exclude each other; give one")
    if exception not in (None, ANY_EXCEPTION, *ExceptionCode):
        raise UsageError(f"--exception can be {ANY_EXCEPTION}, {', '.join(ExceptionCode)}")
    wanted = ItemFilter(
        custodian=custodian,
        type=media_type,
        exception=exception,
        kind=kind,
        text_state=text,
        conditions=parse_conditions(where),
    )
    context = shared(ctx)
    with installation(context.settings()) as installed:
        handles = installed.find(job).each
        _print(context, handles, wanted, as_jsonl=as_jsonl, as_csv=as_csv or csv_raw, raw=csv_raw)


def _print(
    context: CommandContext,
    handles: Sequence[JobHandle],
    wanted: ItemFilter,
    *,
    as_jsonl: bool,
    as_csv: bool,
    raw: bool,
) -> None:
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

"""`edbench inspect`: unpack files without any database."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from cli import options as opt
from cli.context import shared
from cli.output import table
from cli.tree import Commands
from core import texts
from core.dates import checked_zone
from core.options import DEFAULT_LANGUAGES, DEFAULT_ZONE, ocr_choice
from core.passwords import read_bank
from core.records import JobOptions
from core.settings import read_settings
from core.texts import many
from worker.inspect.summary import FormatCount, Summary, counted
from worker.inspect.tree import inspect_paths
from worker.parsers import load_plugins

if TYPE_CHECKING:
    from rich.console import Console

commands = Commands()

ROWS_SHOWN = 50
FIELDS = (
    *("container_path", "id", "parent", "name", "name_b64", "kind", "container", "media_type", "bytes", "sha256"),
    *("text_state", "pages", "text", "metadata", "exceptions", "children"),
)


@commands.add("inspect", "edbench inspect mail.mbox report.docx -o jsonl")
def inspect(
    ctx: typer.Context,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="files or directories")],
    processes: opt.Processes = None,
    passwords: opt.Passwords = None,
    # Not the fields of DiscoveryOrder, whose import would bring the database's libraries, which nothing here needs.
    ocr: Annotated[bool, typer.Option("--ocr", help=texts.OCR)] = False,
    ocr_languages: Annotated[
        str | None, typer.Option(metavar="NAMES", help=f"{texts.OCR_LANGUAGES}  [default: {DEFAULT_LANGUAGES}]")
    ] = None,
    time_zone: Annotated[str, typer.Option(metavar="NAME", help=texts.TIME_ZONE)] = DEFAULT_ZONE,
) -> None:
    """Children come before their container. A file that cannot be read has an exception with the reason. The summary at
    the end lists items, bytes, text states and exceptions by format (on standard error unless it is a table). The exit
    status is 0 whatever the files contain."""
    context = shared(ctx)
    settings = read_settings(os.environ)
    load_plugins(settings.plugins)  # here too: names of their formats may be needed
    bank = read_bank(passwords).passwords if passwords else None
    choice = ocr_choice(ocr, ocr_languages)
    if choice.asked:
        from worker.ocr.tesseract import refuse_no_ocr

        refuse_no_ocr(choice)
    zone = checked_zone(time_zone)
    titles: dict[str, str] = {}
    lines = inspect_paths(
        paths,
        JobOptions(ocr=choice, time_zone=zone),
        processes=processes or len(os.sched_getaffinity(0)),
        memory_mb=settings.slot_memory_mb,
        plugins=settings.plugins,
        passwords=bank,
        meanwhile=_import_tables,
        titles=titles,
    )
    summary = Summary(titles)
    if context.output == "table":
        shown = _first(lines, summary)  # rich is imported meanwhile
        _show_items(context.out, shown, summary.items)
        show(context.out, summary)
        return
    if context.output == "jsonl":
        for line in lines:
            summary.take(counted(line) if isinstance(line, bytes) else line)
            sys.stdout.buffer.write(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()
    else:
        context.document(_taken(lines, summary), fields=FIELDS)
    show(context.err, summary)


def _taken(lines: Iterable[Any], summary: Summary) -> Iterator[Any]:
    """Return the items, and count each."""
    for line in lines:
        item = msgspec.json.decode(line) if isinstance(line, bytes) else line
        summary.take(item)
        yield item


def _first(lines: Iterator[Any], summary: Summary) -> list[Any]:
    """The items that are shown; the others are only counted, without parsing their text."""
    shown = list(_taken(itertools.islice(lines, ROWS_SHOWN), summary))
    for line in lines:
        summary.take(counted(line) if isinstance(line, bytes) else line)
    return shown


def _import_tables() -> None:
    """Import the modules for tables, which takes a fifth of a start."""
    import rich.console
    import rich.table  # noqa: F401


def _show_items(console: Console, lines: list[Any], items: int) -> None:
    rows = []
    for line in lines:
        text = many(len(line["text"]), "character") if line["text"] else _spaced(line["text_state"])
        path = " / ".join(line["container_path"])
        rows.append((path, line["kind"], line["media_type"], line["bytes"], text, ", ".join(line["exceptions"])))
    console.print(table(("container path", "kind", "media type", "bytes", "text", "exceptions"), rows, right=(3,)))
    if items > len(lines):
        console.print(f"only the first {len(lines)} of {many(items, 'item')} are shown; -o jsonl prints all of them")
    console.print()


def show(console: Console, summary: Summary) -> None:
    """Print the summary, by format."""
    rows = [(title, *_counts(of)) for title, of in (*summary.by_items(), ("all", summary.total()))]
    console.print(table(("format", "items", "bytes", "text", "exceptions"), rows, right=(1, 2)))
    unknown = (
        f"; {summary.remainders:,} cut short, so the number of their children is unknown" if summary.remainders else ""
    )
    console.print(
        f"{many(summary.loose_files, 'loose file')}, {many(summary.items, 'item')}, {summary.with_exceptions:,} of them with "
        f"exceptions; children: {summary.expected:,} expected = {summary.emitted:,} emitted + {summary.failed:,} failed"
        f"{unknown}",
        soft_wrap=True,
    )


def _counts(of: FormatCount) -> tuple[int, int, str, str]:
    """Items, bytes, text states and exceptions of one format."""
    return of.items, of.bytes, _counted(of.states), _counted(of.exceptions)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{_spaced(name)} {count:,}" for name, count in counts.most_common())


def _spaced(name: str) -> str:
    return name.replace("_", " ")

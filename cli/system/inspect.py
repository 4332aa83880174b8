"""`edbench inspect`: unpack files without any database."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console

from cli.options import Passwords
from cli.show.table import table
from controller.jobs.ocr import ocr_choice, refuse_no_ocr
from core.ocr import DEFAULT_LANGUAGES
from core.passwords import read_bank
from core.records import JobOptions
from core.settings import read_settings
from worker.inspect.summary import FormatCount, Summary, counted
from worker.inspect.tree import inspect_paths
from worker.plugins import load_plugins

ROWS_SHOWN = 50

# As DiscoveryOrder says it: to import that would bring the database's libraries, which nothing here needs.
Ocr = Annotated[bool, typer.Option("--ocr", help="read pictures and scans too, by tesseract, in a phase of its own")]
OcrLanguages = Annotated[
    str | None,
    typer.Option("--ocr-languages", metavar="NAMES", help=f"tesseract's, as eng+deu  [default: {DEFAULT_LANGUAGES}]"),
]


def inspect(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files or directories.")],
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON line an item, with its text.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if not given.")] = None,
    passwords: Passwords = None,
    ocr: Ocr = False,
    ocr_languages: OcrLanguages = None,
) -> None:
    """Unpack files without any database and show every item: the tool to look at one odd file.

    Children come before what they lie in; a file that cannot be read has an exception that says why. At the end stands
    a summary by format: items, bytes, text states, exceptions (with --jsonl on standard error). Exit status 0 whatever
    the files hold.

    Example: edbench inspect odd.zip --jsonl
    """
    settings = read_settings(os.environ)
    load_plugins(settings.plugins)  # here too: the summary has formats by the names that their handlers give them
    bank = read_bank(passwords).passwords if passwords else None
    choice = ocr_choice(ocr, ocr_languages)
    refuse_no_ocr(choice)
    lines = inspect_paths(
        paths,
        JobOptions(ocr=choice),
        processes=processes or len(os.sched_getaffinity(0)),
        memory_mb=settings.slot_memory_mb,
        plugins=settings.plugins,
        passwords=bank,
    )
    summary = Summary()
    shown: list[Any] = []
    for line in lines:
        wanted = not jsonl and len(shown) < ROWS_SHOWN
        item = line if not isinstance(line, bytes) else json.loads(line) if wanted else counted(line)
        summary.take(item)
        if jsonl:
            sys.stdout.buffer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        elif wanted:
            shown.append(item)
    sys.stdout.buffer.flush()
    console = Console(stderr=jsonl, highlight=False, emoji=False)
    if not jsonl:
        _show_items(console, shown, summary.items)
    _show(console, summary)


def _show_items(console: Console, lines: list[Any], items: int) -> None:
    rows = []
    for line in lines:
        text = f"{len(line['text']):,} characters" if line["text"] else _spaced(line["text_state"])
        path = " / ".join(line["container_path"])
        rows.append((path, line["kind"], line["media_type"], line["bytes"], text, ", ".join(line["exceptions"])))
    console.print(table(("container path", "kind", "media type", "bytes", "text", "exceptions"), rows, right=(3,)))
    if items > len(lines):
        console.print(f"only the first {len(lines)} of {items:,} items are shown; --jsonl gives all of them")
    console.print()


def _show(console: Console, summary: Summary) -> None:
    rows = [(title, *_counts(of)) for title, of in (*summary.by_items(), ("all", summary.total()))]
    console.print(table(("format", "items", "bytes", "text", "exceptions"), rows, right=(1, 2)))
    unknown = f"; {summary.remainders:,} cut short, so that some are not known" if summary.remainders else ""
    console.print(
        f"{summary.loose_files:,} loose files, {summary.items:,} items, {summary.with_exceptions:,} of them with "
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

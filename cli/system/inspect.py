"""`edbench inspect`: unpack files without any database."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from cli.bank import Passwords
from controller.jobs.ocr import ocr_choice, refuse_no_ocr
from core.ocr import DEFAULT_LANGUAGES
from core.options.choices import DEFAULT_ZONE
from core.options.dates import checked_zone
from core.passwords import read_bank
from core.records import JobOptions
from core.settings import read_settings
from worker.inspect.summary import Summary, counted
from worker.inspect.tree import inspect_paths
from worker.plugins import load_plugins

ROWS_SHOWN = 50

# As DiscoveryOrder says it: to import that would bring the database's libraries, which nothing here needs.
Ocr = Annotated[bool, typer.Option("--ocr", help="read pictures and scans too, by tesseract, in a phase of its own")]
OcrLanguages = Annotated[
    str | None,
    typer.Option("--ocr-languages", metavar="NAMES", help=f"tesseract's, as eng+deu  [default: {DEFAULT_LANGUAGES}]"),
]
TimeZone = Annotated[str, typer.Option("--time-zone", metavar="NAME", help="of dates that note none, as Europe/Berlin")]


def inspect(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files or directories.")],
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON line an item, with its text.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, max=256, help="Processes; all cores if not given.")] = None,
    passwords: Passwords = None,
    ocr: Ocr = False,
    ocr_languages: OcrLanguages = None,
    time_zone: TimeZone = DEFAULT_ZONE,
) -> None:
    """Unpack files without any database and show every item: the tool to look at one odd file.

    Children come before what they lie in; a file that cannot be read has an exception that says why. At the end stands
    a summary by format: items, bytes, text states, exceptions (with --jsonl on standard error). Exit status 0 whatever
    the files hold.

    Example: edbench inspect odd.zip --jsonl
    """
    settings = read_settings(os.environ)
    load_plugins(settings.plugins)  # here too: what their handlers call a format may have to be looked up
    bank = read_bank(passwords).passwords if passwords else None
    choice = ocr_choice(ocr, ocr_languages)
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
    from cli.show.inspected import show

    show(summary, None if jsonl else shown)


def _import_tables() -> None:
    """What draws tables takes a fifth of a start."""
    import cli.show.inspected  # noqa: F401

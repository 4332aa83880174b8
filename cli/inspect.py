"""`edbench inspect`: unpack files without any database."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from core.records import JobOptions
from core.settings import read_settings
from worker.inspect_tree import inspect_paths


def inspect(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files or directories.")],
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON line an item, with its text.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if not given.")] = None,
) -> None:
    """Unpack files without any database and show every item: the tool to look at one odd file.

    Children come before what they lie in; a file that cannot be read has an exception that says why. Exit status 0
    whatever the files hold.

    Example: edbench inspect odd.zip --jsonl
    """
    settings = read_settings(os.environ)
    lines = inspect_paths(
        paths,
        JobOptions(),
        processes=processes or len(os.sched_getaffinity(0)),
        memory_mb=settings.slot_memory_mb,
        plugins=settings.plugins,
    )
    if jsonl:
        for line in lines:
            sys.stdout.buffer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        sys.stdout.buffer.flush()
    else:
        _show(json.loads(line) if isinstance(line, bytes) else line for line in lines)


def _show(lines: Any) -> None:
    console = Console()
    table = Table("container path", "kind", "media type", "bytes", "text", "exceptions", box=None, header_style="bold")
    types: Counter[str] = Counter()
    exceptions: Counter[str] = Counter()
    for line in lines:
        types[line["media_type"]] += 1
        exceptions.update(line["exceptions"])
        text = f"{len(line['text'])} characters" if line["text"] else line["text_state"].replace("_", " ")
        path = " / ".join(line["container_path"])
        table.add_row(path, line["kind"], line["media_type"], f"{line['bytes']:,}", text, ", ".join(line["exceptions"]))
    console.print(table)
    console.print(f"{sum(types.values())} items; {sum(exceptions.values())} exceptions", highlight=False)
    for code, count in exceptions.most_common():
        console.print(f"  {code}: {count}", highlight=False)

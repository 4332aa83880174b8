"""`edbench formats`: the supported formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.context import shared
from cli.output import table
from cli.tree import Commands
from core.errors import UsageError
from core.records import Limits
from core.settings import read_settings
from readers.listing import Listed, details, listed, markdown, markdown_table
from readers.registry import all_handlers
from worker.parsers import load_plugins

commands = Commands()
_LIMITS = {
    "depth": "nested containers and documents",
    "parse_bytes": "bytes of a document or message that must be parsed whole; larger ones are `too_large`",
    "expansion_ratio": "extracted bytes ÷ bytes of the loose file, above …",
    "expansion_floor": "… this many extracted bytes",
    "extracted_bytes": "extracted bytes under one loose file",
    "children": "items under one loose file",
    "item_seconds": "seconds for one item, and …",
    "item_seconds_per_mb": "… this many more for each 10⁶ bytes of it",
    "hand_ons": (
        "ranges and items under one loose file that are passed to other tasks; the rest are opened by the task "
        "that finds them"
    ),
    "loose_seconds": "CPU seconds for one loose file with all its content, in one phase, and …",
    "loose_seconds_per_mb": "… this many more for each 10⁶ bytes of it; then `time_limit`",
    "deaths": "slots that may die in one loose file, or in one container in it, in one phase, and …",
    "deaths_per_mb": "… this many more for each 10⁶ bytes of it; then `deaths_limit`",
    "text_characters": "characters of text taken from one item",
}


@commands.add("formats", "edbench formats pdf")
def formats(
    ctx: typer.Context,
    word: Annotated[str | None, typer.Argument(metavar="[WORD]", help="an extension, media type or name")] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole reference page (docs/formats.md).")
    ] = False,
) -> None:
    """Give WORD to see what is extracted from that format and what is not. Formats of plugins are listed too."""
    if as_markdown:
        sys.stdout.write(page())
        return
    context = shared(ctx)
    load_plugins(read_settings(os.environ).plugins)
    chosen = [one for one in listed(all_handlers()) if word is None or one.named(word)]
    if word is not None and not chosen:
        raise UsageError(f"no format has the name, extension or media type {word!r}; list them with `edbench formats`")
    if context.document(map(_document, chosen)):
        return
    if word is None:
        rows = [_row(one) for one in chosen]
        context.out.print(table(("format", "extensions", "text", "children", "announced by"), rows))
        context.say("`edbench formats pdf` shows what is extracted from a format and what is not")
    for one in chosen if word is not None else ():
        context.out.print(one.declared.title, style="bold")
        grid = Table.grid(padding=(0, 2))
        for name, text in details(one):
            grid.add_row(name, text.replace("`", ""))
        context.out.print(grid)


def _document(one: Listed) -> dict[str, Any]:
    of = one.declared
    names = {"name": of.title, "extensions": list(of.extensions), "text": of.text, "children": of.children}
    return names | {"announces": of.announces, "details": dict(details(one))}


def _row(one: Listed) -> tuple[str, ...]:
    declared = one.declared
    marks = ("yes" if has else "no" for has in (declared.text, declared.children))
    return (declared.title, " ".join(declared.extensions), *marks, declared.announces)


def page() -> str:
    """The text of docs/formats.md."""
    head = "\n## Limits\n\nReaching a limit is an exception with its own code; data extracted before is kept.\n\n"
    return (
        markdown(all_handlers()) + head + "\n".join(markdown_table(("Limit", "Default", "Of what"), _limits())) + "\n"
    )


def _limits() -> Iterator[tuple[str, str, str]]:
    for field in fields(Limits):
        value = getattr(Limits(), field.name)
        yield f"`{field.name}`", f"{value:,}" if isinstance(value, int) else f"{value:g}", _LIMITS[field.name]

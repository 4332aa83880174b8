"""`edbench formats`: the supported formats."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from cli.context import shared
from cli.output import table
from cli.tree import Commands
from core.errors import UsageError
from core.settings import PLUGINS, read_settings
from formats.listing import Listed, details, listed, markdown
from formats.registry import all_handlers
from worker.plugins import load_plugins

commands = Commands()


@commands.add("formats", "edbench formats pdf")
def formats(
    ctx: typer.Context,
    word: Annotated[str | None, typer.Argument(metavar="[WORD]", help="an extension, media type or name")] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole reference page (docs/formats.md).")
    ] = False,
) -> None:
    """With WORD, it shows what is extracted from that format and what is not. Formats of plugins are listed too."""
    if as_markdown:
        load_plugins(PLUGINS)
        sys.stdout.write(markdown(all_handlers()))
        return
    context = shared(ctx)
    load_plugins(read_settings(os.environ).plugins)
    chosen = [one for one in listed(all_handlers()) if word is None or one.named(word)]
    if word is None:
        rows = [_row(one) for one in chosen]
        context.out.print(table(("format", "extensions", "text", "children", "announced by"), rows))
        context.say("`edbench formats pdf` shows what is extracted from a format and what is not")
    elif not chosen:
        raise UsageError(f"no format has the name, extension or media type {word!r}; list them with `edbench formats`")
    for one in chosen if word is not None else ():
        context.out.print(f"[bold]{escape(one.declared.title)}[/]")
        grid = Table.grid(padding=(0, 2))
        for name, said in details(one):
            grid.add_row(name, escape(said.replace("`", "")))
        context.out.print(grid)


def _row(one: Listed) -> tuple[str, ...]:
    declared = one.declared
    marks = ("yes" if said else "no" for said in (declared.text, declared.children))
    return (declared.title, " ".join(declared.extensions), *marks, declared.announces)

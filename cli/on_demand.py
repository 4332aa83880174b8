"""Commands whose modules are imported when they are used, so that each starts as fast as it can."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """One command, or a group of commands."""

    name: str
    where: str  # module and function; of a group, a function that gives its typer.Typer
    help: str  # first sentence of the command's help
    example: str  # of its use; a group's commands have their own
    group: bool = False
    parts: tuple[LazyCommand, ...] = ()  # of a group: commands that bring what its others do not need


class CommandOnDemand(TyperCommand):
    """Stands for a command until it is used; then its module is imported, and the command itself takes over."""

    def __init__(self, entry: LazyCommand) -> None:
        super().__init__(entry.name, help=entry.help, rich_markup_mode=None)
        self.entry = entry

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself, which is what runs."""
        return load(self.entry).make_context(info_name, args, parent, **extra)


def load(entry: LazyCommand) -> Any:
    """The command of an entry, its module imported."""
    module, _, name = entry.where.partition(":")
    function = getattr(import_module(module), name)
    if entry.group:
        group = get_group(function())
        for part in entry.parts:
            group.add_command(CommandOnDemand(part))
        return group
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(entry.name, epilog=f"Example: {entry.example}")(function)
    return get_command(app)

"""Commands whose modules are imported when they are used, so that each starts as fast as it can."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group

from core.errors import UsageError


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
    """The command of an entry, its module imported. Its numbers are numbers."""
    return _finite(_loaded(entry))


def _loaded(entry: LazyCommand) -> Any:
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


def _finite(command: Any) -> Any:
    """Have every option of a command, and of those of a group, refuse what no range keeps out: `nan` is neither below nor above."""
    for one in (command, *getattr(command, "commands", {}).values()):
        for option in one.params:
            option.callback = option.callback or _refuse_no_number
    return command


def _refuse_no_number(_ctx: object, option: Any, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{option.opts[0]} is {value}; give a finite number", field=option.name)
    return value

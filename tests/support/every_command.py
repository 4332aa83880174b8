"""Every command of `edbench` with the words that it is called by, those of groups among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cli.commands import COMMANDS
from cli.on_demand import LazyCommand, load


def every_command(
    entries: tuple[LazyCommand, ...] = COMMANDS, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for entry in entries:
        command, words = load(entry), (*above, entry.name)
        yield from every_command(entry.parts, words)
        parts = {part.name for part in entry.parts}
        each = {name: one for name, one in getattr(command, "commands", {}).items() if name not in parts}
        yield from (((*words, name), one) for name, one in each.items()) if entry.group else [(words, command)]

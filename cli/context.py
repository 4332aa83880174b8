"""What every command uses: environment, settings, clock, output streams. Databases are in `cli.installation`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from cli.tree import standard_output
from core.clock import Clock, SystemClock
from core.errors import UsageError
from core.settings import INDEX_ENGINES, Settings, filer_source, read_settings

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 200


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The context of a command; `shared` makes it from the environment given to `cli.main`."""

    env: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)

    def settings(self) -> Settings:
        """Settings from the environment; raises UsageError with the variable's name on a bad value."""
        return read_settings(self.env)

    @property
    def out(self) -> Console:
        """Standard output."""
        return _console(sys.stdout)

    def people(self, output: str) -> Console:
        """Where tables and remarks go: to standard output unless that is for a document."""
        return _console(_for_people(output))

    def last_line(self, output: str, line: str) -> None:
        """Print the line that scripts read last, such as an id or a path, where `people` is."""
        print(line, file=_for_people(output), flush=True)

    @property
    def err(self) -> Console:
        """Standard error: progress and remarks."""
        return _console(sys.stderr)

    def say(self, line: str) -> None:
        """One plain line on standard error."""
        print(line, file=sys.stderr, flush=True)


def _for_people(output: str) -> TextIO:
    if output == "table":
        return sys.stdout
    return standard_output.get() or sys.stderr


def _console(file: TextIO) -> Console:
    """A console that fits the terminal; what is piped has room enough."""
    from rich.console import Console

    # No emoji: a name that has `:cat:` in it is shown as it is.
    return Console(file=file, width=None if file.isatty() else PIPE_WIDTH, highlight=False, emoji=False)


def shared(ctx: typer.Context) -> CommandContext:
    """The context of the running command."""
    if not isinstance(ctx.obj, Mapping):
        raise TypeError("commands are started by cli.main")
    return CommandContext(ctx.obj)


def with_options(
    settings: Settings,
    *,
    storage: Path | None,
    slots: int | None,
    engine: str | None,
    filer: str | None = None,
) -> Settings:
    """Settings with the values of the command line; raises UsageError for an unknown engine or filer."""
    changes: dict[str, object] = {}
    if storage is not None:
        changes["storage"] = storage.absolute()
    if slots is not None:
        changes["slots"] = slots
    if engine is not None:
        if engine not in INDEX_ENGINES:
            raise UsageError(f"--index-engine is {engine!r}; it must be {' or '.join(INDEX_ENGINES)}")
        changes["index_engine"] = engine
    if filer is not None:
        changes["filer"] = filer_source(filer)
    return dataclasses.replace(settings, **changes)  # type: ignore[arg-type]

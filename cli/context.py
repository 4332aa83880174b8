"""The common context of all commands: environment, settings, clock, output streams. Databases are in
`cli.installation`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from cli.output import print_document
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
    output: str = "table"
    csv_raw: bool = False

    def settings(
        self,
        *,
        storage: Path | None = None,
        slots: int | None = None,
        engine: str | None = None,
        filer: str | None = None,
    ) -> Settings:
        """Settings from the environment; options of the command line replace them.

        Raises UsageError with the variable's name for an invalid value, an unknown engine or filer."""
        changes: dict[str, Any] = {"storage": storage and storage.absolute(), "slots": slots, "index_engine": engine}
        if engine not in (None, *INDEX_ENGINES):
            raise UsageError(f"--index-engine is {engine!r}; it must be {' or '.join(INDEX_ENGINES)}")
        if filer is not None:
            changes["filer"] = filer_source(filer)
        given = {name: value for name, value in changes.items() if value is not None}
        return dataclasses.replace(read_settings(self.env), **given)

    @property
    def out(self) -> Console:
        """Standard output."""
        return _console(sys.stdout)

    @property
    def people(self) -> Console:
        """The console for tables and remarks: standard output unless a document is printed there."""
        return _console(self._for_people)

    def last_line(self, line: str) -> None:
        """Print the line that scripts read last, such as an id or a path, on `people`."""
        print(line, file=self._for_people, flush=True)

    def document(self, value: Any, rows: Iterable[Any] | None = None, fields: Sequence[str] = ()) -> bool:
        """Print a record, or records, in the format of -o; return False for a table, which the command prints itself.

        `rows`: printed by jsonl and csv in place of `value`; `fields`: those of each record, if records are printed as
        they come."""
        if self.output == "table":
            return False
        print_document(value if rows is None or self.output == "json" else rows, self.output, fields, raw=self.csv_raw)
        return True

    @property
    def err(self) -> Console:
        """Standard error: progress and remarks."""
        return _console(sys.stderr)

    def say(self, line: str) -> None:
        """Print one plain line on standard error."""
        print(line, file=sys.stderr, flush=True)

    @property
    def _for_people(self) -> TextIO:
        return sys.stdout if self.output == "table" else standard_output.get() or sys.stderr


def _console(file: TextIO) -> Console:
    """A console as wide as the terminal; wide enough for any line in a pipe."""
    from rich.console import Console

    # Names are shown as they are, also those with `:cat:` or `[red]` in them.
    width = None if file.isatty() else PIPE_WIDTH
    return Console(file=file, width=width, markup=False, highlight=False, emoji=False)


def shared(ctx: typer.Context) -> CommandContext:
    """The context of the running command."""
    return CommandContext(ctx.obj, output=ctx.params.get("output", "table"), csv_raw=ctx.params.get("csv_raw", False))

"""What every command shares: environment, settings, clock, where to print, and the way to the databases."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import typer
from rich.console import Console

from controller.cluster.base import COMPOSE, chosen_cluster
from controller.databases import Jobs, open_databases
from controller.jobs.groups.create import find
from controller.jobs.orders import first_databases
from core.clock import Clock, SystemClock
from core.errors import UsageError
from core.filer.load import site_source
from core.services import embedded_services
from core.settings import INDEX_ENGINES, Settings, filer_source, read_settings
from sql.session import Database

# Slots that a command without workers makes room for, so that a `discover` beside it finds connections too.
SLOTS_BESIDE = 16
PIPE_WIDTH = 200


__all__ = [
    "CommandContext",
    "Installation",
    "installation",
    "shared",
    "with_options",
    "writable_file",
]


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a command works with; `shared` makes it from the environment that `cli.main` was given."""

    env: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)

    def settings(self, cluster: str | None = None) -> Settings:
        """Settings from the environment; raises UsageError with the variable's name on a bad value.

        Where `cluster` (else EDBENCH_CLUSTER) is `compose`, with the databases, broker and storage root of that system.
        """
        settings = read_settings(self.env)
        if chosen_cluster(self.env, cluster) != COMPOSE:
            return settings
        from controller.cluster.reach import reach_compose  # brings the engine's client

        return reach_compose(settings, self.env)

    @property
    def out(self) -> Console:
        """Standard output."""
        return _console(sys.stdout)

    @property
    def err(self) -> Console:
        """Standard error: progress and remarks."""
        return _console(sys.stderr)

    def say(self, line: str) -> None:
        """One plain line on standard error."""
        print(line, file=sys.stderr, flush=True)


def _console(file: TextIO) -> Console:
    """A console that fits the terminal; what is piped has room enough."""
    return Console(file=file, width=None if file.isatty() else PIPE_WIDTH, highlight=False)


def shared(ctx: typer.Context) -> CommandContext:
    """The context of the running command."""
    if not isinstance(ctx.obj, Mapping):
        raise TypeError("commands are started by cli.main")
    return CommandContext(ctx.obj)


@dataclass(frozen=True, slots=True)
class Installation:
    """Settings with services attached, and the databases open."""

    settings: Settings
    embedded: bool  # the services are ours; so workers are ours to start
    databases: list[Database]

    def find(self, reference: str) -> Jobs:
        """The job or group meant by an id, an unambiguous beginning of one, or `last`; raises UsageError."""
        return find(self.databases, reference)

    def first(self, databases: int) -> list[Database]:
        """So many databases; raises UsageError when there are fewer."""
        return first_databases(self.databases, databases)


@contextmanager
def installation(settings: Settings, *, slots: int = SLOTS_BESIDE, databases: int = 1) -> Iterator[Installation]:
    """Attach to the services (embedded ones are started if need be) for as long as the block lasts.

    `slots`: how many slots, over all workers, are going to be used; `databases`: how many embedded databases are to
    be there, beside those of earlier commands. Raises UsageError and SystemFaults.
    """
    names = [f"db{number}" for number in range(1, databases + 1)]
    with embedded_services(settings, databases=names, slots=max(slots, SLOTS_BESIDE)) as attached:
        opened = open_databases(attached)
        try:
            yield Installation(attached, settings.embedded, opened)
        finally:
            for database in opened:
                database.dispose()


def with_options(
    settings: Settings,
    *,
    storage: Path | None,
    slots: int | None,
    engine: str | None,
    filer: str | None = None,
    site: str | None = None,
) -> Settings:
    """Settings with what the command line says instead; raises UsageError for an unknown engine, filer or site."""
    changes: dict[str, object] = {}
    if storage is not None:
        changes["storage"] = storage.absolute()
    if slots is not None:
        changes["slots"] = slots
    if engine is not None:
        if engine not in INDEX_ENGINES:
            raise UsageError(f"--index-engine is {engine!r}; it can be {' or '.join(INDEX_ENGINES)}")
        changes["index_engine"] = engine
    if filer is not None:
        changes["filer"] = filer_source(filer)
    if site is not None:
        if filer is not None:
            raise UsageError("--site and --filer exclude each other: a site names its filer itself")
        changes["filer"] = site_source(site)
    return dataclasses.replace(settings, **changes)  # type: ignore[arg-type]


def writable_file(path: Path | None, option: str) -> None:
    """Raises UsageError now rather than after an hour when `path` cannot become a file."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option} {path} is a directory; give a file name")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {path}: its directory does not exist; make it first")

"""Attaches commands to the databases. The database's libraries take a quarter of a second to import, while the services
start."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from cli.output import await_answer
from core.services import embedded_services
from core.settings import Settings

if TYPE_CHECKING:
    from controller.databases import Jobs
    from sql.session import Database

# Slots that a command without workers makes room for, so that a concurrent `discover` finds connections too.
SPARE_SLOTS = 16


@dataclass(frozen=True, slots=True)
class Installation:
    """Settings with services attached, and the open databases."""

    settings: Settings
    embedded: bool  # the services are ours; so workers are ours to start
    databases: list[Database]

    def find(self, reference: str) -> Jobs:
        """The job or group with this id, an unambiguous beginning of it, or `last`. Raises UsageError."""
        from controller.jobs.groups import find

        return find(self.databases, reference)

    def find_discovered(self, reference: str) -> Jobs:
        """Like `find`, among discoveries; `last` is the newest of them."""
        from controller.jobs.groups import find_discovered

        return find_discovered(self.databases, reference)

    def first(self, databases: int) -> list[Database]:
        """The first databases, so many. Raises UsageError if there are fewer."""
        from controller.databases import first_databases

        return first_databases(self.databases, databases)


@contextmanager
def installation(
    settings: Settings,
    *,
    slots: int = SPARE_SLOTS,
    databases: int = 1,
    broker: bool = True,
    work: Sequence[str] = (),
    looks: bool = True,
) -> Iterator[Installation]:
    """Attach to the services for as long as the block lasts; embedded ones are started if needed.

    `slots`: used over all workers; `databases`: embedded databases that are needed; `broker`: False for a command that only
    reads the databases; `work`: modules that the command needs next, imported while services start; `looks`: whether the
    command reads the storage root, which has to answer then. Raises UsageError and SystemFaults."""
    if looks:
        await_answer(settings.storage)
    names = [f"db{number}" for number in range(1, databases + 1)]
    room = max(slots, SPARE_SLOTS)

    def bring() -> None:
        for module in ("controller.databases", "controller.jobs.groups", *work):
            import_module(module)

    with embedded_services(settings, databases=names, slots=room, broker=broker, meanwhile=bring) as attached:
        from controller.databases import open_databases

        opened = open_databases(attached)
        try:
            yield Installation(attached, settings.embedded, opened)
            sys.stdout.flush()  # it can be read while the services end
        finally:
            for database in opened:
                database.dispose()

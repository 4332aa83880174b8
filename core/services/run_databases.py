"""The databases of a run: their names, the mark by which the queue manager knows that it may dispatch, and their addresses.

The mark is the database's comment, which every session of the server can read. Only the owner, the controller, sets it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from core.crew import RUN_DATABASE, database_name
from core.settings import DatabaseAddress, Settings

_MARK = re.compile(r"run on ([0-9]{1,3}) databases(?:, hosts ([A-Za-z0-9._,-]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMark:
    """What the queue manager has to know of a run."""

    run: str
    databases: int
    hosts: Sequence[str] = ()  # as `Settings.hosts`, in any order

    def __str__(self) -> str:
        """The comment."""
        return f"run on {self.databases} databases" + (f", hosts {','.join(self.hosts)}" if self.hosts else "")


def read_mark(database: str, comment: str) -> RunMark | None:
    """The mark of a database by its name and comment; None where it has none."""
    name, mark = RUN_DATABASE.fullmatch(database), _MARK.fullmatch(comment)
    if name is None or mark is None:
        return None
    return RunMark(run=name[1], databases=int(mark[1]), hosts=tuple(mark[2].split(",")) if mark[2] else ())


def run_settings(settings: Settings, mark: RunMark) -> Settings:
    """The settings of a process of the system for a run: on the first servers, in the run's databases, whose names in this
    installation stay those of the servers."""
    there = tuple(
        DatabaseAddress(name=address.name, url=_in_database(address.url, database_name(mark.run, number)))
        for number, address in enumerate(settings.databases[: mark.databases], start=1)
    )
    return dataclasses.replace(settings, databases=there, run=mark.run, hosts=tuple(mark.hosts))


def _in_database(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))

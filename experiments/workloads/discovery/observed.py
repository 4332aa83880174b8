"""Observations of a discovery: the ledger's rows, samples, and the counters of the job's databases."""

from __future__ import annotations

import base64
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from controller.databases import JobHandle
from experiments.conditions import Drop
from sql.figures import FIGURES
from sql.runs import RUNS

MOST_FILES = 100  # heaviest loose files that are kept
# Every statement whose rows are kept for a job.
_KEPT: Mapping[str, Callable[..., Any]] = {
    "job_times": RUNS.job_times,
    "job_held": FIGURES.job_held,
    "phase_spans": RUNS.phase_spans,
    "task_spans": RUNS.task_spans,
    "call_seconds": RUNS.call_seconds,
    "heaviest_files": partial(RUNS.heaviest_files, most=MOST_FILES),
}
_KEPT_OF_NULL = ("job_times", "job_held", "phase_spans", "task_spans")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """Rows of one statement; bytes as base64."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    binary: tuple[str, ...] = ()  # columns that are bytes

    def read(self) -> list[Any]:
        """Return the rows, with a name for each column."""
        row: Any = namedtuple("Row", self.columns)  # type: ignore[misc]
        places = [self.columns.index(name) for name in self.binary]
        out = []
        for values in self.rows:
            decoded: list[Any] = list(values)
            for place in places:
                decoded[place] = base64.b64decode(decoded[place])
            out.append(row(*decoded))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTables:
    """Tables of one job, by the name of the statement (`sql/queries`)."""

    database: str
    tables: dict[str, RecordTable]

    def rows(self, query: str) -> list[Any]:
        """Return the rows of one statement."""
        return self.tables[query].read()


def read_tables(handles: Sequence[JobHandle], *, null: bool = False) -> tuple[JobTables, ...]:
    """Read the tables of every job, in order; on null storage only times and tasks. Raises DatabaseFault."""
    names = _KEPT_OF_NULL if null else tuple(_KEPT)
    return tuple(
        JobTables(database=handle.database.name, tables={name: _table(handle, name) for name in names})
        for handle in handles
    )


def _table(handle: JobHandle, query: str) -> RecordTable:
    with handle.database.transaction() as conn:
        kept = _KEPT[query](conn, job=handle.id)
    rows = kept if isinstance(kept, list) else [kept]
    columns = type(rows[0]).__match_args__ if rows else ()
    binary = tuple(name for name in columns if isinstance(getattr(rows[0], name), bytes | memoryview))
    plain = tuple(
        tuple(
            base64.b64encode(v).decode() if isinstance(v := getattr(row, name), bytes | memoryview) else v
            for name in columns
        )
        for row in rows
    )
    return RecordTable(columns=columns, rows=plain, binary=binary)


@dataclass(slots=True)
class Samples:
    """Samples by time; times are seconds since the epoch, counters are as they were read then."""

    activity: dict[str, list[tuple[float, int, int]]] = field(default_factory=dict)  # database → (at, commits, rows)
    queue: list[tuple[float, int, int, int]] = field(default_factory=list)  # at, pending, dispatched, running
    workers: list[tuple[float, float, float]] = field(default_factory=list)  # at, CPU seconds, run-queue seconds
    host: list[tuple[float, float, float]] = field(default_factory=list)  # at, seconds busy, seconds in all
    serving: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)  # at, CPU seconds of servers by name
    missed: int = 0  # queries that a database did not answer


@dataclass(frozen=True, slots=True, kw_only=True)
class OfHosts:
    """Observations of the hosts of a run, in an experiment on several."""

    counted: tuple[dict[str, Any], ...]  # by host: its share of the workers, its clock, its meters (core.crew)
    index: dict[str, int]  # tasks; on_another_host: than the one that had written or read what they read


@dataclass(frozen=True, slots=True, kw_only=True)
class OnNull:
    """One portion of the same run on null storage."""

    result: dict[str, Any]
    jobs: tuple[JobTables, ...]  # their times and tasks
    held_bytes: int  # of memory, when the portion was done and nothing of it removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Observations of one run. Times are seconds since the epoch; counters are as they were read."""

    repeat: int
    order: int
    started_at: float  # first claim, by this host's clock
    processors: float  # of the workers' host, or hosts
    result: dict[str, Any]  # as `discover --json` writes it; what follows from the rows is recomputed (`figures`)
    jobs: tuple[JobTables, ...]
    samples: Samples
    containers: tuple[dict[str, Any], ...]
    filer: tuple[tuple[float, dict[str, dict[str, float]]], ...]  # stations of an emulated filer, by this host's clock
    offsets: tuple[dict[str, float], dict[str, float]]  # database → its clock less this host's, start and end
    drops: tuple[Drop, ...]
    databases: tuple[dict[str, Any], ...]  # where each server kept its files
    hosts: OfHosts | None = None  # of an experiment on several
    null: tuple[OnNull, ...] = ()  # its portions in order; empty: there is no null baseline

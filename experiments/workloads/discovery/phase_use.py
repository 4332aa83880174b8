"""What each phase of a run took: its calls, its tasks and its CPU time. The capacity model is calibrated on this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.operations import Op
from core.records import Phase
from experiments.workloads.discovery.tables import JobTables
from monitoring.aggregate import sums_of
from sql.faces.runs import CallSecond, PhaseSpan

MOST_TASKS = 400  # durations kept of one phase: of more tasks, so many order statistics
SERVERS = "databases"  # in `cpu_s`: all database servers of the run
WORKERS = "workers"


_T = TypeVar("_T")
Between = Callable[[float, float], Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUse:
    """Calls of one op in one phase, all slots together."""

    calls: int
    bytes: int
    seconds: float  # inside these calls, an emulated filer's delay included


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseUse:
    """One phase of one job."""

    database: str
    phase: str
    start_s: float  # its first claim, since the run's
    elapsed_s: float  # until its barrier
    tasks: int
    busy_s: float  # from claim to finish, summed over its tasks
    task_s: tuple[float, ...]  # of each task, shortest first; of many, MOST_TASKS of them evenly spread
    calls: dict[str, CallUse]  # by op label
    # CPU seconds while the phase lasted, by who used them: WORKERS, SERVERS, and others by name (queue manager,
    # broker, this command). What is not known is absent. Of several jobs at once each has what all of them used.
    cpu_s: dict[str, float]
    # Of expand, which cannot divide a loose file among tasks: items and bytes found under the heaviest of them.
    heaviest: tuple[tuple[int, int], ...] = ()
    # Kept in results of older versions only.
    transactions: float | None = None
    rows: float | None = None
    task_claims: tuple[int, ...] = ()  # tasks claimed before each of `task_s`; empty in results of older versions


def phases_used(job: JobTables, since: float, between: Between) -> tuple[PhaseUse, ...]:
    """The job's phases in order; `since`: the run's first claim, seconds since the epoch on the database's clock;
    `between`: CPU seconds by user between two such moments."""
    tasks, calls = job.rows("task_spans"), job.rows("call_seconds")
    files = tuple((row.items, row.bytes) for row in job.rows("heaviest_files"))
    return tuple(
        _phase(
            job.database,
            span,
            since,
            [(task.claimed, task.finished) for task in tasks if task.phase == span.phase],
            [row for row in calls if row.phase == span.phase],
            between(span.started, span.finished),
            files if span.phase == Phase.EXPAND.value else (),
        )
        for span in job.rows("phase_spans")
    )


def _phase(
    database: str,
    span: PhaseSpan,
    since: float,
    tasks: Sequence[tuple[float, float]],
    calls: Iterable[CallSecond],
    cpu: Mapping[str, float],
    heaviest: tuple[tuple[int, int], ...],
) -> PhaseUse:
    lasted = sorted((finished - claimed, place) for place, (claimed, finished) in enumerate(sorted(tasks)))
    kept = thinned(lasted, MOST_TASKS)
    return PhaseUse(
        database=database,
        phase=Phase(span.phase).value,
        start_s=round(max(0.0, span.started - since), 3),
        elapsed_s=round(max(0.0, span.finished - span.started - span.stopped), 3),
        tasks=len(tasks),
        busy_s=round(sum(finished - claimed for claimed, finished in tasks), 3),
        task_s=tuple(round(seconds, 4) for seconds, _ in kept),
        task_claims=tuple(place for _, place in kept),
        calls={
            Op(op).label: CallUse(calls=one.calls, bytes=one.bytes, seconds=round(one.total_ns / 1e9, 4))
            for op, one in sorted(sums_of(calls).items())
        },
        cpu_s={name: round(seconds, 3) for name, seconds in cpu.items()},
        heaviest=heaviest,
    )


def thinned(ordered: Sequence[_T], most: int) -> Sequence[_T]:
    """At most so many of sorted values, evenly spread over their ranks, the first and the last among them."""
    if len(ordered) <= most:
        return ordered
    return [ordered[round(place * (len(ordered) - 1) / (most - 1))] for place in range(most)]

"""Metrics of a queue manager for Prometheus.

Each database's manager writes its own numbers from its own thread; a scrape only reads, and asks no database."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from core.records import Phase, TaskState
from monitoring.collector import Collector as FrameCollector
from monitoring.metrics import Collector, Metric, Readings, Timers, durations, family


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSample:
    """The tasks of one running job's phase that are not done."""

    phase: Phase
    tasks: Mapping[TaskState, int]
    oldest_pending_seconds: float


@dataclass(slots=True)
class DatabaseNumbers:
    """Numbers of one database. Plain stores by one thread each, so that readers need no lock."""

    active: bool = False  # this queue manager dispatches its tasks
    slots: int = 0
    dispatched: int = 0
    unclaimed: int = 0
    lease_expiries: int = 0
    queue: Sequence[QueueSample] = ()
    server: Mapping[str, int] = field(default_factory=dict)  # its own counters, as the observation has them

    def tasks(self) -> dict[tuple[Phase, TaskState], int]:
        """Tasks of all running jobs together."""
        out: dict[tuple[Phase, TaskState], int] = {}
        for sample in self.queue:
            for state, count in sample.tasks.items():
                out[sample.phase, state] = out.get((sample.phase, state), 0) + count
        return out


_SERVER = {
    "edbench_database_commits_total": "commits",
    "edbench_database_rollbacks_total": "rolled_back",
    "edbench_database_rows_total": "rows",
}
_OPEN_STATES = (TaskState.PENDING, TaskState.DISPATCHED, TaskState.RUNNING)
_NUMBERS: Mapping[str, Callable[[DatabaseNumbers], float]] = {
    "edbench_queue_manager_active": lambda n: n.active,
    "edbench_queue_slots": lambda n: n.slots,
    "edbench_queue_dispatched_total": lambda n: n.dispatched,
    "edbench_queue_unclaimed_total": lambda n: n.unclaimed,
    "edbench_queue_lease_expiries_total": lambda n: n.lease_expiries,
}
_OF_THE_ACTIVE_ONE = frozenset(("edbench_queue_slots",))  # a second queue manager would have them count double


class QueueMetrics(Collector):
    """The numbers of all databases of one queue manager."""

    def __init__(self, databases: Iterable[str]) -> None:
        self.of = {name: DatabaseNumbers() for name in databases}
        self.timers = Timers(self.of)
        self._lock = threading.Lock()  # of these two
        self._runs: list[Mapping[str, DatabaseNumbers]] = []
        self._ended = {name: DatabaseNumbers() for name in self.of}  # counters of runs that have ended

    @contextmanager
    def of_run(self, databases: Iterable[str]) -> Iterator[Mapping[str, DatabaseNumbers]]:
        """Numbers of a run's databases, which are shown together with those of the server that has them, and stay counted."""
        own = {name: DatabaseNumbers() for name in databases}
        with self._lock:
            self._runs.append(own)
        try:
            yield own
        finally:
            with self._lock:
                self._runs.remove(own)
                for name, numbers in own.items():
                    self._ended[name] = _together(
                        (self._ended[name], replace(numbers, active=False, slots=0, queue=()))
                    )

    def _shown(self) -> dict[str, DatabaseNumbers]:
        with self._lock:
            parts = (self.of, self._ended, *self._runs)
            return {name: _together([part[name] for part in parts if name in part]) for name in self.of}

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        shown = self._shown()
        active = {name: numbers for name, numbers in shown.items() if numbers.active}
        for metric, read in _NUMBERS.items():
            of = active if metric in _OF_THE_ACTIVE_ONE else shown
            yield family(metric, {(name,): float(read(numbers)) for name, numbers in of.items()})
        yield from _queue(active)
        for metric, key in _SERVER.items():
            servers = {(name,): numbers.server for name, numbers in active.items()}
            yield family(metric, {labels: server[key] for labels, server in servers.items() if key in server})
        yield durations("edbench_database_transaction_seconds", self.timers.read())


def _together(parts: Sequence[DatabaseNumbers]) -> DatabaseNumbers:
    """Combine the numbers of the databases of one server."""
    return DatabaseNumbers(
        active=any(part.active for part in parts),
        slots=sum(part.slots for part in parts if part.active),
        dispatched=sum(part.dispatched for part in parts),
        unclaimed=sum(part.unclaimed for part in parts),
        lease_expiries=sum(part.lease_expiries for part in parts),
        queue=[sample for part in parts for sample in part.queue],
        server={
            key: sum(part.server[key] for part in parts if key in part.server)
            for key in _SERVER.values()
            if any(key in part.server for part in parts)
        },
    )


def _queue(active: Mapping[str, DatabaseNumbers]) -> Iterator[Metric]:
    tasks: dict[tuple[str, ...], float] = {}
    oldest: dict[tuple[str, ...], float] = {}
    for name, numbers in active.items():
        counts = numbers.tasks()
        for phase, state in itertools.product(Phase, _OPEN_STATES):
            tasks[name, phase.value, state.value] = counts.get((phase, state), 0)
        oldest[name,] = max((s.oldest_pending_seconds for s in numbers.queue), default=0.0)
    yield family("edbench_queue_tasks", tasks)
    yield family("edbench_queue_oldest_pending_seconds", oldest)


def collectors(metrics: QueueMetrics, frames: FrameCollector) -> tuple[Collector, ...]:
    """Everything for the endpoint of a queue manager."""
    return (
        metrics,
        Readings(
            {
                "edbench_collector_frames_total": lambda: frames.frames,
                "edbench_collector_undecodable_total": lambda: frames.undecodable,
            }
        ),
    )

"""What a queue manager shows to Prometheus.

Each database's manager writes its own numbers from its own thread; a scrape only reads, and asks no database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.records import Phase, TaskState
from monitoring.collector import Collector as FrameCollector
from monitoring.metrics.catalogue import SPECS, Reading, Readings, Timers, transactions
from monitoring.metrics.collecting import Collector, Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSample:
    """The tasks of one running job's phase that are not done."""

    phase: Phase
    tasks: Mapping[TaskState, int]
    oldest_pending_seconds: float


@dataclass(slots=True)
class DatabaseNumbers:
    """Of one database. Plain stores by one thread each, so that readers need no lock."""

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

    def collect(self) -> Iterator[Metric]:
        """The families."""
        active = {name: numbers for name, numbers in self.of.items() if numbers.active}
        for metric, read in _NUMBERS.items():
            family = SPECS[metric].simple()
            for name, numbers in (active if metric in _OF_THE_ACTIVE_ONE else self.of).items():
                family.add_metric((name,), float(read(numbers)))
            yield family
        yield from _queue(active)
        for metric, key in _SERVER.items():
            family = SPECS[metric].counter()
            for name, numbers in active.items():
                if key in numbers.server:
                    family.add_metric((name,), numbers.server[key])
            yield family
        yield transactions(self.timers.read())


def _queue(active: Mapping[str, DatabaseNumbers]) -> Iterator[Metric]:
    tasks, oldest = SPECS["edbench_queue_tasks"].gauge(), SPECS["edbench_queue_oldest_pending_seconds"].gauge()
    for name, numbers in active.items():
        counts = numbers.tasks()
        for phase in Phase:
            for state in _OPEN_STATES:
                tasks.add_metric((name, phase.value, state.value), counts.get((phase, state), 0))
        oldest.add_metric((name,), max((s.oldest_pending_seconds for s in numbers.queue), default=0.0))
    yield from (tasks, oldest)


def collectors(metrics: QueueMetrics, frames: FrameCollector) -> tuple[Collector, ...]:
    """Everything for the endpoint of a queue manager."""
    return (
        metrics,
        Readings(
            Reading("edbench_collector_frames_total", lambda: frames.frames),
            Reading("edbench_collector_undecodable_total", lambda: frames.undecodable),
        ),
    )

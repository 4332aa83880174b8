"""Discovery's part of the result of an experiment: jobs, phases, series, resources used by containers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.errors import UsageError
from core.operations import Op
from experiments.result import schema
from experiments.result.schema import Latency

NAME = "discovery"
NO_LIMIT = "no limit"  # in a configuration: of index streams
RATE, RAW, ELAPSED, NULL = "gb_per_hour_discovered", "gb_per_hour_raw", "elapsed_s", "null_elapsed_s"
SHARE, UNRECORDED, DURABLE = "storage_share", "unrecorded_share", "durable_s_per_gb"

SERVERS = "databases"  # in `PhaseUse.cpu_s`: all database servers of the run
WORKERS = "workers"
_TO_DURABLE = frozenset(op.label for op in (Op.WRITE, Op.CLOSE, Op.FSYNC))

# One second of a series: seconds since the run's first claim, then figures by op or by database.
CallSecond = tuple[float, dict[str, int]]
DatabaseSecond = tuple[float, dict[str, dict[str, int]]]
# Seconds since the first claim, then tasks pending, dispatched, running at that moment.
QueueSecond = tuple[float, int, int, int]
# Emulated filer, by station: {"utilisation": of all its servers, "wait_us": mean wait in its queue,
# "filer_ops": that calls came to there} since the sample before; booked service counts when it is booked, so a utilisation may pass 1 for a moment.
FilerSecond = tuple[float, dict[str, dict[str, float]]]
# Worker, slot, phase, start and end in seconds since the first claim.
TaskSpan = tuple[str, int, str, float, float]


def merge_spans(spans: Iterable[TaskSpan], *, gap: float) -> tuple[TaskSpan, ...]:
    """Return spans in order of worker, slot and start; those of one phase at most `gap` seconds apart are joined."""
    out: list[TaskSpan] = []
    for span in sorted(spans, key=lambda s: (s[0], s[1], s[3])):
        previous = out[-1] if out else None
        if previous is not None and previous[:3] == span[:3] and span[3] - previous[4] <= gap:
            out[-1] = (*previous[:4], max(previous[4], span[4]))
        else:
            out.append(span)
    return tuple(out)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Series of a run over its time."""

    calls_per_second: tuple[CallSecond, ...]  # op label → calls in that second, all workers together
    database_activity: tuple[DatabaseSecond, ...]  # database → {"commits": n, "rows": n} since the sample before
    queue_depth: tuple[QueueSecond, ...]
    worker_cpu: tuple[tuple[float, float], ...]  # seconds, share 0…1 of all the host's CPUs
    latency_stages: tuple[dict[str, Latency], ...]  # three thirds of the run's elapsed time, by op label
    tasks: tuple[TaskSpan, ...]
    filer: tuple[FilerSecond, ...] = ()  # empty without an emulated filer


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerUse:
    """Resources that one member of the crew, or one container, used from the start of its workers to their end."""

    name: str
    service: str
    cpu_s: float
    memory_peak_bytes: int  # of samples, without page cache
    block_read_bytes: int | None  # None where it is not known; I/O on a network filer is in it from "processes" only
    block_write_bytes: int | None
    network_received_bytes: int
    network_sent_bytes: int
    block_source: str | None = None  # who reports it: the engine, the control group, or the processes' own accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class NullUse:
    """The null baseline of a run."""

    portions: int  # of the corpus, processed one at a time, each copied to memory before its clock started
    held_bytes: int  # of memory at most, at the end of a portion
    discarded_bytes: int  # written and not kept: index files, which no task reads again
    items: int  # found in all portions
    discovered_bytes: int


@dataclass(frozen=True, slots=True, order=True)
class PointSpec(schema.At):
    """A number of databases and workers, and the slots of each worker."""

    databases: int
    workers: int
    slots: int  # of each worker
    setting: str | None = field(
        default=None, kw_only=True
    )  # options that distribute tasks (controller.jobs.distribution); None: the experiment's

    def on(self, axis: str) -> str:
        """Return the value of one field in words; a setting unchanged."""
        return str(self.setting) if axis == "setting" else schema.At.on(self, axis)

    def __str__(self) -> str:
        databases = f" on {self.databases} databases" if self.databases > 1 else ""
        workers, slots = ("" if n == 1 else "s" for n in (self.workers, self.slots))
        setting = "" if self.setting is None else f", {self.setting}"
        return f"{self.workers} worker{workers} x {self.slots} slot{slots}{databases}{setting}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(schema.Run):
    """One run of a point. `elapsed_s`: first claim to the commit of finalise, with several jobs from the first one's to
    the last one's; latencies are closed-loop."""

    result: dict[
        str, Any
    ]  # as `discover --json` writes it (controller.jobs.results; with several databases the group's)
    gb_per_hour_raw: float
    gb_per_hour_discovered: float
    run_queue_s: float  # seconds that worker threads waited for a CPU (schedstat), summed
    call_time_s: float  # seconds spent inside storage calls, summed over slots
    first_done_s: float | None  # when the first slot had ended its last task (finalise aside), since the first claim
    last_done_s: float | None  # when the last slot had
    series: Series
    host_cpu: float | None = None  # share of all the host's CPUs that were busy, with whatever, 0…1; None: remote
    containers: tuple[ContainerUse, ...] = ()  # of the run; empty where the workers ran as processes
    phases: tuple[PhaseUse, ...] = ()  # of every job in order; empty in results of older versions
    null: NullUse | None = None  # None: no null baseline, or a result of an older version

    @property
    def storage_share(self) -> float | None:
        """The part of the elapsed time that the storage took, 1 − null ÷ elapsed; under 0 if null storage was slower.
        None without a null baseline."""
        if self.null_elapsed_s is None or not self.elapsed_s:
            return None
        return 1 - self.null_elapsed_s / self.elapsed_s

    @property
    def durable_s_per_gb(self) -> float | None:
        """Seconds inside write, close and fsync, summed over slots, for each GB written (10⁹ bytes): the time to bring
        bytes to the storage. Under `fsync none` a write copies into memory, and slots wait for the storage in close and
        in the syncfs that ends the job (op fsync). Closes of files that were read are included. None: nothing was
        written, or a result of an older version."""
        calls = [use for phase in self.phases for op, use in phase.calls.items() if op in _TO_DURABLE]
        written = sum(use.bytes for use in calls)
        return sum(use.seconds for use in calls) / (written / 1e9) if written else None


def in_calls(run: Run) -> float | None:
    """Return the share of the slots' time in tasks that they spent inside storage calls and not waiting for a CPU."""
    busy = sum(end - start for *_, start, end in run.series.tasks)
    if run.call_time is None:  # of an older version: all that any thread waited is taken off
        inside = run.call_time_s - run.run_queue_s
    else:
        inside = run.call_time.call_s - run.call_time.processor_s
    return max(0.0, inside) / busy if busy else None


class Point(schema.PointOf[PointSpec, Run]):
    """All repeats of one (workers, slots, databases, setting)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(schema.Result):
    """An experiment with discoveries."""

    points: tuple[Point, ...]  # by databases, then workers, then slots


def of_discovery(result: schema.Result) -> Result:
    """Return the result as one of a discovery. Raises UsageError for another workload's."""
    if not isinstance(result, Result):
        raise UsageError(f"{result.run_id} is a result of workload {result.workload}; one of {NAME} is required")
    return result

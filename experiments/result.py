"""The result of an experiment: `result.json`, schema `edbench-result/1`. The report and `compare` read only this."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import RunFailed, UsageError
from experiments.decode import decode
from experiments.phase_use import PhaseUse

SCHEMA = "edbench-result/1"
KINDS = ("scale-up", "scale-out", "knee")
FILE = "result.json"

# One second of a series: seconds since the run's first claim, then figures by op or by database.
CallSecond = tuple[float, dict[str, int]]
DatabaseSecond = tuple[float, dict[str, dict[str, int]]]
# Seconds since the first claim, then tasks pending, dispatched, running at that moment.
QueueSecond = tuple[float, int, int, int]
# Emulated filer, by station: {"utilisation": of all its servers, "wait_us": mean wait in its queue} since the sample
# before; booked service counts when it is booked, so a utilisation may pass 1 for a moment.
FilerSecond = tuple[float, dict[str, dict[str, float]]]
# Worker, slot, phase, start and end in seconds since the first claim.
TaskSpan = tuple[str, int, str, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The median of repeats with a distribution-free interval from order statistics (`experiments.statistics`)."""

    median: float
    low: float | None  # None with one value: there is no interval then
    high: float | None
    coverage: float | None  # probability that the interval holds the true median: 0.75 with 3 values, ≥ 0.95 from 6
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Latency of one op over some time, microseconds, closed-loop; percentiles at most 3.2 % off, max exact."""

    calls: int
    bytes: int
    errors: int
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What happened over a run's time."""

    calls_per_second: tuple[CallSecond, ...]  # op label → calls in that second, all workers together
    database_activity: tuple[DatabaseSecond, ...]  # database → {"commits": n, "rows": n} since the sample before
    queue_depth: tuple[QueueSecond, ...]
    worker_cpu: tuple[tuple[float, float], ...]  # seconds, share 0…1 of all the host's processors
    latency_stages: tuple[dict[str, Latency], ...]  # three thirds of the run's elapsed time, by op label
    tasks: tuple[TaskSpan, ...]
    filer: tuple[FilerSecond, ...] = ()  # empty without an emulated filer


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerUse:
    """What one container used from the start of the queue manager to the end of the work."""

    name: str
    service: str
    cpu_s: float
    memory_peak_bytes: int  # of samples, without page cache
    block_read_bytes: int | None  # None where nobody tells; I/O on a network filer is in it from "processes" only
    block_write_bytes: int | None
    network_received_bytes: int
    network_sent_bytes: int
    block_source: str | None = None  # who tells: the engine, the control group, or the processes' own accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a point on the storage under test."""

    repeat: int  # 0, 1, …
    order: int  # position in the random order in which the whole experiment was run, 0, 1, …
    result: dict[
        str, Any
    ]  # as `discover --json` writes it (controller.jobs.results; with several databases the group's)
    started_at: float  # wall clock, seconds since the epoch
    elapsed_s: float  # first claim to the commit of finalise, the longest job's
    gb_per_hour_raw: float
    gb_per_hour_discovered: float
    worker_cpu: float  # CPU seconds of worker processes ÷ (elapsed × processors of the host), 0…1
    run_queue_s: float  # seconds that worker threads waited for a processor (schedstat), summed
    call_time_s: float  # seconds spent inside storage calls, summed over slots
    run_queue_share: float | None  # run_queue_s ÷ call_time_s; None without call time
    first_done_s: float | None  # when the first slot had ended its last task (finalise aside), since the first claim
    last_done_s: float | None  # when the last slot had
    null_elapsed_s: float | None  # the paired run on null storage; None where there is no pair
    latency: dict[str, Latency]  # over the whole run, by op label
    series: Series
    host_cpu: float | None = None  # share of all the host's processors that were busy, with whatever, 0…1; None: remote
    containers: tuple[ContainerUse, ...] = ()  # of the run; empty where the workers ran as processes
    phases: tuple[PhaseUse, ...] = ()  # of every job in order; empty in results of older versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """All repeats of one (workers, slots, databases)."""

    workers: int
    slots: int  # of each worker
    databases: int
    repeats: tuple[Run, ...]
    elapsed_s: Estimate
    gb_per_hour_raw: Estimate
    gb_per_hour_discovered: Estimate
    null_elapsed_s: Estimate | None
    limited: bool  # GENERATOR-LIMITED: no verdict on the storage
    limits: tuple[str, ...]  # the reasons, one line each


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Of experiment `knee`: indexes into `Result.points`, which are then in order of load."""

    bounds_us: dict[str, float]  # op label → bound on its p99
    peak: int  # the point of highest discovered GB/hour; the load goes on past a broken bound until no more is gained
    knee: int | None  # the last point that keeps every bound; None when not even the first does
    broken: str | None  # what broke first: "write p99 41.2 ms over 40.0 ms at 4 workers"; None: nothing did


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A whole experiment. `conditions` is design §7's disclosure, see `experiments.conditions`."""

    schema: str
    kind: str
    run_id: str
    created: float  # wall clock, seconds since the epoch
    verdict: str  # the first line, labels before everything else: CACHED, EMULATED FILER …, GENERATOR-LIMITED
    labels: tuple[str, ...]  # the labels of the verdict one by one
    warnings: tuple[str, ...]
    conditions: dict[str, Any]
    points: tuple[Point, ...]  # by databases, then workers, then slots
    knee: Knee | None = None


def to_json(result: Result) -> dict[str, Any]:
    """Plain data."""
    return dataclasses.asdict(result)


def from_json(data: object) -> Result:
    """The inverse; raises UsageError saying which field is wrong."""
    if isinstance(data, dict) and data.get("schema") != SCHEMA:
        raise UsageError(f"result: schema is {data.get('schema')!r}; this version reads {SCHEMA!r}")
    result = decode(Result, data)
    if result.kind not in KINDS:
        raise UsageError(f"result.kind: {result.kind!r} is not one of {', '.join(KINDS)}")
    if not result.points or not all(point.repeats for point in result.points):
        raise UsageError("result.points: every result has points, and every point has repeats")
    return result


def write_result(result: Result, directory: Path) -> Path:
    """`result.json` in `directory`; raises RunFailed when it cannot be written."""
    return write_plain(to_json(result), directory)


def write_plain(data: dict[str, Any], directory: Path) -> Path:
    """A result as plain data, of whatever schema, as `result.json`; raises RunFailed when it cannot be written."""
    path = directory / FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"the result cannot be written to {path}: {error.strerror}") from error
    return path


def read_result(path: Path) -> Result:
    """A result by its file, or by the directory it lies in; raises UsageError when it is none."""
    file = path / FILE if path.is_dir() else path
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; give a result.json or its directory") from error
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from error
    try:
        return from_json(data)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error

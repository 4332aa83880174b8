"""The result of `edbench replay`: `result.json`, schema `edbench-replay/1`. The report reads only this."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.result import Latency, write_plain

SCHEMA = "edbench-replay/1"
ALL = "all"  # in place of an op's label: all calls together


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The same clients on null storage (memory) without think time: what this host can make of calls at most."""

    calls: int
    elapsed_s: float
    calls_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPoint:
    """One replay of the trace, named by its storage and clients."""

    storage: str  # "local storage (ext4)", or the emulated filer's label
    emulated: bool
    clients: int
    job_id: str
    began: float  # wall clock at the start of all clients, seconds since the epoch
    prepared_s: float  # to make the files and the clients' programs, before the start
    elapsed_s: float  # from the start of all clients to the end of the last
    calls: int
    errors: int  # recorded ones among them
    bytes: int
    differences: dict[str, int]  # "open ENOENT, recorded OK" → calls that ended otherwise than recorded
    calls_per_second: float
    response: dict[str, Latency]  # by op label, and ALL: from the intended start to the end
    service: dict[str, Latency]  # from the actual start to the end
    per_second: tuple[int, ...]  # calls that ended in each second since the start
    late_s: float  # the largest delay of a start behind its intended one
    waited_s: float  # for calls of other clients that had to come first, summed over clients
    client_cpu: float  # CPU seconds of the clients ÷ (elapsed × processors they may use)
    run_queue_share: float | None  # seconds waited for a processor ÷ seconds inside calls; None without call time
    ceiling: Ceiling | None
    limited: bool  # GENERATOR-LIMITED: no verdict on the storage
    limits: tuple[str, ...]  # the reasons, one line each
    job: dict[str, Any]  # as `edbench job --json` has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of the trace beside that of its replay."""

    what: str
    recorded: float
    replayed: float
    difference: float  # replayed ÷ recorded − 1
    bound: float | None  # that the difference is to keep; None: shown, not judged
    unit: str  # "calls/s" or "us"

    @property
    def kept(self) -> bool | None:
        """Whether the bound is kept; None when there is none."""
        return None if self.bound is None else abs(self.difference) <= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """A replay at recorded speed with as many clients as there were streams, beside the trace."""

    storage: str  # of the point
    rows: tuple[Compared, ...]
    passed: bool | None  # None: not judged, it was recorded on another filer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayKnee:
    """Of `--max-p99`: the largest load within bounds on response time."""

    bounds_us: dict[str, float]  # op label → bound on its p99
    clients: int | None  # the most that kept every bound; None: none did
    broken: str | None  # what broke first; None: nothing up to the most that were tried


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFigures:
    """The trace."""

    path: str
    streams: int
    calls: int
    errors: int
    bytes: int
    elapsed_s: float
    calls_per_second: float
    latency: dict[str, Latency]  # closed-loop, as it was recorded
    per_second: tuple[int, ...]  # calls that began in each second
    nodes: int
    lost: int  # calls that could not be kept
    origin: dict[str, Any]
    emulated: str = ""  # label of the emulated filer of the recording


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """All replays of one trace."""

    schema: str
    run_id: str
    created: float  # wall clock, seconds since the epoch
    verdict: str  # the first line, labels before everything else
    labels: tuple[str, ...]
    warnings: tuple[str, ...]
    conditions: dict[str, Any]
    recorded: RecordedFigures
    points: tuple[ReplayPoint, ...]  # by storage in the order asked for, then by clients
    fidelity: Fidelity | None = None  # None where no point is at recorded speed with the recorded clients
    knee: ReplayKnee | None = None


def by_storage(points: Iterable[ReplayPoint]) -> dict[str, list[ReplayPoint]]:
    """The points of each storage, in the order they have."""
    out: dict[str, list[ReplayPoint]] = {}
    for point in points:
        out.setdefault(point.storage, []).append(point)
    return out


def to_json(result: ReplayResult) -> dict[str, Any]:
    """Plain data."""
    return dataclasses.asdict(result)


def write_result(result: ReplayResult, directory: Path) -> Path:
    """`result.json` in `directory`; raises RunFailed when it cannot be written."""
    return write_plain(to_json(result), directory)

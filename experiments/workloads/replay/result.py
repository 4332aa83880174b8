"""What a replay adds to the result of a study: service times, lateness, the trace, and whether it came out as recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from experiments.report.views import middle
from experiments.result import schema
from experiments.result.schema import Latency
from experiments.workloads.replay.scaling import Scaling

NAME = "replay"
ALL = "all"  # in place of an op's label: all calls together
RATE = "calls_per_second"
LEVELS = "levels"  # in place of a speed: parts of a peak


@dataclass(frozen=True, slots=True, order=True)
class Load(schema.At):
    """So many clients on one storage; of kind `load` at so much of a peak."""

    storage: str  # "local storage (ext4)", or the emulated filer's label
    clients: int
    percent: int | None = None  # of the peak; 0: as fast as it goes, whatever the order says; None: as it says
    peak: int | None = None  # calls a second

    def values(self) -> dict[str, Any]:
        """Levels only where there are any."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    def on(self, axis: str) -> str:
        """A level as part of the peak."""
        if axis != "percent":
            return schema.At.on(self, axis)
        return f"{self.percent} % of the peak" if self.percent else "full speed"

    def __str__(self) -> str:
        said = f"{self.storage}, {self.on('clients')}"
        return said if self.percent is None else f"{said}, {self.on('percent')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How far one client was behind its intended starts when it was most so: the streams that it plays, together."""

    client: int
    streams: tuple[str, ...]  # worker/slot
    seconds: float  # the latest start of a call, behind its intended one
    calls: int  # that were due and not over, at the end of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRun(schema.Run):
    """One replay of the trace. `elapsed_s` is from the start of all clients to the end of the last, `latency` the
    response times: from the intended start to the end, by op label, and ALL. The null baseline has no think
    time: what this host can make of calls at most; it is made once for each number of clients."""

    emulated: bool
    job_id: str
    prepared_s: float  # to make the files and the clients' programs, before the start
    calls: int
    errors: int  # recorded ones among them
    bytes: int
    differences: dict[str, int]  # "open ENOENT, recorded OK" → calls that ended otherwise than recorded
    calls_per_second: float
    service: dict[str, Latency]  # from the actual start to the end
    per_second: tuple[int, ...]  # calls that ended in each second since the start
    late_s: float  # the largest delay of a start behind its intended one
    backlog: tuple[Backlog, ...] = ()  # of clients that were behind, the worst first; none where no call had a schedule
    data_sets: int | None = None  # clones of the trace that were played; None in results of older versions
    waited_s: float  # for calls of other clients that had to come first, summed over clients
    null_calls: int | None  # of the pair
    due_per_second: tuple[int, ...] = ()  # calls that were to begin in each second; empty as fast as it goes
    offered_per_second: float | None = None  # calls ÷ the last intended start; None as fast as it goes
    response_mean_us: float | None = None  # of all calls; None in results of older versions
    service_mean_us: float | None = None
    job: dict[str, Any]  # as `edbench job show -o json` has it

    @property
    def ceiling(self) -> float | None:
        """Calls a second of the pair on null storage; None without one."""
        return None if self.null_calls is None or not self.null_elapsed_s else self.null_calls / self.null_elapsed_s


def in_calls(run: ReplayRun) -> float | None:
    """What of the time that clients had something to do, which is calls alone, they did not wait for a processor."""
    time = run.call_time
    return None if time is None or not time.call_s else 1 - time.processor_s / time.call_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPoint(schema.Point):
    """All repeats of one (storage, clients)."""

    at: Load
    repeats: tuple[ReplayRun, ...]

    @property
    def storage(self) -> str:
        """Its name."""
        return self.at.storage

    @property
    def clients(self) -> int:
        """On all hosts together."""
        return self.at.clients

    @property
    def load(self) -> int | str:
        """What tells it from the others of its storage: clients, or the level."""
        return self.clients if self.at.percent is None else self.at.on("percent")

    @property
    def run(self) -> ReplayRun:
        """The repeat that stands for the point."""
        return middle(self.repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of the trace and that of its replay."""

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
    """A replay at recorded speed, or in a closed loop, with as many clients as there were streams, compared with the trace."""

    storage: str  # of the point
    rows: tuple[Compared, ...]
    passed: bool | None  # None: not judged, it was recorded on another filer


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
    tasks_known: bool | None = None  # whether it says when its streams had no task; None in results of older versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult(schema.Result):
    """An experiment with replays of one trace."""

    recorded: RecordedFigures
    points: tuple[ReplayPoint, ...]  # by storage in the order asked for, then by clients
    fidelity: Fidelity | None = None  # None where no point is at recorded speed with the recorded clients
    scaling: Scaling | None = None  # what more clients are; None in results of older versions


def by_storage(points: Iterable[ReplayPoint]) -> dict[str, list[ReplayPoint]]:
    """The points of each storage, in the order they have."""
    out: dict[str, list[ReplayPoint]] = {}
    for point in points:
        out.setdefault(point.storage, []).append(point)
    return out

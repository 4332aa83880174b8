"""What is observed of clients that play a trace on so many paths, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.profiles.queues import Tuned
from experiments.profiles.result import Observed, ProfileRun, common
from experiments.result.schema import At, Point, Result
from experiments.result.steady import judged

NAME = "analysis-replay"
RATE = "calls_per_s"
AS_IT_IS = "as it is"
HELPS = 0.05  # of the rate: what more paths have to bring


@dataclass(frozen=True, slots=True)
class AnalysisLoad(At):
    """So many clients on so many paths; scheduler and read-ahead are what was asked for."""

    paths: int
    clients: int
    scheduler: str
    read_ahead: str  # "128 KiB"

    def __str__(self) -> str:
        asked = [f"{name} {value}" for name, value in (("scheduler", self.scheduler), ("read-ahead", self.read_ahead))
                 if value != AS_IT_IS]  # fmt: skip
        return ", ".join([self.on("paths"), self.on("clients"), *asked])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSeen(Observed):
    """One run."""

    paths: int
    found: dict[str, Any]  # of all clients, as replay.result has it
    data_sets: int  # clones of the trace
    touched_bytes: int  # that were prepared
    adapted: int  # calls that the trace does not explain
    tuned: tuple[Tuned, ...]
    trace_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRun(ProfileRun):
    """One run."""

    paths: int
    calls: int
    bytes: int
    errors: int
    differences: int  # calls that ended otherwise than recorded
    data_sets: int
    adapted: int
    tuned: tuple[Tuned, ...]
    trace_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPoint(Point):
    """All repeats under one load."""

    at: AnalysisLoad
    repeats: tuple[AnalysisRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisResult(Result):
    """A whole experiment."""

    points: tuple[AnalysisPoint, ...]


def run_of(seen: AnalysisSeen) -> AnalysisRun:
    """Every figure of it."""
    from experiments.workloads.replay.figures import replayed_latencies  # what reads traces is slow to come
    from replay.result import ClientResult

    found = ClientResult.from_json(seen.found)
    by_second = [(float(at), float(calls)) for at, calls in enumerate(found.by_second)]
    steady = judged("calls", by_second, 0.0, found.elapsed_s)
    return AnalysisRun(
        **common(seen),
        latency=replayed_latencies(found, response=False),
        steady=() if steady is None else (steady,),
        paths=seen.paths,
        calls=found.calls,
        bytes=found.bytes,
        errors=found.errors,
        differences=sum(one.calls for one in found.differences),
        data_sets=seen.data_sets,
        adapted=seen.adapted,
        tuned=seen.tuned,
        trace_sha256=seen.trace_sha256,
    )


def lines(points: Sequence[AnalysisPoint]) -> dict[tuple[int, str, str], list[AnalysisPoint]]:
    """Points that differ in the number of paths only, fewest first."""
    out: dict[tuple[int, str, str], list[AnalysisPoint]] = {}
    for point in sorted(points, key=lambda point: point.at.paths):
        out.setdefault((point.at.clients, point.at.scheduler, point.at.read_ahead), []).append(point)
    return out


def enough(line: Sequence[AnalysisPoint]) -> int | None:
    """The fewest paths of which no larger number has 5 % more calls a second; None where one number was tried."""
    rates = [(point.at.paths, point.figures[RATE].median) for point in line]
    if len(rates) < 2:
        return None
    return next(paths for place, (paths, rate) in enumerate(rates)
                if all(more <= rate * (1 + HELPS) for _, more in rates[place + 1 :]))  # fmt: skip

"""What profile `stream` adds to the result of a study."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.profiles.fio import output
from experiments.profiles.fio.output import FioSeen
from experiments.profiles.result import ProfileRun, common
from experiments.result import schema
from experiments.result.steady import judged

NAME = "stream"


@dataclass(frozen=True, slots=True, order=True)
class StreamLoad(schema.At):
    """So many streams on one path, each with a file of its own."""

    tier: int  # number of the path, 1 …
    streams: int

    def __str__(self) -> str:
        return f"tier {self.tier}, {self.on('streams')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRun(ProfileRun):
    """One reading of all files to their ends."""

    bytes: int
    highest_second: float  # bytes that were read in the second with the most: what a meter shows at its best


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPoint(schema.Point):
    """All repeats of so many streams on a path."""

    at: StreamLoad
    repeats: tuple[StreamRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult(schema.Result):
    """An experiment with streams."""

    points: tuple[StreamPoint, ...]


def run_of(seen: FioSeen) -> StreamRun:
    """Every figure of it."""
    per_second = output.by_second(seen.fio.jobs, of_bytes=True)
    one = judged("bytes", per_second, 0.0, seen.elapsed_s)
    return StreamRun(
        **common(seen),
        latency=output.latencies(seen.fio.jobs),
        steady=() if one is None else (one,),
        bytes=output.transferred(seen.fio.jobs),
        highest_second=max((value for _, value in per_second), default=0.0),
    )

"""What profile `block-8k` adds to the result of a study."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.profiles.fio import output
from experiments.profiles.fio.output import FioSeen
from experiments.profiles.result import ProfileRun, common
from experiments.result import schema
from experiments.result.steady import judged
from experiments.workloads.block_8k.drift import Drift, drift_of

NAME = "block-8k"


@dataclass(frozen=True, slots=True, order=True)
class BlockLoad(schema.At):
    """A case of report R2: so many volumes, spread over so many members (paths), with so much outstanding on each."""

    case: int
    members: int
    volumes: int
    outstanding: int

    def on(self, axis: str) -> str:
        """Outstanding has no plural, and a case is none of several."""
        if axis == "outstanding":
            return f"{self.outstanding:,} outstanding on each of {self.volumes}"
        return f"case {self.case}" if axis == "case" else schema.At.on(self, axis)

    def __str__(self) -> str:
        return f"case {self.case}, {self.on('members')}, {self.on('volumes')}, {self.outstanding:,} outstanding on each"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRun(ProfileRun):
    """One run."""

    ios: int
    bytes: int
    mean_us: float | None  # of all I/Os of all volumes, from the moment each was asked for
    samples: tuple[float, ...]  # I/Os a second, over 10 s each
    drift: Drift | None  # over those samples; None: too few


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPoint(schema.Point):
    """All repeats of a case with so many members and so much outstanding."""

    at: BlockLoad
    repeats: tuple[BlockRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockResult(schema.Result):
    """An experiment with the cases of report R2."""

    points: tuple[BlockPoint, ...]


def run_of(seen: FioSeen) -> BlockRun:
    """Every figure of it."""
    jobs, per_second = seen.fio.jobs, output.by_second(seen.fio.jobs)
    one = judged("I/Os", per_second, 0.0, seen.elapsed_s)
    samples = sampled(per_second, seen.elapsed_s)
    return BlockRun(
        **common(seen),
        latency=output.latencies(jobs),
        steady=() if one is None else (one,),
        ios=output.ios(jobs),
        bytes=output.transferred(jobs),
        mean_us=output.mean_us(jobs),
        samples=samples,
        drift=drift_of(samples),
    )


SAMPLE_S = 10


def sampled(per_second: list[tuple[float, float]], elapsed_s: float) -> tuple[float, ...]:
    """The mean of each whole 10 s; of the last one without its last second, of which fio may have no sample."""
    whole = int(elapsed_s // SAMPLE_S)
    sums = [0.0] * whole
    for second, amount in per_second:
        if (place := int(second // SAMPLE_S)) < whole:
            sums[place] += amount
    seconds = [min(SAMPLE_S, round(elapsed_s) - 1 - SAMPLE_S * place) for place in range(whole)]
    return tuple(total / length for total, length in zip(sums, seconds, strict=True))

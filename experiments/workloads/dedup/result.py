"""What is observed of data that were written to storage that reduces them, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.clients.tally import Counted, latencies
from experiments.profiles.result import Observed, ProfileRun, common
from experiments.profiles.space import Usage
from experiments.result.schema import At, PointOf, ResultOf
from experiments.result.steady import judged
from experiments.workloads.dedup.chunks import Expected

NAME = "dedup"


@dataclass(frozen=True, slots=True)
class DedupLoad(At):
    """One type of data on one path."""

    data: str
    volume: str  # "volume 1": the path, by its number

    def on(self, axis: str) -> str:
        """As it is called."""
        return str(self.values()[axis])


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupSeen(Observed):
    """One run."""

    data: str
    files: int
    bytes: int
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]
    expected: tuple[Expected, ...]  # empty on null storage
    allocated_bytes: int  # of all files, by st_blocks
    before: Usage | None  # None: a command told of the space, or null storage
    after_write: Usage | None
    at_end: Usage | None  # after the reducing command; without one the same as `after_write`
    told: tuple[int, int, int] | None  # bytes in use by the storage's own command: before, when written, at the end
    reduce_s: float | None  # that the reducing command took
    stated: float | None  # the ratio that the operator gave
    host_busy: float  # share of all processors, by whomever, while it was written
    load1: float  # processes that run or wait for it, 1-minute mean, at the end of writing


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupRun(ProfileRun):
    """One run. A ratio is bytes written ÷ bytes that storage needs."""

    files: int
    bytes: int
    expected: tuple[Expected, ...]
    written_ratio: (
        float | None
    )  # of what the storage said when all was written; None: it grew by nothing, or does not tell
    ratio: float | None  # at the end
    used_bytes: int | None  # that the storage grew by at the end
    allocated_ratio: float | None  # by what the files say that they take
    stated: float | None
    reduce_s: float | None
    host_busy: float
    load1: float

    def cut(self, name: str) -> Expected | None:
        """What is expected of chunks that are cut so."""
        return next((one for one in self.expected if one.cut == name), None)


class DedupPoint(PointOf[DedupLoad, DedupRun]):
    """All repeats under one load."""


class DedupResult(ResultOf[DedupPoint]):
    """A whole experiment."""


def run_of(seen: DedupSeen) -> DedupRun:
    """Every figure of it; nothing else is asked."""
    written, end = _grown(seen)
    by_second = [(float(at), float(moved)) for at, moved in enumerate(seen.bytes_by_second)]
    steady = judged("bytes", by_second, 0.0, seen.elapsed_s)
    return DedupRun(
        **common(seen),
        latency=latencies(seen.counted),
        steady=() if steady is None else (steady,),
        files=seen.files,
        bytes=seen.bytes,
        expected=seen.expected,
        written_ratio=_ratio(seen.bytes, written),
        ratio=_ratio(seen.bytes, end),
        used_bytes=end,
        allocated_ratio=_ratio(seen.bytes, seen.allocated_bytes),
        stated=seen.stated,
        reduce_s=seen.reduce_s,
        host_busy=seen.host_busy,
        load1=seen.load1,
    )


def _grown(seen: DedupSeen) -> tuple[int | None, int | None]:
    """Bytes that the storage took, when all was written and at the end; None where nobody tells."""
    if seen.told is not None:
        before, written, end = seen.told
        return written - before, end - before
    if seen.before is None or seen.after_write is None or seen.at_end is None:
        return None, None
    before = seen.before.used_bytes
    return seen.after_write.used_bytes - before, seen.at_end.used_bytes - before


def _ratio(written: int, taken: int | None) -> float | None:
    return written / taken if taken is not None and taken > 0 else None

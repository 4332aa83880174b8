"""What profile `self-check` adds to the result of a study."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.profiles.fio import output
from experiments.profiles.fio.output import FioSeen
from experiments.profiles.result import ProfileRun, common
from experiments.result import schema

NAME = "self-check"
NULL, MEMORY = "null", "memory"


@dataclass(frozen=True, slots=True, order=True)
class CheckLoad(schema.At):
    """So many threads, without storage (fio's null engine) or in memory (tmpfs), in I/Os of one shape."""

    storage: str
    shape: str
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun(ProfileRun):
    """One run."""

    ios: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPoint(schema.Point):
    """All repeats."""

    at: CheckLoad
    repeats: tuple[CheckRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult(schema.Result):
    """An experiment with ceilings."""

    points: tuple[CheckPoint, ...]


def run_of(seen: FioSeen) -> CheckRun:
    """Every figure of it."""
    jobs = seen.fio.jobs
    return CheckRun(
        **common(seen), latency=output.latencies(jobs), ios=output.ios(jobs), bytes=output.transferred(jobs)
    )

"""What is observed of an insertion, group by group, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.clients.latencies import latencies
from experiments.clients.tally import Counted, merged
from experiments.profiles.result import Observed, ProfileRun, common
from experiments.profiles.space import Usage
from experiments.result.drift import Drift, drift_of
from experiments.result.latency import latency
from experiments.result.schema import At, Point, Result, Steady
from experiments.result.steady import judged

WHOLE = "whole write"


@dataclass(frozen=True, slots=True)
class InsertLoad(At):
    """`directories`: one shared by all clients, or each client's own."""

    directories: str
    clients: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroup:
    """One group."""

    seconds: float  # from its start to the last client's end
    first_done_s: float
    done: int
    bytes: int
    refused: int
    failed: int
    late_s: float  # that the last client began after the start
    counted: tuple[Counted, ...]
    usage: Usage | None  # after it; None of an S3 endpoint, which does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertSeen(Observed):
    """One run."""

    groups: tuple[SeenGroup, ...]
    before: Usage | None
    after: Usage | None  # when everything was synced
    said: tuple[str, ...]  # refusals and errors in words


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertGroup:
    """One group of a run."""

    seconds: float
    files_per_s: float
    p50_us: float
    p99_us: float
    refused: int
    failed: int
    used_bytes: int | None  # since the start of the run
    used_inodes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRun(ProfileRun):
    """One run."""

    files: int
    bytes: int
    files_per_s: float
    refused: int
    failed: int
    said: tuple[str, ...]
    late_s: float
    groups: tuple[InsertGroup, ...]
    rate_drift: Drift | None  # None: too few groups
    latency_drift: Drift | None  # of the groups' medians
    bytes_a_file: float | None  # that the file system took
    inodes_a_file: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertPoint(Point):
    """All repeats under one load."""

    at: InsertLoad
    repeats: tuple[InsertRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertResult(Result):
    """A whole experiment."""

    points: tuple[InsertPoint, ...]


def run_of(seen: InsertSeen) -> InsertRun:
    """Every figure of it; nothing else is asked."""
    counted = merged(one for group in seen.groups for one in group.counted)
    files = sum(group.done for group in seen.groups)
    seconds = sum(group.seconds for group in seen.groups)
    groups = tuple(_group(group, seen.before) for group in seen.groups)
    whole = [group for group in groups if not group.refused and not group.failed]
    return InsertRun(
        **common(seen),
        latency=latencies(counted),
        steady=_steady(seen),
        files=files,
        bytes=sum(group.bytes for group in seen.groups),
        files_per_s=files / seconds if seconds else 0.0,
        refused=sum(group.refused for group in seen.groups),
        failed=sum(group.failed for group in seen.groups),
        said=seen.said,
        late_s=max(group.late_s for group in seen.groups),
        groups=groups,
        rate_drift=drift_of([group.files_per_s for group in whole]),
        latency_drift=drift_of([group.p50_us for group in whole]),
        bytes_a_file=_a_file(seen, files, "used_bytes"),
        inodes_a_file=_a_file(seen, files, "used_inodes"),
    )


def _group(group: SeenGroup, before: Usage | None) -> InsertGroup:
    whole = next((one for one in group.counted if one.label == WHOLE), None)
    of = None if whole is None else latency(whole.calls, whole.bytes, whole.errors, whole.histogram, whole.max_ns)
    known = group.usage is not None and before is not None
    return InsertGroup(
        seconds=group.seconds,
        files_per_s=group.done / group.seconds if group.seconds else 0.0,
        p50_us=0.0 if of is None else of.p50_us,
        p99_us=0.0 if of is None else of.p99_us,
        refused=group.refused,
        failed=group.failed,
        used_bytes=group.usage.used_bytes - before.used_bytes if known and group.usage and before else None,
        used_inodes=group.usage.used_inodes - before.used_inodes if known and group.usage and before else None,
    )


def _a_file(seen: InsertSeen, files: int, what: str) -> float | None:
    """None where nobody tells: an S3 endpoint, a file system without a number of inodes."""
    if seen.before is None or seen.after is None or not files:
        return None
    grown = int(getattr(seen.after, what)) - int(getattr(seen.before, what))
    return grown / files if grown > 0 else None


def _steady(seen: InsertSeen) -> tuple[Steady, ...]:
    """Of the groups one after another, without what lay between them."""
    by_second: dict[int, float] = {}
    at = 0.0
    for group in seen.groups:
        _spread(by_second, at, group.seconds, group.done)
        at += group.seconds
    one = judged("files", [(float(second), files) for second, files in sorted(by_second.items())], 0.0, at)
    return () if one is None else (one,)


def _spread(by_second: dict[int, float], at: float, seconds: float, files: int) -> None:
    """A group's files evenly over its time."""
    if seconds <= 0:
        return
    for second in range(int(at), int(at + seconds) + 1):
        inside = min(second + 1, at + seconds) - max(second, at)
        if inside > 0:
            by_second[second] = by_second.get(second, 0.0) + files * inside / seconds

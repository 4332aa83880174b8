"""What is observed of a client sweep, phase by phase, and what is told of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from experiments.clients.latencies import latencies
from experiments.clients.orders import Deed
from experiments.clients.tally import Counted, merged
from experiments.profiles.result import Observed, ProfileRun, common
from experiments.result.schema import At, Point, Result
from experiments.result.steady import judged

TOGETHER, SPREAD = "together", "spread"
WRITE: Final = "write"
READ: Final = "read"
REMOVE: Final = "remove"
DEEDS: Final[tuple[Deed, ...]] = (WRITE, READ, REMOVE)


@dataclass(frozen=True, slots=True)
class SweepLoad(At):
    """`start`: all clients begin at once, or each at a moment of its own."""

    start: str
    clients: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenClient:
    """One client's part of a phase; seconds since the phase's start."""

    began_s: float
    ended_s: float
    done: int  # objects
    bytes: int
    refused: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPhase:
    """One phase: every client writes, reads or removes its objects."""

    deed: str
    clients: tuple[SeenClient, ...]
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]
    said: tuple[str, ...]  # refusals and errors in words


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSeen(Observed):
    """One run."""

    phases: tuple[SeenPhase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPhase:
    """What a phase was; rates are bytes a second, of removals objects a second."""

    deed: str
    done: int
    bytes: int
    refused: int  # connections that the storage did not take; none was tried again
    failed: int
    mean: float | None  # of the clients' own rates, of those that did anything
    least: float | None
    most: float | None
    aggregate: float | None  # from the first begin to the last end
    first_done_s: float  # since the start
    last_done_s: float
    overlap: float  # clients at work, in the mean
    late_s: float  # the most that a client began after the start, of all that began together


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRun(ProfileRun):
    """One run."""

    phases: tuple[SweepPhase, ...]
    refused: int
    failed: int
    said: tuple[str, ...]

    def phase(self, deed: str) -> SweepPhase:
        for phase in self.phases:
            if phase.deed == deed:
                return phase
        raise LookupError(f"a run without {deed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint(Point):
    """All repeats under one load."""

    at: SweepLoad
    repeats: tuple[SweepRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult(Result):
    """A whole experiment."""

    points: tuple[SweepPoint, ...]


def run_of(seen: SweepSeen) -> SweepRun:
    """Every figure of it; nothing else is asked."""
    phases = tuple(_phase(phase) for phase in seen.phases)
    counted = merged(one for phase in seen.phases for one in phase.counted)
    steady = (
        judged(f"bytes of {phase.deed}", [(float(at), float(n)) for at, n in enumerate(phase.bytes_by_second)], 0.0, told.last_done_s)
        for phase, told in zip(seen.phases, phases, strict=True)
        if phase.deed != REMOVE
    )  # fmt: skip
    return SweepRun(
        **common(seen),
        latency=latencies(counted),
        steady=tuple(one for one in steady if one is not None),
        phases=phases,
        refused=sum(phase.refused for phase in phases),
        failed=sum(phase.failed for phase in phases),
        said=tuple(dict.fromkeys(word for phase in seen.phases for word in phase.said)),
    )


def _phase(seen: SeenPhase) -> SweepPhase:
    amounts = [one.done if seen.deed == REMOVE else one.bytes for one in seen.clients]
    rates = [
        amount / (one.ended_s - one.began_s)
        for amount, one in zip(amounts, seen.clients, strict=True)
        if one.done and one.ended_s > one.began_s
    ]
    begin, end = min(one.began_s for one in seen.clients), max(one.ended_s for one in seen.clients)
    busy = sum(one.ended_s - one.began_s for one in seen.clients)
    return SweepPhase(
        deed=seen.deed,
        done=sum(one.done for one in seen.clients),
        bytes=sum(one.bytes for one in seen.clients),
        refused=sum(one.refused for one in seen.clients),
        failed=sum(one.failed for one in seen.clients),
        mean=statistics.fmean(rates) if rates else None,
        least=min(rates, default=None),
        most=max(rates, default=None),
        aggregate=sum(amounts) / (end - begin) if end > begin and rates else None,
        first_done_s=min(one.ended_s for one in seen.clients),
        last_done_s=end,
        overlap=busy / (end - begin) if end > begin else 0.0,
        late_s=max(one.began_s for one in seen.clients),
    )


def fall_off(clients: Sequence[int], means: Sequence[float]) -> float | None:
    """What each added client costs the mean client: the line of least squares through the points; None of one point."""
    if len(set(clients)) < 2:
        return None
    return -statistics.linear_regression(clients, means).slope

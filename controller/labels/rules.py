"""When a label is given: the one rule for jobs, the live view, and experiments with discoveries and replays (design
§4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from controller.observe.place_kind import caches_itself
from controller.timeline.thresholds import (
    CACHE_FACTOR,
    CACHED,
    CPU_SHARE,
    LIMITED,
    MOST_OF_TIME,
    RUN_QUEUE_SHARE,
    SHORT,
    UNSTEADY,
)
from core.mounts import read_mounts
from core.options import FILER
from core.records import GroupKind

NO_BASELINE = "NO BASELINE"  # no run of a point has a null baseline
UNDECLARED = "FILER CACHE UNDECLARED"
LOWERED = "LEAST LENGTH LOWERED"  # by the operator, below that of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class FilerCache:
    """What the filer itself can cache."""

    declared: int | None = None  # bytes; None: not declared
    possible: bool = False  # there may be one: network storage, or of unknown kind

    @property
    def bytes(self) -> int:
        """That are known of."""
        return self.declared or 0

    @property
    def undeclared(self) -> bool:
        """Whether there may be one of undeclared size, which `is_cached` does not count."""
        return self.possible and self.declared is None


def filer_cache(path: str | os.PathLike[str], declared: int | None) -> FilerCache:
    """The cache of the storage that holds `path`."""
    return FilerCache(declared=declared, possible=caches_itself(path, read_mounts()))


def unique_bytes(discovered: float, *, kind: str | None, jobs: int, source_copies: int) -> float:
    """Discovered bytes of all jobs, once for those that read the same source: what one of them read the others find
    cached. `kind`: of their group, None for a job alone."""
    return discovered * source_copies / jobs if kind == GroupKind.SIMULTANEOUS.value else discovered


def is_cached(unique: float, caches: float) -> bool:
    """Whether so many different bytes may have come from caches that hold so many."""
    return unique < CACHE_FACTOR * caches


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """CPU that the processes that make the load needed, over a run; None: not known."""

    cpu: float | None  # share of all CPUs of their hosts
    waits: float | None  # seconds they waited for a CPU ÷ seconds inside storage calls
    in_calls: float | None = None  # of the time that slots were in tasks, inside calls and not waiting for a CPU


def short_of_processors(effort: Effort, makers: str = "workers") -> tuple[str, ...]:
    """Why a run without a null baseline shows nothing about the storage, one line each; empty where it may.

    Waits for a CPU do not make it the generator's where slots spend most of their time in storage calls even without
    those waits: 0.2 s for each second of calls, of a job that is in calls nearly always, is not what it waits for.
    """
    out = []
    if effort.cpu is not None and effort.cpu > CPU_SHARE:
        out.append(f"the {makers} used {effort.cpu:.0%} of the CPU (over {CPU_SHARE:.0%})")
    if (effort.waits or 0.0) > RUN_QUEUE_SHARE and (effort.in_calls or 0.0) < MOST_OF_TIME:
        out.append(
            f"the {makers} waited {effort.waits:.2f} s for a core per second of storage calls (over {RUN_QUEUE_SHARE})"
        )
    return tuple(out)


def rule_labels(*, emulated: Sequence[str], cached: bool, undeclared: bool, limited: bool) -> list[str]:
    """Of a job, or of a group's jobs together: what is known of it by itself. It has no null baseline, and so no NO BASELINE."""
    given = ((CACHED, cached), (UNDECLARED, undeclared), (LIMITED, limited))
    return [*dict.fromkeys(filter(None, emulated)), *(label for label, holds in given if holds)]


def ruled(label: str) -> bool:
    """Whether it is one of `rule_labels`; those of a group are computed from its jobs together."""
    return label.startswith((FILER, CACHED, UNDECLARED, LIMITED))


def study_labels(
    emulated: Sequence[str | None],
    *,
    cached: bool,
    undeclared: bool,
    unpaired: int,
    limited: int,
    short: int = 0,
    unsteady: int = 0,
    lowered: str = "",
) -> tuple[str, ...]:
    """Labels of an experiment. `emulated`: the emulated filer's own label of each point. Integers are numbers of
    points. `lowered`: what the least length of a run was lowered to."""
    every = len(emulated)
    out = [_at(label, emulated.count(label), every) for label in dict.fromkeys(emulated) if label is not None]
    if cached:
        out.append(CACHED)
    out += [_at(label, some, every) for label, some in ((SHORT, short), (UNSTEADY, unsteady)) if some]
    if lowered:
        out.append(f"{LOWERED} to {lowered}")
    if undeclared:
        out.append(UNDECLARED)
    if unpaired:
        out.append(_at(NO_BASELINE, unpaired, every))
    if limited:
        out.append(f"{LIMITED} at {'every point' if limited == every else f'{limited} of {every} points'}")
    return tuple(out)


def _at(label: str, some: int, every: int) -> str:
    return label if some == every else f"{label} at {some} of {every} points"

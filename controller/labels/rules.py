"""Labels: the thresholds and the one rule for each, the surroundings of a job that decide it, and what to do about it.

The rules apply to jobs, the live view, and experiments with discoveries and replays (design §4). Surroundings are
stored with the job: its labels must not change when the system gets another configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from controller.observe.place_kind import Place, caches_itself, on_one_storage, place_of
from core.mounts import read_mountinfo
from core.options import FILER
from core.records import GroupKind
from core.settings import Settings

# Labels of results and of running jobs.
CPU_SHARE = 0.80  # of all CPUs, by the workers
RUN_QUEUE_SHARE = 0.10  # of the time inside storage calls
STORAGE_SHARE = 0.23  # of elapsed, 1 − null ÷ elapsed: under it (elapsed under 1.3 x null) the storage hardly mattered
CACHE_FACTOR = 3  # discovered bytes under so many times what caches can hold
CACHED = "CACHED: not a storage result"
LIMITED = "GENERATOR-LIMITED"
DOMINATED_MARK = "†"  # marks a percentile that waiting for a core dominates
SHORT = "SHORT: not a storage result"
UNSTEADY = "NOT STEADY: not a storage result"

# Thresholds of the present limit of a run.
WINDOW_SECONDS = 10.0  # the recent time that is evaluated
EVIDENCE_SECONDS = 5.0  # of the present phase, before a limit is named
ENDED_SECONDS = 2.0  # the same of a phase that is over, all of which is known
CPU_LIMIT = 0.90  # of a host's CPUs, by its workers
CPU_LOW = 0.70  # above it the storage is never named
CORE_WAIT = 0.25  # of busy slot time waiting for a CPU: too few of them, whichever programs use the others
BUSY_SLOTS = 0.75  # from here on slots have enough to do
MOST_OF_TIME = 0.50  # of busy slot time in storage calls, or in transactions: the slots wait for these


NO_BASELINE = "NO BASELINE"  # no run of a point has a null baseline
UNDECLARED = "FILER CACHE UNDECLARED"
LOWERED = "LEAST LENGTH LOWERED"  # by the operator, below that of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class FilerCache:
    """The capacity of the filer's own cache."""

    declared: int | None = None  # bytes; None: not declared
    possible: bool = False  # there may be one: network storage, or storage of unknown kind

    @property
    def bytes(self) -> int:
        """The declared bytes; 0 if none were declared."""
        return self.declared or 0

    @property
    def undeclared(self) -> bool:
        """Whether there may be a cache of undeclared size, which `is_cached` does not count."""
        return self.possible and self.declared is None


def filer_cache(path: str | os.PathLike[str], declared: int | None) -> FilerCache:
    """Return the cache of the storage that has `path`."""
    return FilerCache(declared=declared, possible=caches_itself(path, read_mountinfo()))


def unique_bytes(discovered: float, *, kind: str | None, jobs: int, source_copies: int) -> float:
    """Return the discovered bytes of all jobs, once for jobs that read the same source: what one of them reads is
    cached for the others. `kind`: of their group, None for a single job."""
    return discovered * source_copies / jobs if kind == GroupKind.SIMULTANEOUS.value else discovered


def is_cached(unique: float, caches: float) -> bool:
    """Return whether so many distinct bytes may have come from caches of this size."""
    return unique < CACHE_FACTOR * caches


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """CPU that the processes that make the load needed, over a run; None: not known."""

    cpu: float | None  # share of all CPUs of their hosts
    waits: float | None  # seconds they waited for a CPU ÷ seconds inside storage calls
    in_calls: float | None = None  # of the time that slots were in tasks, inside calls and not waiting for a CPU


def short_of_processors(effort: Effort, makers: str = "workers") -> tuple[str, ...]:
    """Explain why a run without a null baseline shows nothing about the storage, one line each; empty if it may.

    Waits for a CPU count only if slots spend less than most of their time in storage calls, those waits subtracted. A
    job that is in calls nearly always is not limited by waits of 0.2 s for each second of calls."""
    out = []
    if effort.cpu is not None and effort.cpu > CPU_SHARE:
        out.append(f"the {makers} used {effort.cpu:.0%} of the CPU (over {CPU_SHARE:.0%})")
    if (effort.waits or 0.0) > RUN_QUEUE_SHARE and (effort.in_calls or 0.0) < MOST_OF_TIME:
        out.append(
            f"the {makers} waited {effort.waits:.2f} s for a core per second of storage calls (over {RUN_QUEUE_SHARE})"
        )
    return tuple(out)


def rule_labels(*, emulated: Sequence[str], cached: bool, undeclared: bool, limited: bool) -> list[str]:
    """Return the labels of a job, or of a group's jobs together, that need no other run. A job has no null baseline,
    and so no NO BASELINE."""
    given = ((CACHED, cached), (UNDECLARED, undeclared), (LIMITED, limited))
    return [*dict.fromkeys(filter(None, emulated)), *(label for label, holds in given if holds)]


def ruled(label: str) -> bool:
    """Return whether the label is one of `rule_labels`; those of a group are computed from its jobs together."""
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
    """Return the labels of an experiment. `emulated`: the emulated filer's own label of each point. Integers are
    numbers of points. `lowered`: the least length of a run that the operator set."""
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


ELSEWHERE = "SOURCE NOT ON THE STORAGE UNDER TEST"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The surroundings of one job: its storage, and whether calls were recorded."""

    storage: Place  # the storage under test: that of the storage root
    source: Place | None  # what the source is on, where that is another file system
    cache_declared: int | None  # bytes that the filer can cache, as declared
    cache_possible: bool
    observe: bool  # storage calls were recorded

    @property
    def cache(self) -> FilerCache:
        """The cache of the filer."""
        return FilerCache(declared=self.cache_declared, possible=self.cache_possible)

    @property
    def elsewhere(self) -> list[str]:
        """The label of a source that is not on the storage under test."""
        if self.source is None:
            return []
        return [f"{ELSEWHERE}: it is on {self.source}; only writes and repeated reads measure the storage under test"]

    def to_json(self) -> dict[str, Any]:
        """Plain data for the job's row."""
        data = msgspec.to_builtins(self)
        assert isinstance(data, dict)
        return data


def surroundings_of(settings: Settings, source: bytes) -> Surroundings:
    """Return the surroundings of a job that is created now."""
    mounts, root = read_mountinfo(), settings.storage
    cache = filer_cache(root, settings.filer_cache)
    same = on_one_storage(os.fsdecode(source), settings.storage, mounts)
    return Surroundings(
        storage=place_of(root, mounts),
        source=None if same else place_of(os.fsdecode(source), mounts),
        cache_declared=cache.declared,
        cache_possible=cache.possible,
        observe=settings.observe,
    )


def storage_text(data: Mapping[str, Any]) -> str:
    """Describe the storage of a job from its stored surroundings, and its source's if that is another."""
    source = "" if data["source"] is None else f"; source on {Place(**data['source'])}"
    return f"{Place(**data['storage'])}{source}"


_ADVICE = {
    FILER: "its delays are modelled; measure the filer itself, without --filer",
    ELSEWHERE: "copy the source to the storage under test, to measure its reads too",
    "CACHED": f"use at least {CACHE_FACTOR} x as much data as the memory of this client and the filer's cache together",
    "SHORT": (
        "short runs measure start-up and caches; use more data or a longer trace until every run is as long as the "
        "rule requires (--min-seconds; 10 minutes)"
    ),
    "NOT STEADY": (
        "the rate changed during the measurement, so its mean is not meaningful; run longer, without other load on "
        "the storage; the warnings name the points"
    ),
    LOWERED: "the required length of a run was set below 10 minutes; state that wherever a figure is quoted, or remove --min-seconds",
    UNDECLARED: (
        "state the size of the filer's cache, with EDBENCH_FILER_CACHE=16GB, or for experiments and replays "
        "--filer-cache 16GB (0B: nothing); without it CACHED cannot be determined"
    ),
    NO_BASELINE: (
        "the limit of the run is unknown; the warnings name the cause, often too little memory for null storage "
        "(--null-memory)"
    ),
    LIMITED: (
        "this point measured the load generator, not the storage; add cores or hosts for the load, or use only the "
        "other points"
    ),
}


def advice_on(labels: Iterable[str]) -> list[str]:
    """Return `LABEL: what to do` for the labels that have it, each once."""
    given = [label for label in labels if label]
    return [f"{name}: {what}" for name, what in _ADVICE.items() if any(label.startswith(name) for label in given)]

"""The data that a study needs to be a result, and the time and room that this takes.

Everything is a rule of the labels (docs/labels.md), a total of the corpus profile, or a rate out of a result; what is
neither is a constant below, with where it comes from. Time is reckoned with the least rates, the length of the shortest run with
the most.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.jobs.rates import GB, duration
from controller.timeline.thresholds import CACHE_FACTOR
from core.errors import UsageError
from dataset_gen.mix import Profile
from experiments.report.words import listed, many, percent, size
from experiments.result.significance import LEAST_REPEATS
from experiments.result.steady import MIN_SECONDS
from experiments.sizing.rates import Rates
from experiments.workloads.discovery.null.storage import SHARE

PROFILE = "reference"
REPEATS = (LEAST_REPEATS + 1, LEAST_REPEATS)  # six reach an interval of 95 %, below five nothing is compared
SPARE = 0.1  # of the hours, for what is not counted: samples of the corpus, the report, looking at it
LONGER = 1.2  # times the least length: what the fastest runs are sized for, as repeats differ
GENERATED = 64e6  # bytes a second of one process (docs/corpus.md: 45.0 GB by two on two cores in 352 s)
MISSED = 0.03  # by which a corpus may miss a total of its profile
GENERATOR_ROOM = 1.05  # of the raw bytes, which `generate` wants to be free
_STORES = ("pst", "store")  # a custodian's mail in one file


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked. `workers` None: powers of two up to the processors, the fewest left out where time is short."""

    client_memory: int  # bytes, of all clients
    filer_cache: int
    hours: float
    workers: tuple[int, ...] | None = None
    repeats: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line of the time that it takes."""

    what: str
    times: int
    each_s: float

    @property
    def seconds(self) -> float:
        """Together."""
        return self.times * self.each_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """What to do."""

    rates: Rates
    wish: Wish
    why: str  # the rule that the size of the data follows from
    needed_bytes: int  # discovered, at least
    scale: float
    raw_bytes: int
    discovered_bytes: int
    items: int
    workers: tuple[int, ...]
    repeats: int
    shortest_s: float  # that any run lasts at least
    parts: tuple[Part, ...]
    room_bytes: int  # on the storage, at most
    notes: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Of all parts."""
        return sum(part.seconds for part in self.parts)


def size_study(wish: Wish, rates: Rates, profile: Profile) -> Sizing:
    """The widest range of workers with the most repeats that the hours hold. Raises UsageError, in one line, where none does."""
    tried = [_sized(wish, rates, profile, workers, repeats) for workers, repeats in _choices(wish, rates)]
    for sizing in tried:
        if sizing.seconds <= _may_take(wish):
            return sizing
    raise UsageError(_refusal(min(tried, key=lambda sizing: sizing.seconds), profile))


def refuse_room(sizing: Sizing, storage: Path) -> None:
    """Raises UsageError where the storage root is there and has not enough room."""
    if not storage.is_dir():
        return
    free = shutil.disk_usage(storage).free
    if free < sizing.room_bytes:
        raise UsageError(
            f"{storage} has {size(free)} free, and scale {sizing.scale:g} needs {size(sizing.room_bytes)} there: free space, or plan"
            " for clients with less memory"
        )


def _may_take(wish: Wish) -> float:
    return wish.hours * 3600 * (1 - SPARE)


def _choices(wish: Wish, rates: Rates) -> Iterator[tuple[tuple[int, ...], int]]:
    """Best first."""
    for workers in ranges(rates.processors) if wish.workers is None else (wish.workers,):
        for repeats in REPEATS if wish.repeats is None else (wish.repeats,):
            yield workers, repeats


def ranges(processors: int) -> list[tuple[int, ...]]:
    """Powers of two up to the processors, two at least; then without the fewest, which take longest."""
    every = tuple(2**n for n in range(max(2, processors).bit_length()))
    return [every[first:] for first in range(len(every) - 1)]


def _sized(wish: Wish, rates: Rates, profile: Profile, workers: Sequence[int], repeats: int) -> Sizing:
    caches = CACHE_FACTOR * (wish.client_memory + wish.filer_cache)
    fastest = max(rates.most(number) for number in workers)
    long_enough = fastest * GB * LONGER * MIN_SECONDS / 3600
    needed = max(caches, long_enough)
    scale = rounded_up(needed / (profile.raw_bytes * profile.targets.expansion * (1 - MISSED)))
    raw = round(profile.raw_bytes * scale)
    discovered = round(raw * profile.targets.expansion)
    return Sizing(
        rates=rates,
        wish=wish,
        why=f"{CACHE_FACTOR} x ({size(wish.client_memory)} of the clients' memory + {size(wish.filer_cache)} of the filer's cache)"
        if caches >= long_enough
        else f"{duration(LONGER * MIN_SECONDS)} at {fastest:,.0f} GB/hour, which {many(max(workers), 'worker')} do not pass",
        needed_bytes=math.ceil(needed),
        scale=scale,
        raw_bytes=raw,
        discovered_bytes=discovered,
        items=round(raw / GB * profile.targets.items_per_gb),
        workers=tuple(workers),
        repeats=repeats,
        shortest_s=discovered * (1 - MISSED) / GB / fastest * 3600,
        parts=tuple(_parts(rates, raw, discovered, workers, repeats)),
        room_bytes=round(raw * GENERATOR_ROOM + discovered - raw + _index(rates, discovered)),
        notes=tuple(_notes(wish, rates, profile, raw, workers)),
    )


def _parts(rates: Rates, raw: int, discovered: int, workers: Sequence[int], repeats: int) -> Iterator[Part]:
    """Null storage takes a copy of the corpus for each run where it does not hold all of it."""
    data = discovered / rates.discovered_bytes
    writing = max(
        raw / GENERATED, rates.write_s * raw / max(1, rates.discovered_bytes - rates.raw_bytes + rates.index_bytes)
    )
    yield Part(what="generate the corpus", times=1, each_s=writing / rates.processors)
    runs = {number: discovered * (1 + MISSED) / GB / rates.least(number) * 3600 for number in workers}
    for number, seconds in runs.items():
        yield Part(what=f"run with {many(number, 'worker')}", times=repeats, each_s=seconds)
    share = rates.null_share
    if share is not None:
        for number, seconds in runs.items():
            yield Part(what=f"its null baseline, {many(number, 'worker')}", times=repeats, each_s=seconds * share)
        yield Part(what="copy the corpus to null storage", times=repeats * len(runs), each_s=rates.copy_s * data)
    yield Part(what="remove what a run wrote", times=repeats * len(runs), each_s=rates.remove_s * data)
    yield Part(what="between runs: services, workers", times=repeats * len(runs), each_s=rates.around_s)


def _index(rates: Rates, discovered: int) -> float:
    return rates.index_bytes / rates.discovered_bytes * discovered


def _notes(wish: Wish, rates: Rates, profile: Profile, raw: int, workers: Sequence[int]) -> Iterator[str]:
    """What the operator must know before he begins."""
    if rates.null_share is None:
        yield "NO BASELINE is to be expected: the measured runs had no null baseline"
    elif (store := _largest_store(rates, profile, raw)) > SHARE * wish.client_memory:
        yield (
            f"NO BASELINE is to be expected: the largest mail store with what is taken out of it needs {size(store)} of memory, and null"
            f" storage may hold {percent(SHARE)} of {size(wish.client_memory)}; a profile with more custodians has smaller ones"
        )
    if max(workers) > (most := rates.measured[-1].workers):
        yield f"more than {many(most, 'worker')} were not measured: taken as no faster for the time, and for the length as {rates.most(max(workers)):,.0f} GB/hour at most"


def _largest_store(rates: Rates, profile: Profile, raw: int) -> float:
    """Bytes of the largest mail store and of what lies beneath it."""
    weights = sum(custodian.weight for custodian in profile.custodians)
    own = max(
        (c.weight / weights * share for c, share in zip(profile.custodians, profile.mail_shares(), strict=True) if c.mail in _STORES),
        default=0.0,
    )  # fmt: skip
    return own * raw + rates.store_bytes / rates.raw_bytes * raw


def _refusal(least: Sizing, profile: Profile) -> str:
    """In one line: what takes how long, and what would do."""
    wish, took = least.wish, least.seconds
    hours = math.ceil(took / (1 - SPARE) / 360) / 10
    return (
        f"not in {wish.hours:g} h: {size(least.needed_bytes)} discovered ({least.why}) with"
        f" {listed(map(str, least.workers))} workers and {many(least.repeats, 'repeat')} take {duration(took)};"
        f" give it {hours:g} h{_alone(least, profile)}{_smaller(least, profile)}"
    )


def _alone(least: Sizing, profile: Profile) -> str:
    """The most workers by themselves, where there is time for them: a result all the same, though nothing scales in it."""
    wish, most = least.wish, least.workers[-1:]
    if most == least.workers or _sized(wish, least.rates, profile, most, least.repeats).seconds > _may_take(wish):
        return ""
    return f", or --workers {most[0]} alone"


def _smaller(least: Sizing, profile: Profile) -> str:
    """By how much less memory and cache it would fit, where it would."""
    low, high = 0, least.wish.client_memory + least.wish.filer_cache

    def fits(caches: int) -> bool:
        wish = Wish(client_memory=caches, filer_cache=0, hours=least.wish.hours)
        return _sized(wish, least.rates, profile, least.workers, least.repeats).seconds <= _may_take(wish)

    if not fits(0):
        return " (less data would not do: runs of 10 minutes alone take longer)"
    while high - low > low // 1000 + 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    least_told = 10 ** max(0, len(str(low)) - 2)
    return f", or clients and a filer that cache {size(low // least_told * least_told)} together"


def rounded_up(value: float) -> float:
    """To two significant digits: 6.598 → 6.6, 0.01234 → 0.013."""
    places = 1 - math.floor(math.log10(value))
    step = 10.0**-places
    return round(math.ceil(round(value / step, 6)) * step, max(0, places))

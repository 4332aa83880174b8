"""Sizing of an experiment whose figures are to be a result: data, time and space (`edbench bench plan`)."""

from __future__ import annotations

import itertools
import math
import shlex
import shutil
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from controller.jobs.progress import GB, duration
from controller.labels.rules import CACHE_FACTOR
from core.document import Document, Milli
from core.errors import UsageError
from core.operations import Op
from core.records import Phase
from core.settings import Settings
from dataset_gen.mix import Profile
from experiments.orders import DEFAULT_REPEATS
from experiments.report.words import listed, many, percent, size
from experiments.result.steady import MIN_SECONDS
from experiments.workloads.discovery.null import SHARE
from experiments.workloads.discovery.result import CallUse, Point, Result, Run

_READING = frozenset(op.label for op in (Op.STAT, Op.OPEN, Op.READ, Op.CLOSE))
_WRITING = frozenset(op.label for op in (Op.CREATE, Op.WRITE, Op.CLOSE, Op.RENAME, Op.MKDIR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One measured number of workers, by the medians of its runs."""

    workers: int
    gb_per_hour: float  # discovered
    cpu: float  # share of the host's CPUs that the workers used, 0…1
    null_share: float | None  # time on null storage ÷ time on the storage; None: no null baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates of one result. Sizes are of one run's data; `_s` are seconds of one process."""

    source: str  # name of the result
    labels: tuple[str, ...]
    slots: int  # of each worker
    processors: int  # of its hosts
    measured: tuple[Rate, ...]  # fewest workers first
    raw_bytes: int
    discovered_bytes: int
    index_bytes: int
    store_bytes: int  # found beneath its largest loose file; 0: not reported
    copy_s: float  # to read all loose files
    write_s: float  # to write what was written
    remove_s: float  # to remove it again: a rename's time a file, both change a directory
    around_s: float  # between two runs: services, workers, everything that is not timed

    def least(self, workers: int) -> float:
        """Return the GB/hour discovered that so many workers reach: as measured, interpolated between two measured
        numbers, in proportion below the fewest, no more than the most above them."""
        first, last = self.measured[0], self.measured[-1]
        if workers <= first.workers:
            return first.gb_per_hour * workers / first.workers
        for low, high in itertools.pairwise(self.measured):
            if workers <= high.workers:
                part = (workers - low.workers) / (high.workers - low.workers)
                return low.gb_per_hour + part * (high.gb_per_hour - low.gb_per_hour)
        return last.gb_per_hour

    def most(self, workers: int) -> float:
        """Return the GB/hour discovered that so many workers do not exceed: as measured, in proportion above, never
        beyond what all CPUs would bring at the measured CPU seconds a GB."""
        bounds = [
            rate.gb_per_hour * max(1.0, workers / rate.workers) for rate in self.measured if rate.workers <= workers
        ]
        bounds += [rate.gb_per_hour / rate.cpu for rate in self.measured if rate.cpu > 0]
        return max(self.least(workers), min(bounds, default=0.0))

    @property
    def null_share(self) -> float | None:
        """The largest ratio of a null baseline's time to its run's; None without a null baseline."""
        return max((rate.null_share for rate in self.measured if rate.null_share is not None), default=None)


def rates_of(result: Result, source: str) -> Rates:
    """Return the rates of a result; `source`: its name. Raises UsageError in one line if it contains too little."""
    points = _points(result, source)
    runs = [run for point in points for run in point.repeats]
    one = runs[0]
    if not all(run.phases and any(phase.calls for phase in run.phases) for run in runs):
        raise UsageError(
            f"{source} has no records of calls by phase (made by an older version, or with EDBENCH_OBSERVE off)"
        )
    written = _calls(one, _WRITING)
    files = sum(use.calls for label, use in written if label == Op.CREATE.label)
    renames = [use for label, use in written if label == Op.RENAME.label]
    renamed = sum(use.calls for use in renames)
    return Rates(
        source=source,
        labels=result.labels,
        slots=points[0].at.slots,
        processors=sum(int(host.get("processors") or 1) for host in (result.conditions.get("hosts") or ())) or 1,
        measured=tuple(_rate(point) for point in points),
        raw_bytes=int(one.result["raw_bytes"]),
        discovered_bytes=int(one.result["discovered_bytes"]),
        index_bytes=int(one.result["index_bytes"]),
        store_bytes=max((found for phase in one.phases for _, found in phase.heaviest), default=0),
        copy_s=sum(use.seconds for _, use in _calls(one, _READING, Phase.EXPAND.value)),
        write_s=sum(use.seconds for _, use in written),
        remove_s=files * sum(use.seconds for use in renames) / renamed if renamed else 0.0,
        around_s=_around(runs),
    )


def _points(result: Result, source: str) -> list[Point]:
    """Return the points on one database, fewest workers first."""
    points = sorted((point for point in result.points if point.at.databases == 1), key=lambda point: point.at.workers)
    if not points or len({point.at.slots for point in points}) > 1:
        raise UsageError(
            f"{source}: a plan needs runs on one database, all with the same slots; `edbench bench scale-up` makes them"
        )
    return points


def _rate(point: Point) -> Rate:
    shares = [
        run.null_elapsed_s / run.elapsed_s for run in point.repeats if run.null_elapsed_s is not None and run.elapsed_s
    ]
    return Rate(
        workers=point.at.workers,
        gb_per_hour=statistics.median(run.gb_per_hour_discovered for run in point.repeats),
        cpu=statistics.median(run.worker_cpu for run in point.repeats),
        null_share=statistics.median(shares) if shares else None,
    )


def _calls(run: Run, labels: frozenset[str], phase: str | None = None) -> list[tuple[str, CallUse]]:
    return [
        (label, use)
        for each in run.phases
        if phase in (None, each.phase)
        for label, use in each.calls.items()
        if label in labels
    ]


def _around(runs: Iterable[Run]) -> float:
    """Return the median time between consecutive runs, without the run and its null baseline, in seconds; 0 for a
    single run."""
    ordered = sorted(runs, key=lambda run: run.order)
    gaps = [
        after.started_at - before.started_at - before.elapsed_s - (before.null_elapsed_s or 0.0)
        for before, after in itertools.pairwise(ordered)
    ]
    return max(0.0, statistics.median(gaps)) if gaps else 0.0


PROFILE = "reference"
SPARE = 0.1  # of the hours, for what is not counted: samples of the corpus, the report, looking at it
LONGER = 1.2  # times the least length: what the fastest runs are sized for, as repeats differ
GENERATED = 64e6  # bytes a second of one process (docs/corpus.md: 45.0 GB by two on two cores in 352 s)
MISSED = 0.03  # share by which a corpus may miss a total of its profile
GENERATOR_ROOM = 1.05  # of the raw bytes: the free space that `generate` requires
_STORES = ("pst", "store")  # a custodian's mail in one file


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The request. `workers` None: powers of two up to the CPUs, without the fewest if time is short."""

    client_memory: int  # bytes, of all clients
    filer_cache: int
    hours: float
    workers: tuple[int, ...] | None = None
    repeats: int = DEFAULT_REPEATS


class Part(Document):
    """One line of the required time."""

    what: str
    times: int
    each_s: Milli

    @property
    def seconds(self) -> float:
        """The time of all repetitions."""
        return self.times * self.each_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The planned experiment."""

    rates: Rates
    wish: Wish
    why: str  # the rule that the size of the data follows from
    needed_bytes: int  # discovered, at least
    scale: float
    raw_bytes: int
    discovered_bytes: int
    items: int
    workers: tuple[int, ...]
    shortest_s: float  # the least time that any run lasts
    parts: tuple[Part, ...]
    room_bytes: int  # on the storage, at most
    notes: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The time of all parts."""
        return sum(part.seconds for part in self.parts)


def size_study(wish: Wish, rates: Rates, profile: Profile) -> Sizing:
    """Return the widest range of workers that the hours hold. Raises UsageError, in one line, if there is none."""
    choices = ranges(rates.processors) if wish.workers is None else [wish.workers]
    tried = [_sized(wish, rates, profile, workers) for workers in choices]
    for sizing in tried:
        if sizing.seconds <= wish.hours * 3600 * (1 - SPARE):
            return sizing
    raise UsageError(_refusal(min(tried, key=lambda sizing: sizing.seconds)))


def refuse_room(sizing: Sizing, storage: Path) -> None:
    """Raise UsageError if the storage root exists and has not enough room."""
    if not storage.is_dir():
        return
    free = shutil.disk_usage(storage).free
    if free < sizing.room_bytes:
        raise UsageError(
            f"{storage} has {size(free)} free, and scale {sizing.scale:g} needs {size(sizing.room_bytes)} there: free space, or plan"
            " for clients with less memory"
        )


def ranges(processors: int) -> list[tuple[int, ...]]:
    """Return powers of two up to the number of CPUs, at least to 2; then the same without the fewest, which take
    longest."""
    every = tuple(2**n for n in range(max(2, processors).bit_length()))
    return [every[first:] for first in range(len(every) - 1)]


def _sized(wish: Wish, rates: Rates, profile: Profile, workers: Sequence[int]) -> Sizing:
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
        else (
            f"{duration(LONGER * MIN_SECONDS)} at {fastest:,.0f} GB/hour, which {many(max(workers), 'worker')} do "
            "not exceed"
        ),
        needed_bytes=math.ceil(needed),
        scale=scale,
        raw_bytes=raw,
        discovered_bytes=discovered,
        items=round(raw / GB * profile.targets.items_per_gb),
        workers=tuple(workers),
        shortest_s=discovered * (1 - MISSED) / GB / fastest * 3600,
        parts=tuple(_parts(rates, raw, discovered, workers, wish.repeats)),
        room_bytes=round(
            raw * GENERATOR_ROOM + discovered - raw + (rates.index_bytes / rates.discovered_bytes * discovered)
        ),
        notes=tuple(_notes(wish, rates, profile, raw, workers)),
    )


def _parts(rates: Rates, raw: int, discovered: int, workers: Sequence[int], repeats: int) -> Iterator[Part]:
    """Yield the parts of the time. Null storage takes a copy of the corpus for each run if it does not hold all of
    it."""
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
    yield Part(what="remove the output of a run", times=repeats * len(runs), each_s=rates.remove_s * data)
    yield Part(what="between runs: services, workers", times=repeats * len(runs), each_s=rates.around_s)


def _notes(wish: Wish, rates: Rates, profile: Profile, raw: int, workers: Sequence[int]) -> Iterator[str]:
    """Yield what the operator must know in advance."""
    if rates.null_share is None:
        yield "NO BASELINE expected: the measured runs had no null baseline"
    elif (store := _largest_store(rates, profile, raw)) > SHARE * wish.client_memory:
        yield (
            f"NO BASELINE expected: the largest mail store with its extracted children needs {size(store)} of "
            f"memory, but null storage may use {percent(SHARE)} of {size(wish.client_memory)}; a profile with more "
            "custodians has smaller ones"
        )
    if max(workers) > (most := rates.measured[-1].workers):
        yield (
            f"more than {many(most, 'worker')} were not measured: the plan assumes no higher rate for the time, "
            f"and at most {rates.most(max(workers)):,.0f} GB/hour for the length"
        )


def _largest_store(rates: Rates, profile: Profile, raw: int) -> float:
    """Return the bytes of the largest mail store and of everything in it."""
    weights = sum(custodian.weight for custodian in profile.custodians)
    own = max(
        (c.weight / weights * share for c, share in zip(profile.custodians, profile.mail_shares(), strict=True) if c.mail in _STORES),
        default=0.0,
    )  # fmt: skip
    return own * raw + rates.store_bytes / rates.raw_bytes * raw


def _refusal(least: Sizing) -> str:
    """Return in one line what takes how long, and how many hours are enough."""
    wish, took = least.wish, least.seconds
    hours = math.ceil(took / (1 - SPARE) / 360) / 10
    return (
        f"--hours {wish.hours:g} is too short: {size(least.needed_bytes)} discovered ({least.why}) with"
        f" {listed(map(str, least.workers))} workers and {many(wish.repeats, 'repeat')} take {duration(took)};"
        f" use --hours {hours:g}"
    )


def rounded_up(value: float) -> float:
    """Round up to two significant digits: 6.598 → 6.6, 0.01234 → 0.013."""
    places = 1 - math.floor(math.log10(value))
    step = 10.0**-places
    return round(math.ceil(round(value / step, 6)) * step, max(0, places))


_SEED = 1


def commands(sizing: Sizing, settings: Settings) -> list[str]:
    """Return the commands to type; RESULT is what the experiment's last line names."""
    corpus = shlex.quote(str(settings.storage / "corpora" / f"{PROFILE}-{sizing.scale:g}-seed-{_SEED}"))
    cached = sizing.wish.filer_cache  # as EDBENCH_FILER_CACHE takes it, exactly
    cache = f"{cached}B" if cached % 1000 else f"{cached / 1e9:.6f}".rstrip("0").rstrip(".") + "GB"
    workers = ",".join(map(str, sizing.workers))
    return [
        f"export EDBENCH_STORAGE={shlex.quote(str(settings.storage))} EDBENCH_SCRATCH={shlex.quote(str(settings.scratch))}"
        f" EDBENCH_FILER_CACHE={cache}",
        "edbench doctor",
        f"edbench corpus generate {corpus} --profile {PROFILE} --scale {sizing.scale:g} --seed {_SEED}",
        f"edbench bench scale-up --corpus {corpus} --workers {workers} --slots {sizing.rates.slots}"
        f" --repeats {sizing.wish.repeats} --cold --seed {_SEED}",
        "edbench result check RESULT",
        "edbench result describe RESULT > filer.toml",
        "edbench result describe RESULT --sheet filer.toml",
    ]


class Measured(Document):
    """A rate that the plan is based on."""

    workers: int
    gb_per_hour_discovered: Milli


class SizingDocument(Document):
    """Output of `edbench bench plan -o json`; bytes are whole, times seconds."""

    schema_: Literal["edbench-plan/1"] = Field(alias="schema")
    source: str
    labels: list[str]
    measured: list[Measured]
    needed_bytes: int
    why: str
    profile: str
    scale: float
    seed: int
    raw_bytes: int
    discovered_bytes: int
    items: int
    workers: list[int]
    slots: int
    repeats: int
    shortest_run_s: Milli
    seconds: Milli
    time: list[Part]
    room_bytes: int
    notes: list[str]
    commands: list[str]


def document(sizing: Sizing, settings: Settings) -> SizingDocument:
    """Return the output of `edbench bench plan -o json`."""
    return SizingDocument.from_records(
        sizing,
        schema="edbench-plan/1",
        source=sizing.rates.source,
        labels=list(sizing.rates.labels),
        measured=[Measured(workers=r.workers, gb_per_hour_discovered=r.gb_per_hour) for r in sizing.rates.measured],
        profile=PROFILE,
        seed=_SEED,
        slots=sizing.rates.slots,
        repeats=sizing.wish.repeats,
        shortest_run_s=sizing.shortest_s,
        time=list(sizing.parts),
        commands=commands(sizing, settings),
    )

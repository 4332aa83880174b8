"""Kinds of experiment: which points are measured, and in which order. The plan in a package restores the kind."""

from __future__ import annotations

import dataclasses
import random
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

from core.errors import UsageError
from core.operations import Op
from core.options import MOST_SECONDS
from experiments.orders import LEAST_LEVELS, MOST_LEVELS
from experiments.result.codec import decode
from experiments.result.schema import At, Knee, Run, Tuning
from experiments.workload import About

# Runs one point once, with its null baseline; repeats count from 0. Raises SystemFault, RunFailed, Interrupted.
Measure = Callable[[At, int], Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The measured points in the order in which they are shown, and their runs in order of repeat."""

    runs: dict[At, list[Run]]
    knees: tuple[Knee, ...] = ()  # of each start of a search
    peak: int | None = None  # the levels of load are percentages of it
    tuning: Tuning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search for the highest load within a bound (`experiments.kinds`)."""

    base: dict[str, Any]  # the load of which one field is raised
    others: tuple[dict[str, Any], ...] = ()  # more such loads: a search for each setting
    axis: str  # name of that field
    figure: str  # by its name in `About.figures`
    bound: float  # the most that its median may be
    most: int  # the highest load that is tried
    least: int = 1  # the first load of the search
    within: float = 0.02  # share of the found load by which it may be too low


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A kind in plain data, as a result package has it."""

    kind: str
    axis: str
    points: tuple[dict[str, Any], ...]  # for kinds that raise a load: their starts
    repeats: int
    seed: int | None = None  # of the random order; None: a search has an order of its own
    most: int | None = None  # the highest load of a search
    bounds_us: dict[str, float] | None = None  # on the p99 of ops
    levels: int | None = None  # number of levels of load, up to the peak
    peak: int | None = None  # as given; None: it is measured
    search: Search | None = None  # of a profile, after its points
    stages: tuple[tuple[int, float], ...] | None = None  # of load: how much, and for how many seconds


def planned(
    kind: str, axis: str, points: Iterable[At], *, repeats: int, seed: int, search: Search | None = None
) -> Plan:
    """Return a plan of points that are all known, each once, followed by `search`."""
    known = tuple(point.values() for point in dict.fromkeys(points))
    return Plan(kind=kind, axis=axis, points=known, repeats=repeats, seed=seed, search=search)


A = TypeVar("A", bound=At)


class Kind:
    """A kind of experiment: which points a plan measures, and in which order."""

    order: str  # in words; of a class with `{seed}`
    needs: ClassVar[tuple[str, ...]] = ("seed",)  # fields of the plan
    has: ClassVar[str] = "points and a seed"  # `needs` in words
    starts: ClassVar[int] = 0  # the most starts that others are made from; 0: points are measured as they are

    def __init__(self, plan: Plan, about: About) -> None:
        self.plan, self.about, self.order = plan, about, self.order.format(seed=plan.seed)
        self.given = tuple(decode(about.load_type, at, "plan.points") for at in plan.points)

    def points(self) -> Sequence[At]:
        """Return the points known in advance, at least the largest. Raises UsageError if the plan is invalid."""
        return self.given

    def run(self, measure: Measure) -> Findings:
        """Measure all points."""
        raise NotImplementedError

    def _at(self, load: int) -> At:
        return _with(self.given[0], self.plan.axis, load)

    def _repeated(self, at: At, measure: Measure) -> list[Run]:
        return [measure(at, repeat) for repeat in range(self.plan.repeats)]

    def _in_rounds(self, points: Sequence[At], measure: Measure) -> dict[At, list[Run]]:
        runs: dict[At, list[Run]] = {point: [] for point in points}
        for point, repeat in shuffled(points, self.plan.repeats, self.plan.seed or 0):
            runs[point].append(measure(point, repeat))
        return runs


def shuffled(points: Sequence[A], repeats: int, seed: int) -> list[tuple[A, int]]:
    """Return every point `repeats` times; the same seed gives the same order.

    Each repeat is a block that holds every point once in random order, so that a drift of the machine over the hours
    falls on all points alike."""
    dice = random.Random(seed)
    out = []
    for repeat in range(repeats):
        block = list(points)
        dice.shuffle(block)
        out += [(point, repeat) for point in block]
    return out


def along(base: A, axis: str, numbers: Sequence[int]) -> list[A]:
    """Return a load with each of these numbers on one axis, ascending and each once. Raises UsageError for an empty
    list or a number under 1."""
    return [_with(base, axis, number) for number in checked(numbers, f"--{axis}")]


def checked(numbers: Sequence[int], option: str) -> tuple[int, ...]:
    """Return the numbers ascending and each once. Raises UsageError for an empty list or a number under 1."""
    if not numbers or min(numbers) < 1:
        raise UsageError(f"{option} needs whole numbers of at least 1, such as 1,2,4")
    return tuple(sorted(set(numbers)))


def sweep(
    bases: Sequence[At], axis: str, numbers: Sequence[int], *, repeats: int, seed: int, name: str = "sweep"
) -> Plan:
    """Return a plan of all numbers on one axis for the first base, then for the next, such as clients on each of
    several filers. Raises UsageError."""
    points = [at for base in bases for at in along(base, axis, numbers)]
    return planned(name, axis, points, repeats=repeats, seed=seed)


_MOST_LOAD = 1_000_000


class Grid(Kind):
    """A kind whose points are all known, followed by the plan's `search` for a figure of the workload."""

    order = "random within each round of repeats, seed {seed}"

    def __init__(self, plan: Plan, about: About) -> None:
        """Raise UsageError if the search names no figure of the workload or no axis of its load."""
        super().__init__(plan, about)
        if (search := plan.search) is None:
            return
        self.order += "; then a search, doubling, then halving the gap"
        if search.axis not in search.base or search.figure not in {one.name for one in about.figures}:
            raise UsageError("a search needs a figure of its workload and an axis of its load")

    def points(self) -> Sequence[At]:
        """Return all points known in advance, and both ends of each search."""
        search = self.plan.search
        if search is None:
            return self.given
        if not 1 <= search.least <= search.most <= _MOST_LOAD:
            raise UsageError(f"a search requires loads from 1 to {_MOST_LOAD:,}, the highest of at least its first")
        ends = (search.least, search.most)
        return [*self.given, *(at(load) for at in self._raised(search) for load in ends)]

    def run(self, measure: Measure) -> Findings:
        """Measure in rounds, then run each search."""
        runs = self._in_rounds(self.given, measure)
        if (search := self.plan.search) is not None:
            for at in self._raised(search):
                runs |= self._searched(search, at, measure)
        return Findings(runs=runs)

    def _raised(self, search: Search) -> list[Callable[[int], At]]:
        bases = (decode(self.about.load_type, base, "search.base") for base in (search.base, *search.others))
        return _raised(bases, search.axis)

    def _searched(self, search: Search, at: Callable[[int], At], measure: Measure) -> dict[At, list[Run]]:
        tried: dict[int, list[Run]] = {}
        figure = next(one for one in self.about.figures if one.name == search.figure)

        def kept(load: int) -> bool:
            tried[load] = self._repeated(at(load), measure)
            values = figure.values(tried[load])
            return bool(values) and statistics.median(values) <= search.bound

        highest(kept, search.least, search.most, within=search.within)
        return {at(load): tried[load] for load in sorted(tried)}


def _with(base: A, axis: str, load: int) -> A:
    return dataclasses.replace(base, **{axis: load})


def _raised(bases: Iterable[At], axis: str) -> list[Callable[[int], At]]:
    """Return for each base that differs in more than the axis a function from a load to its point."""
    return [partial(_with, base, axis) for base in dict.fromkeys(_with(base, axis, 1) for base in bases)]


def highest(
    kept: Callable[[int], bool],
    least: int,
    most: int,
    *,
    within: float = 0.0,
    enough: Callable[[int], bool] = lambda _load: True,
) -> tuple[int, int | None]:
    """Return the highest load for which `kept` returns true (0: none), and the lowest for which it does not, if any.

    The load is doubled until it is not kept and `enough`, then the gap is halved until it is 1, or this part of the
    load."""
    good, bad, load = 0, None, least
    while True:
        if not kept(load):
            bad = load if bad is None else bad
        elif bad is None:
            good = load
        if load >= most or (bad is not None and enough(load)):
            break
        load = min(2 * load, most)
    while bad is not None and bad - good > max(1.0, within * good):
        middle = (good + bad) // 2
        if kept(middle):
            good = middle
        else:
            bad = middle
    return good, bad


_GAIN = 1.05  # rate over the best so far that makes another doubling worth its time
_UNITS = {"us": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
_BOUND = re.compile(r"([a-z]+)=([0-9]{1,9}(?:\.[0-9]{1,6})?)(us|ms|s)")


def parse_bounds(text: str) -> dict[str, float]:
    """Parse `read=20ms,write=40ms` into op → microseconds. Raises UsageError for another form."""
    out: dict[str, float] = {}
    known = [op.label for op in Op]
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = _BOUND.fullmatch(part)
        if match is None or not float(match[2]):
            raise UsageError(f"--max-p99: {part!r} is not OP=TIME; write read=20ms,write=40ms (us, ms or s)")
        if match[1] not in known:
            raise UsageError(f"--max-p99: unknown op {match[1]!r}; use {', '.join(known)}")
        out[match[1]] = float(match[2]) * _UNITS[match[3]]
    if not out:
        raise UsageError("--max-p99 needs at least one bound, such as read=20ms")
    return out


def knee(bases: Sequence[At], axis: str, bounds_us: dict[str, float], *, most: int, repeats: int) -> Plan:
    """Return a plan that finds, for each base, the highest number on one axis within bounds on the p99 of ops."""
    points = tuple(base.values() for base in bases)
    return Plan(kind="knee", axis=axis, points=points, repeats=repeats, most=most, bounds_us=bounds_us)


_MOST = 10_000  # repeats or points: bounds the work that an untrusted plan can cause


class KneeSearch(Kind):
    """A search for the knee: the load is the number on one axis; the rest of a start does not change."""

    order = "as searched: doubling, then halving the gap at the knee; the repeats of a point are consecutive"
    needs = ("most", "bounds_us")
    has = "a start, bounds and a highest load"
    starts = _MOST

    def points(self) -> Sequence[At]:
        """Return the lowest and the highest load of each start."""
        most = self.plan.most or 0
        if most < 1:
            raise UsageError(f"--max-{self.plan.axis} must be at least 1")
        return [at(load) for at in _raised(self.given, self.plan.axis) for load in sorted({1, most})]

    def run(self, measure: Measure) -> Findings:
        """Search start by start; try each load once, with all its repeats."""
        runs, knees = dict[At, list[Run]](), list[Knee]()
        for at in _raised(self.given, self.plan.axis):
            own, found = self._searched(at, len(runs), measure)
            runs |= own
            knees.append(found)
        return Findings(runs=runs, knees=tuple(knees))

    def _searched(self, at: Callable[[int], At], first: int, measure: Measure) -> tuple[dict[At, list[Run]], Knee]:
        """Return the points of one search and the knee among them; its first point has index `first` among all."""
        axis, bounds = self.plan.axis, self.plan.bounds_us or {}
        runs: dict[int, list[Run]] = {}
        broken: dict[int, str | None] = {}

        def kept(load: int) -> bool:
            runs[load] = self._repeated(at(load), measure)
            broken[load] = broken_bound(runs[load], bounds, f"{load} {axis if load > 1 else axis.removesuffix('s')}")
            return broken[load] is None

        def rate(load: int) -> float:
            return statistics.median(map(self.about.rate, runs[load]))

        def no_faster(load: int) -> bool:
            return rate(load) < _GAIN * max((rate(one) for one in runs if one != load), default=0.0)

        good, bad = highest(kept, 1, self.plan.most or 1, enough=no_faster)
        loads = sorted(runs)
        found = Knee(
            bounds_us=bounds,
            peak=first + loads.index(max(loads, key=rate)),
            knee=first + loads.index(good) if good else None,
            broken=None if bad is None else broken[bad],
        )
        return {at(load): runs[load] for load in loads}, found


def broken_bound(runs: Sequence[Run], bounds_us: Mapping[str, float], where: str) -> str | None:
    """Return in words the bound that the median p99 of the runs exceeds most; None if all are kept."""
    worst: tuple[float, str] | None = None
    for op, bound in bounds_us.items():
        values = [run.latency[op].p99_us for run in runs if op in run.latency]
        if not values or (p99 := statistics.median(values)) <= bound:
            continue
        text = f"{op} p99 {p99 / 1000:.2f} ms over {bound / 1000:.2f} ms at {where}"
        worst = max(worst or (0.0, ""), (p99 / bound, text))
    return worst[1] if worst else None


class LoadLevels(Kind):
    """Levels of load: `percent` of `peak`, in calls a second; both are 0 for runs at full speed."""

    needs = ("levels", "seed")
    has = "a start, levels and a seed"
    starts = 1
    order = "the peak's runs first, if any; then levels, random within each round of repeats, seed {seed}"

    def points(self) -> Sequence[At]:
        """Return the point at which the peak is found, or all levels of a given peak."""
        if not LEAST_LEVELS <= (self.plan.levels or 0) <= MOST_LEVELS:
            raise UsageError(f"--levels must be from {LEAST_LEVELS} to {MOST_LEVELS}")
        if self.plan.peak is None:
            return [self._part(0, 0)]
        if self.plan.peak < 1:
            raise UsageError("--peak must be at least 1 call/s")
        return self._all(self.plan.peak)

    def run(self, measure: Measure) -> Findings:
        """Measure the peak, then its levels."""
        runs: dict[At, list[Run]] = {}
        peak = self.plan.peak
        if peak is None:
            top = self._part(0, 0)
            runs[top] = self._repeated(top, measure)
            peak = max(1, round(statistics.median(map(self.about.rate, runs[top]))))
        return Findings(runs=runs | self._in_rounds(self._all(peak), measure), peak=peak)

    def _all(self, peak: int) -> list[At]:
        levels = self.plan.levels or 1
        return [self._part(round(100 * number / levels), peak) for number in range(1, levels + 1)]

    def _part(self, percent: int, peak: int) -> At:
        return dataclasses.replace(self.given[0], **{self.plan.axis: percent, "peak": peak})


_STAGE = re.compile(r"([0-9]{1,4})x([0-9]{1,9}(?:\.[0-9]{1,3})?)(s|m|h)")
_TIMES = {"s": 1.0, "m": 60.0, "h": 3_600.0}
_MOST_RUNS = 10_000  # of a stage

Stage = tuple[int, float]  # load and seconds


def parse_stages(text: str) -> tuple[Stage, ...]:
    """Parse `1x5m,4x10m` into stages. Raises UsageError."""
    out: list[Stage] = []
    for part in (one.strip() for one in text.split(",")):
        match = _STAGE.fullmatch(part)
        if match is None:
            raise UsageError(f"--stages: {part[:40]!r} is not LOADxTIME; write 1x5m,4x10m (s, m or h)", field="stages")
        out.append((int(match[1]), float(match[2]) * _TIMES[match[3]]))
    return _checked(tuple(out))


def _checked(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Return the stages. Raises UsageError if they are invalid."""
    if not stages or not all(load >= 1 and 0 < time <= MOST_SECONDS for load, time in stages):
        raise UsageError("--stages: a stage has a load of at least 1 and a time above 0", field="stages")
    if len({load for load, _ in stages}) < len(stages):
        raise UsageError("--stages: two stages have the same load; give each load once", field="stages")
    return stages


def in_stages(base: At, axis: str, stages: tuple[Stage, ...]) -> Plan:
    """Return a plan of stages on one axis; the rest of the base does not change."""
    return Plan(kind="stages", axis=axis, points=(base.values(),), repeats=1, stages=stages)


class Stages(Kind):
    """Load that changes over time: each stage sets the axis for at least its duration; the rest of the base does not
    change.

    A workload's runs end by themselves, so a stage repeats its run until their elapsed times add up to its duration;
    the last run is finished. Stages keep their order: the state that one leaves in caches and on the storage is what
    the next begins with."""

    order = "by stage; a stage repeats its run until its time has passed"
    needs = ("stages",)
    has = "a start and stages"
    starts = 1

    def points(self) -> Sequence[At]:
        """Return one point for each stage."""
        return [self._at(load) for load, _ in _checked(self.plan.stages or ())]

    def run(self, measure: Measure) -> Findings:
        """Measure stage by stage."""
        runs: dict[At, list[Run]] = {}
        for load, seconds in self.plan.stages or ():
            own = runs.setdefault(self._at(load), [])
            while sum(run.elapsed_s for run in own) < seconds and len(own) < _MOST_RUNS:
                own.append(measure(self._at(load), len(own)))
        return Findings(runs=runs)


class Halving(Kind):
    """The best of several settings by successive halving, and its gain over the default, the first of the points.

    Each round measures every setting that is left, and twice as often as the round before; the better half by the
    median of the workload's rate stays (K. Jamieson and A. Talwalkar, AISTATS 2016, with repeats as the resource). A
    setting that won by chance would look better than it is, so that the last one and the default are run again,
    `repeats` times, and only these are compared."""

    order = "random within each round of repeats, seed {seed}; rounds of successive halving, then the comparison"

    def points(self) -> Sequence[At]:
        """Return all settings. Raises UsageError if there is nothing to compare."""
        if len(set(self.given)) < max(2, len(self.given)):
            raise UsageError("tune requires settings that differ from the default and from each other")
        return self.given

    def run(self, measure: Measure) -> Findings:
        """Run the rounds, then the comparison."""
        runs: dict[At, list[Run]] = {point: [] for point in self.given}
        left, rounds, times = list(self.given[1:]), list[tuple[int, ...]](), 1
        while len(left) > 1:
            rounds.append(tuple(self.given.index(point) for point in left))
            self._measure(left, times, runs, measure)
            left.sort(key=lambda point: -statistics.median(map(self.about.rate, runs[point])))
            left, times = left[: -(-len(left) // 2)] if len(left) > 2 else left[:1], 2 * times
        compared = self.plan.repeats
        self._measure([self.given[0], left[0]], compared, runs, measure)
        tuning = Tuning(default=0, best=self.given.index(left[0]), rounds=tuple(rounds), compared=compared)
        return Findings(runs=runs, tuning=tuning)

    def _measure(self, points: Sequence[At], times: int, runs: dict[At, list[Run]], measure: Measure) -> None:
        for point, _ in shuffled(points, times, (self.plan.seed or 0) + sum(map(len, runs.values()))):
            runs[point].append(measure(point, len(runs[point])))


_KINDS: Mapping[str, type[Kind]] = {"knee": KneeSearch, "load": LoadLevels, "stages": Stages, "tune": Halving}


def kind_of(plan: Plan, about: About) -> Kind:
    """Return the kind of a plan. Raises UsageError for a plan that no kind accepts or no command makes."""
    if not 1 <= plan.repeats <= _MOST or max(len(plan.points), len(plan.stages or ())) > _MOST:
        raise UsageError(
            f"the plan has {len(plan.points):,} points and {plan.repeats:,} repeats; at most {_MOST:,} are allowed"
        )
    kind = _KINDS.get(plan.kind, Grid)
    if kind.starts:
        enough = 1 <= len(plan.points) <= kind.starts and plan.axis in {
            one.name for one in dataclasses.fields(about.load_type)
        }
    else:
        enough = bool(plan.points or plan.search)
    if not enough or any(getattr(plan, name) is None for name in kind.needs):
        raise UsageError(f"the plan of kind {plan.kind} must have {kind.has}")
    made = kind(plan, about)
    made.points()
    return made

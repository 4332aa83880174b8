"""Kinds of experiment: which points are measured, and in what order; a kind is restored from the plan in a package."""

from __future__ import annotations

import dataclasses
import random
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from core.errors import UsageError
from core.operations import Op
from core.options import MOST_SECONDS
from experiments.orders import LEAST_LEVELS, MOST_LEVELS
from experiments.result.codec import decode
from experiments.result.schema import At, Knee, Run, Tuning
from experiments.workload import About


class Measure(Protocol):
    """Runs one point once, with its null baseline; raises SystemFault, RunFailed, Interrupted."""

    def __call__(self, at: At, repeat: int) -> Run:
        """`repeat` counts from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was measured: points in the order in which they are shown, runs in order of repeat."""

    runs: dict[At, list[Run]]
    knee: Knee | None = None
    peak: int | None = None  # what levels of load are parts of
    tuning: Tuning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The highest load within a bound (`experiments.kinds`)."""

    base: dict[str, Any]  # the load of which one field is raised
    axis: str  # that field
    figure: str  # by its name in `About.figures`
    bound: float  # the most that its median may be
    most: int  # the highest load that is tried
    least: int = 1  # that the search begins with
    within: float = 0.02  # of the load found, that may be missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A kind in plain data, as a result package has it."""

    kind: str
    axis: str
    points: tuple[dict[str, Any], ...]  # of a search the one that it starts from
    repeats: int
    seed: int | None = None  # of the random order; None: a search has an order of its own
    most: int | None = None  # the highest load of a search
    bounds_us: dict[str, float] | None = None  # on the p99 of ops
    levels: int | None = None  # of load, up to the peak
    peak: int | None = None  # as given; None: it is looked for
    search: Search | None = None  # of a profile, after its points
    stages: tuple[tuple[int, float], ...] | None = None  # of load: how much, and for how many seconds


class Kind(Protocol):
    """Which points are measured, and in what order."""

    name: str
    axis: str  # the field of `At` that varies; of several the one that figures are plotted against
    order: str  # in words

    def plan(self) -> Plan:
        """What it was asked for, so that it can be gone through again (`experiments.kinds`)."""

    def points(self) -> Sequence[At]:
        """Those known beforehand, the largest at least; raises UsageError when the plan makes no sense."""

    def run(self, measure: Measure) -> Findings:
        """Measure everything."""


A = TypeVar("A", bound=At)


class Grid:
    """A kind whose points are all known."""

    def __init__(self, name: str, axis: str, points: Sequence[At], *, repeats: int, seed: int) -> None:
        self.name, self.axis = name, axis
        self.order = f"random within each round of repeats, seed {seed}"
        self._points, self._repeats, self._seed = tuple(points), repeats, seed

    def plan(self) -> Plan:
        """Points, repeats and seed."""
        points = tuple(point.values() for point in self._points)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed)

    def points(self) -> Sequence[At]:
        """All of them."""
        return self._points

    def run(self, measure: Measure) -> Findings:
        """Round by round."""
        runs: dict[At, list[Run]] = {point: [] for point in self._points}
        for point, repeat in shuffled(self._points, self._repeats, self._seed):
            runs[point].append(measure(point, repeat))
        return Findings(runs=runs)


def shuffled(points: Sequence[A], repeats: int, seed: int) -> list[tuple[A, int]]:
    """Every point `repeats` times, the same order for the same seed.

    Each repeat is a block that holds every point once in random order, so that a drift of the machine over the hours
    falls on all points alike.
    """
    dice = random.Random(seed)
    out = []
    for repeat in range(repeats):
        block = list(points)
        dice.shuffle(block)
        out += [(point, repeat) for point in block]
    return out


def along(base: A, axis: str, numbers: Sequence[int]) -> list[A]:
    """A load with each of these numbers on one axis, ascending and each once; raises UsageError for an empty list or a
    number under 1."""
    return [dataclasses.replace(base, **{axis: number}) for number in checked(numbers, f"--{axis}")]


def checked(numbers: Sequence[int], option: str) -> tuple[int, ...]:
    """Ascending and each once; raises UsageError for an empty list or a number under 1."""
    if not numbers or min(numbers) < 1:
        raise UsageError(f"{option} needs whole numbers of at least 1, such as 1,2,4")
    return tuple(sorted(set(numbers)))


def scale_up(bases: Sequence[At], workers: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """More and more workers, everything else of a base stays (report R1, its first table). Raises UsageError."""
    return sweep(bases, "workers", workers, repeats=repeats, seed=seed, name="scale-up")


def scale_out(bases: Sequence[At], databases: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """More and more database servers under the same workers (report R1, its second table).

    R1's way is one job over the same data set on each database, all at once; `--shard` spreads one data set instead. Raises UsageError.
    """
    return sweep(bases, "databases", databases, repeats=repeats, seed=seed, name="scale-out")


def sweep(
    bases: Sequence[At], axis: str, numbers: Sequence[int], *, repeats: int, seed: int, name: str = "sweep"
) -> Grid:
    """All numbers on one axis for the first base, then for the next, such as clients on each of several filers. Raises UsageError."""
    points = [at for base in bases for at in along(base, axis, numbers)]
    return Grid(name, axis, points, repeats=repeats, seed=seed)


PROFILE = "profile"
_MOST_LOAD = 1_000_000


class Cases(Grid):
    """A kind whose points a profile names; then `search`, of a figure of the workload `about`. Raises UsageError for a search that
    names none."""

    def __init__(
        self, axis: str, points: Sequence[At], *, repeats: int, seed: int, search: Search | None = None,
        about: About | None = None,
    ) -> None:  # fmt: skip
        super().__init__(PROFILE, axis, tuple(dict.fromkeys(points)), repeats=repeats, seed=seed)
        self._search = search
        if search is None:
            return
        self.order += "; then a search, doubling, then halving the gap"
        figures = [] if about is None else [one for one in about.figures if one.name == search.figure]
        if about is None or not figures or search.axis not in search.base:
            raise UsageError("a search has a figure of its workload and an axis of its load")
        self._figure, self._base = figures[0], decode(about.load_type, search.base, "search.base")

    def plan(self) -> Plan:
        """Points, repeats and seed, and what is searched for."""
        return dataclasses.replace(super().plan(), search=self._search)

    def points(self) -> Sequence[At]:
        """All that are known beforehand, and both ends of the search."""
        if self._search is None:
            return self._points
        if not 1 <= self._search.least <= self._search.most <= _MOST_LOAD:
            raise UsageError(f"a search requires loads from 1 to {_MOST_LOAD:,}, the highest of at least its first")
        return [*self._points, self._at(self._search.least), self._at(self._search.most)]

    def run(self, measure: Measure) -> Findings:
        """Round by round, then the search."""
        findings = super().run(measure)
        if self._search is not None:
            found = self._searched(self._search, measure)
            findings.runs.update((self._at(load), found[load]) for load in sorted(found))
        return findings

    def _at(self, load: int) -> At:
        assert self._search is not None
        return dataclasses.replace(self._base, **{self._search.axis: load})

    def _searched(self, search: Search, measure: Measure) -> dict[int, list[Run]]:
        tried: dict[int, list[Run]] = {}

        def kept(load: int) -> bool:
            tried[load] = [measure(self._at(load), repeat) for repeat in range(self._repeats)]
            return self.value(tried[load]) <= search.bound

        good, bad, load = 0, None, search.least
        while bad is None:
            if kept(load):
                good = load
                if load >= search.most:
                    break
                load = min(2 * load, search.most)
            else:
                bad = load
        while bad is not None and bad - good > max(1.0, search.within * good):
            middle = (good + bad) // 2
            if kept(middle):
                good = middle
            else:
                bad = middle
        return tried

    def value(self, runs: Sequence[Run]) -> float:
        """The median of the bounded figure; without any beyond every bound."""
        values = self._figure.values(runs)
        return statistics.median(values) if values else float("inf")


_GAIN = 1.05  # rate over the best so far that makes another doubling worth its time
_UNITS = {"us": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
_BOUND = re.compile(r"([a-z]+)=([0-9]{1,9}(?:\.[0-9]{1,6})?)(us|ms|s)")


def parse_bounds(text: str) -> dict[str, float]:
    """`read=20ms,write=40ms` as op → microseconds; raises UsageError when it is not that."""
    out: dict[str, float] = {}
    known = [op.label for op in Op]
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = _BOUND.fullmatch(part)
        if match is None or not float(match[2]):
            raise UsageError(f"--max-p99: {part!r} is not OP=TIME; write read=20ms,write=40ms (us, ms or s)")
        if match[1] not in known:
            raise UsageError(f"--max-p99: there is no op {match[1]!r}; use {', '.join(known)}")
        out[match[1]] = float(match[2]) * _UNITS[match[3]]
    if not out:
        raise UsageError("--max-p99 needs at least one bound, such as read=20ms")
    return out


class KneeSearch:
    """Load is the number on one axis; everything else of the base stays."""

    name = "knee"
    order = "that of the search: doubling, then halving the gap at the knee; the repeats of a point follow each other"

    def __init__(
        self,
        base: At,
        axis: str,
        bounds_us: Mapping[str, float],
        *,
        most: int,
        repeats: int,
        rate: Callable[[Run], float],
    ) -> None:
        self.axis = axis
        self._base, self._bounds, self._most, self._repeats, self._rate_of = base, dict(bounds_us), most, repeats, rate
        self._runs: dict[int, list[Run]] = {}  # by load
        self._broken: dict[int, str | None] = {}  # load → what broke

    def plan(self) -> Plan:
        """Where the search starts, how far it may go, and what bounds it."""
        return Plan(
            kind=self.name,
            axis=self.axis,
            points=(self._base.values(),),
            repeats=self._repeats,
            most=self._most,
            bounds_us=self._bounds,
        )

    def points(self) -> Sequence[At]:
        """The least load and the most."""
        if self._most < 1:
            raise UsageError(f"--max-{self.axis} must be at least 1")
        return [self._at(load) for load in sorted({1, self._most})]

    def run(self, measure: Measure) -> Findings:
        """Each load is tried once, with all its repeats."""
        self._runs, self._broken = {}, {}
        good, bad = self._double(measure)
        while bad is not None and bad - good > 1:
            middle = (good + bad) // 2
            if self._look(middle, measure) is None:
                good = middle
            else:
                bad = middle
        return Findings(
            runs={self._at(load): self._runs[load] for load in sorted(self._runs)}, knee=self._knee(good, bad)
        )

    def _at(self, load: int) -> At:
        return dataclasses.replace(self._base, **{self.axis: load})

    def _double(self, measure: Measure) -> tuple[int, int | None]:
        """The most load that kept the bounds (0: none), and the least that broke one, if any."""
        good, bad, load, best = 0, None, 1, 0.0
        while True:
            broken = self._look(load, measure)
            if broken is None and bad is None:
                good = load
            elif bad is None:
                bad = load
            rate = self._rate(load)
            if load >= self._most or (bad is not None and rate < best * _GAIN):
                return good, bad
            best, load = max(best, rate), min(2 * load, self._most)

    def _rate(self, load: int) -> float:
        return statistics.median(self._rate_of(run) for run in self._runs[load])

    def _look(self, load: int, measure: Measure) -> str | None:
        self._runs[load] = [measure(self._at(load), repeat) for repeat in range(self._repeats)]
        where = f"{load} {self.axis if load > 1 else self.axis.removesuffix('s')}"
        self._broken[load] = broken_bound(self._runs[load], self._bounds, where)
        return self._broken[load]

    def _knee(self, good: int, bad: int | None) -> Knee:
        loads = sorted(self._runs)
        rates = [self._rate(load) for load in loads]
        return Knee(
            bounds_us=self._bounds,
            peak=rates.index(max(rates)),
            knee=loads.index(good) if good else None,
            broken=None if bad is None else self._broken[bad],
        )


def broken_bound(runs: Sequence[Run], bounds_us: Mapping[str, float], where: str) -> str | None:
    """The bound that is most exceeded by the median p99 of the runs, in words; None when all are kept."""
    worst: tuple[float, str] | None = None
    for op, bound in bounds_us.items():
        values = [run.latency[op].p99_us for run in runs if op in run.latency]
        if not values or (p99 := statistics.median(values)) <= bound:
            continue
        text = f"{op} p99 {p99 / 1000:.2f} ms over {bound / 1000:.2f} ms at {where}"
        worst = max(worst or (0.0, ""), (p99 / bound, text))
    return worst[1] if worst else None


class LoadLevels:
    """A load has `percent`, of the `peak`, calls a second; both are 0 of runs as fast as they go."""

    name = "load"
    axis = "percent"

    def __init__(
        self,
        base: At,
        levels: int,
        *,
        repeats: int,
        seed: int,
        rate: Callable[[Run], float],
        peak: int | None = None,
    ) -> None:
        self.order = f"the peak's runs first, if any; then levels, random within each round of repeats, seed {seed}"
        self._base, self._levels, self._repeats, self._seed, self._rate = base, levels, repeats, seed, rate
        self._peak = peak

    def plan(self) -> Plan:
        """The number of levels, and the peak where it was given."""
        points: tuple[dict[str, Any], ...] = (self._base.values(),)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed,
                    levels=self._levels, peak=self._peak)  # fmt: skip

    def points(self) -> Sequence[At]:
        """The point that the peak is found at, or all levels of a given peak."""
        if not LEAST_LEVELS <= self._levels <= MOST_LEVELS:
            raise UsageError(f"--levels can be from {LEAST_LEVELS} to {MOST_LEVELS}")
        if self._peak is None:
            return [self._at(0, 0)]
        if self._peak < 1:
            raise UsageError("--peak must be at least 1 call/s")
        return self._all(self._peak)

    def run(self, measure: Measure) -> Findings:
        """The peak, then its levels."""
        runs: dict[At, list[Run]] = {}
        peak = self._peak
        if peak is None:
            top = self._at(0, 0)
            runs[top] = [measure(top, repeat) for repeat in range(self._repeats)]
            peak = max(1, round(statistics.median(map(self._rate, runs[top]))))
        levels = self._all(peak)
        runs |= {level: [] for level in levels}
        for level, repeat in shuffled(levels, self._repeats, self._seed):
            runs[level].append(measure(level, repeat))
        return Findings(runs=runs, peak=peak)

    def _all(self, peak: int) -> list[At]:
        return [self._at(round(100 * number / self._levels), peak) for number in range(1, self._levels + 1)]

    def _at(self, percent: int, peak: int) -> At:
        return dataclasses.replace(self._base, **{self.axis: percent, "peak": peak})


_STAGE = re.compile(r"([0-9]{1,4})x([0-9]{1,9}(?:\.[0-9]{1,3})?)(s|m|h)")
_TIMES = {"s": 1.0, "m": 60.0, "h": 3_600.0}
_MOST_RUNS = 10_000  # of a stage

Stage = tuple[int, float]  # load and seconds


def parse_stages(text: str, axis: str) -> Stages:
    """`1x5m,4x10m` as stages on an axis; raises UsageError."""
    out: list[Stage] = []
    for part in (one.strip() for one in text.split(",")):
        match = _STAGE.fullmatch(part)
        if match is None:
            raise UsageError(f"--stages: {part[:40]!r} is not LOADxTIME; write 1x5m,4x10m (s, m or h)", field="stages")
        out.append((int(match[1]), float(match[2]) * _TIMES[match[3]]))
    stages = Stages(axis, out)
    stages.check()
    return stages


class Stages:
    """Load that changes by time: so much on one axis for at least so long, then the next; everything else of the base stays.

    A workload's runs end by themselves, so a stage repeats its run until their elapsed times add up to its duration; the last run is
    finished. Stages keep their order: the state that one leaves in caches and on the storage is what the next begins with.
    """

    name = "stages"
    order = "that of the stages; a stage repeats its run until its time is over"

    def __init__(self, axis: str, stages: Sequence[Stage], base: At | None = None) -> None:
        """`base`: the load of which one number is replaced; None: not known yet (`on`)."""
        self.axis, self._stages, self._base = axis, tuple(stages), base

    def on(self, base: At) -> Stages:
        """The same stages of this load."""
        return Stages(self.axis, self._stages, base)

    @property
    def loads(self) -> list[int]:
        """Of each stage."""
        return [load for load, _ in self._stages]

    def check(self) -> None:
        """Raises UsageError for stages that make no sense."""
        if not self._stages or min(self.loads) < 1 or not all(0 < time <= MOST_SECONDS for _, time in self._stages):
            raise UsageError("--stages: a stage has a load of at least 1 and a time above 0", field="stages")
        if len(set(self.loads)) < len(self._stages):
            raise UsageError("--stages: two stages have the same load; give each load once", field="stages")

    def plan(self) -> Plan:
        """The base and the stages."""
        points = () if self._base is None else (self._base.values(),)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=1, stages=self._stages)

    def points(self) -> Sequence[At]:
        """One for each stage."""
        self.check()
        return [self._at(load) for load, _ in self._stages]

    def run(self, measure: Measure) -> Findings:
        """Stage by stage."""
        runs: dict[At, list[Run]] = {}
        for load, seconds in self._stages:
            own = runs.setdefault(self._at(load), [])
            while sum(run.elapsed_s for run in own) < seconds and len(own) < _MOST_RUNS:
                own.append(measure(self._at(load), len(own)))
        return Findings(runs=runs)

    def _at(self, load: int) -> At:
        if self._base is None:
            raise ValueError("the stages have no load yet")
        return dataclasses.replace(self._base, **{self.axis: load})


class Halving:
    """The best of several settings by successive halving, and what it gains over the default, the first of `points`.

    Each round measures every setting that is left, and twice as often as the round before; the better half by the median of the
    workload's rate stays (K. Jamieson and A. Talwalkar, AISTATS 2016, with repeats as the resource). A setting that won by chance
    would look better than it is, so that the last one and the default are run again, `repeats` times, and only these are compared.
    """

    name = "tune"
    axis = "setting"

    def __init__(self, points: Sequence[At], *, repeats: int, seed: int, rate: Callable[[Run], float]) -> None:
        self.order = (
            f"random within each round of repeats, seed {seed}; rounds of successive halving, then the comparison"
        )
        self._points, self._repeats, self._seed, self._rate = tuple(points), repeats, seed, rate

    def plan(self) -> Plan:
        """Settings, repeats and seed."""
        points = tuple(point.values() for point in self._points)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed)

    def points(self) -> Sequence[At]:
        """All settings. Raises UsageError where there is nothing to compare."""
        if len(set(self._points)) < max(2, len(self._points)):
            raise UsageError("tune requires settings that differ from the default and from each other")
        return self._points

    def run(self, measure: Measure) -> Findings:
        """The rounds, then the comparison."""
        runs: dict[At, list[Run]] = {point: [] for point in self._points}
        left, rounds, times = list(self._points[1:]), list[tuple[int, ...]](), 1
        while len(left) > 1:
            rounds.append(tuple(self._points.index(point) for point in left))
            self._measure(left, times, runs, measure)
            left.sort(key=lambda point: -statistics.median(map(self._rate, runs[point])))
            left, times = left[: -(-len(left) // 2)] if len(left) > 2 else left[:1], 2 * times
        self._measure([self._points[0], left[0]], self._repeats, runs, measure)
        tuning = Tuning(default=0, best=self._points.index(left[0]), rounds=tuple(rounds), compared=self._repeats)
        return Findings(runs=runs, tuning=tuning)

    def _measure(self, points: Sequence[At], times: int, runs: dict[At, list[Run]], measure: Measure) -> None:
        for point, _ in shuffled(points, times, self._seed + sum(map(len, runs.values()))):
            runs[point].append(measure(point, len(runs[point])))


_MOST = 10_000  # repeats, or points: a plan from elsewhere is not gone through for ever


def kind_of(plan: Plan, about: About) -> Kind:
    """The kind whose plan it is; raises UsageError for a plan that none has."""
    if not 1 <= plan.repeats <= _MOST or len(plan.points) > _MOST:
        raise UsageError(
            f"the plan has {len(plan.points):,} points and {plan.repeats:,} repeats; at most {_MOST:,} are allowed"
        )
    points = [decode(about.load_type, at, "plan.points") for at in plan.points]
    if plan.kind == KneeSearch.name:
        if plan.most is None or plan.bounds_us is None or len(points) != 1:
            raise UsageError("the plan of a knee has a start, bounds and a highest load")
        return KneeSearch(points[0], plan.axis, plan.bounds_us, most=plan.most, repeats=plan.repeats, rate=about.rate)
    if plan.kind == LoadLevels.name:
        if plan.levels is None or plan.seed is None or len(points) != 1:
            raise UsageError("the plan of a load has a start, levels and a seed")
        load = LoadLevels(points[0], plan.levels, repeats=plan.repeats, seed=plan.seed, rate=about.rate, peak=plan.peak)
        load.points()  # refuses what no command makes
        return load
    if plan.kind == Stages.name:
        if not plan.stages or len(points) != 1 or len(plan.stages) > _MOST:
            raise UsageError("the plan of stages has a start and stages")
        stages = Stages(plan.axis, plan.stages, points[0])
        stages.points()
        return stages
    if plan.kind == Halving.name and plan.seed is not None:
        halving = Halving(points, repeats=plan.repeats, seed=plan.seed, rate=about.rate)
        halving.points()
        return halving
    if plan.kind == PROFILE and plan.seed is not None and (points or plan.search):
        cases = Cases(plan.axis, points, repeats=plan.repeats, seed=plan.seed, search=plan.search, about=about)
        cases.points()  # refuses what no command makes
        return cases
    if plan.seed is None or not points:
        raise UsageError(f"the plan of a {plan.kind} has points and a seed")
    return Grid(plan.kind, plan.axis, points, repeats=plan.repeats, seed=plan.seed)

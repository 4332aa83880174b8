"""Knee: raise the load until a bound on latency by op is broken, and on until no more is gained.

The load is doubled until the median p99 of an op is over its bound and another doubling gives less than 5 % more of the
workload's rate, or the most is reached; then the gap between the last point that kept all bounds and the first that
broke one is halved until they are neighbours. So the order of the points is that of a search and not random; repeats of
a point follow each other.
"""

from __future__ import annotations

import dataclasses
import re
import statistics
from collections.abc import Callable, Mapping, Sequence

from core.errors import UsageError
from core.operations import Op
from experiments.kinds.kind import Findings, Measure, Plan
from experiments.result.schema import At, Knee, Run

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

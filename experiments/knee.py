"""Knee: raise the load until a bound on latency by op is broken, and on until no more is gained.

The number of workers is doubled until the median p99 of an op is over its bound and another doubling gives less than 5 %
more GB/hour, or `max_workers` is reached; then the gap between the last point that kept all bounds and the first that
broke one is halved until they are neighbours. So the order of the points is that of a search and not random; repeats of
a point follow each other.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence

from core.errors import UsageError
from core.operations import Op
from experiments.base import Findings, Measure, PointSpec
from experiments.result import Knee, Run

_GAIN = 1.05  # GB/hour over the best so far that makes another doubling worth its time
_UNITS = {"us": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
_BOUND = re.compile(r"([a-z]+)=([0-9]+(?:\.[0-9]+)?)(us|ms|s)")


def parse_bounds(text: str) -> dict[str, float]:
    """`read=20ms,write=40ms` as op → microseconds; raises UsageError when it is not that."""
    out: dict[str, float] = {}
    known = [op.label for op in Op]
    for part in filter(None, (p.strip() for p in text.split(","))):
        found = _BOUND.fullmatch(part)
        if found is None or not float(found[2]):
            raise UsageError(f"--max-p99: {part!r} is not OP=TIME; write read=20ms,write=40ms (us, ms or s)")
        if found[1] not in known:
            raise UsageError(f"--max-p99: there is no op {found[1]!r}; it can be {', '.join(known)}")
        out[found[1]] = float(found[2]) * _UNITS[found[3]]
    if not out:
        raise UsageError("--max-p99 needs at least one bound, such as read=20ms")
    return out


class KneeSearch:
    """Load is the number of workers; slots of each stay."""

    kind = "knee"

    def __init__(self, bounds_us: Mapping[str, float], *, max_workers: int, slots: int, repeats: int) -> None:
        self._bounds = dict(bounds_us)
        self._most, self._slots, self._repeats = max_workers, slots, repeats
        self._runs: dict[PointSpec, list[Run]] = {}
        self._broken: dict[int, str | None] = {}  # workers → what broke

    def prepare(self) -> Sequence[PointSpec]:
        if self._most < 1:
            raise UsageError("--max-workers must be at least 1")
        return [PointSpec(1, 1, self._slots), PointSpec(1, self._most, self._slots)]

    def run(self, measure: Measure) -> Findings:
        good, bad = self._double(measure)
        while bad is not None and bad - good > 1:
            middle = (good + bad) // 2
            if self._look(middle, measure) is None:
                good = middle
            else:
                bad = middle
        return Findings(runs=self._runs, knee=self._knee(good, bad))

    def clean_up(self) -> None:
        self._runs, self._broken = {}, {}

    def _double(self, measure: Measure) -> tuple[int, int | None]:
        """Most workers that kept the bounds (0: none), and the fewest that broke one, if any."""
        good, bad, workers, best = 0, None, 1, 0.0
        while True:
            broken = self._look(workers, measure)
            if broken is None and bad is None:
                good = workers
            elif bad is None:
                bad = workers
            rate = self._rate(PointSpec(1, workers, self._slots))
            if workers >= self._most or (bad is not None and rate < best * _GAIN):
                return good, bad
            best, workers = max(best, rate), min(2 * workers, self._most)

    def _rate(self, spec: PointSpec) -> float:
        return statistics.median(run.gb_per_hour_discovered for run in self._runs[spec])

    def _look(self, workers: int, measure: Measure) -> str | None:
        spec = PointSpec(1, workers, self._slots)
        self._runs[spec] = [measure(spec, repeat) for repeat in range(self._repeats)]
        self._broken[workers] = broken_bound(self._runs[spec], self._bounds, workers)
        return self._broken[workers]

    def _knee(self, good: int, bad: int | None) -> Knee:
        order = sorted(self._runs)
        rates = [self._rate(spec) for spec in order]
        return Knee(
            bounds_us=self._bounds,
            peak=rates.index(max(rates)),
            knee=next((i for i, spec in enumerate(order) if spec.workers == good), None),
            broken=None if bad is None else self._broken[bad],
        )


def broken_bound(runs: Sequence[Run], bounds_us: Mapping[str, float], workers: int) -> str | None:
    """The bound that is most exceeded by the median p99 of the runs, in words; None when all are kept."""
    worst: tuple[float, str] | None = None
    for op, bound in bounds_us.items():
        values = [run.latency[op].p99_us for run in runs if op in run.latency]
        if not values or (p99 := statistics.median(values)) <= bound:
            continue
        text = (
            f"{op} p99 {p99 / 1000:.2f} ms over {bound / 1000:.2f} ms at {workers} worker{'s' if workers > 1 else ''}"
        )
        worst = max(worst or (0.0, ""), (p99 / bound, text))
    return worst[1] if worst else None

"""What report R1 says, held against a study of its three rows, each with its tolerance."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.report.views import middle
from experiments.workloads.discovery.result import Point, Result, Run

_PEAK = 0.9  # of a run's peak: from there on it counts as the plateau
_HELD = 0.05  # of a run's time, that a peak is the mean over: R1's was held for a tenth; calls are booked in bursts
_SAMPLE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure of the report."""

    what: str
    r1: str
    ours: str
    tolerance: str
    passed: bool | None  # None: this result has not what it takes


def checks(result: Result) -> list[Check]:
    """In the order of the report; of the median run of each point where it is about a course in time."""
    times = time_scale(result)
    at = {(point.databases, point.workers): point for point in result.points}
    ten, thirty, two = at.get((1, 10)), at.get((1, 30)), at.get((2, 30))
    found: list[Check] = []
    if ten and thirty:
        found.append(_ratio("30 over 10 workers, GB/hour", 1.35, thirty, ten))
    if thirty and two:
        found.append(_ratio("two databases over one, GB/hour", 1.49, two, thirty))
    for point, peak in ((ten, 27_000.0), (thirty, 39_000.0)):
        if point:
            found.append(_peak(point, peak, times))
    if thirty:
        found += _course(thirty, times)
    if thirty and two:
        found.append(_longer(thirty, two, times))
    return found


def verdict(check: Check) -> str:
    """Of one check, in a word."""
    return "not known" if check.passed is None else "pass" if check.passed else "FAIL"


def _ratio(what: str, r1: float, above: Point, below: Point) -> Check:
    rate = below.gb_per_hour_discovered.median
    ours = above.gb_per_hour_discovered.median / rate if rate else 0.0
    return Check(
        what=what, r1=f"{r1:.2f} x", ours=f"{ours:.2f} x", tolerance="within 5 %", passed=abs(ours / r1 - 1) <= 0.05
    )


def _peak(point: Point, r1: float, times: float) -> Check:
    run = middle(point.repeats)
    ops = filer_ops(run, times)
    peak = peak_of(ops)
    return Check(
        what=f"peak with {point.workers} workers, filer ops/s",
        r1=f"about {r1:,.0f}",
        ours=f"{peak:,.0f}" if ops else "not known",
        tolerance="within 10 %",
        passed=abs(peak / r1 - 1) <= 0.10 if ops else None,
    )


def _course(point: Point, times: float) -> list[Check]:
    run = middle(point.repeats)
    ops = filer_ops(run, times)
    middle_rate, end_rate = (
        mean_between(ops, run.elapsed_s * a, run.elapsed_s * b) for a, b in ((0.4, 0.6), (0.8, 1.0))
    )
    peak = peak_of(ops)
    falls = peak > middle_rate > end_rate
    units = [_units(run, 0.0, 0.1), _units(run, 0.8, 0.98)]
    top, last = units
    written, later = _rows(run)
    return [
        Check(
            what="filer ops/s fall after the peak", r1="39,000, then about 20,000, then 10,000",
            ours=f"{peak:,.0f}, {middle_rate:,.0f}, {end_rate:,.0f}", tolerance="in this order", passed=falls if ops else None,
        ),
        Check(
            what="metadata and data unit at the peak", r1="99 and 60 %", ours=_percents(top), tolerance="within 10 points",
            passed=None if top is None else abs(top[0] - 0.99) <= 0.10 and abs(top[1] - 0.60) <= 0.10,
        ),
        Check(
            what="data unit busier than metadata at the end", r1="yes", ours=_percents(last), tolerance="yes or no",
            passed=None if last is None else last[1] > last[0],
        ),
        Check(
            what="rows/s of the database once primary discovery is done, of its peak", r1="falls sharply, stays low",
            ours=f"{later / written:.0%}" if written else "not known", tolerance="at most half",
            passed=later / written <= 0.5 if written else None,
        ),
    ]  # fmt: skip


def _longer(one: Point, two: Point, times: float) -> Check:
    runs = [middle(point.repeats) for point in (one, two)]
    lengths = [plateau(ops := filer_ops(run, times), peak_of(ops)) for run in runs]
    ratio = lengths[1] / lengths[0] if lengths[0] else 0.0
    return Check(
        what="plateau with two databases over that with one",
        r1="1.5 x (45 and 30 min)",
        ours=f"{ratio:.1f} x ({lengths[1]:.0f} and {lengths[0]:.0f} s)",
        tolerance="within 35 %",
        passed=abs(ratio / 1.5 - 1) <= 0.35 if lengths[0] else None,
    )


def time_scale(result: Result) -> float:
    """Seconds that a second of the site took here; 1 where no site was emulated."""
    numbers = (result.conditions.get("emulated_filer") or {}).get("numbers") or {}
    return float((numbers.get("site") or {}).get("time_scale", 1.0))


def filer_ops(run: Run, times: float) -> list[tuple[float, float]]:
    """(seconds here, filer ops a second of the site's time since the sample before), of metadata and data unit together."""
    out = []
    for (before, _), (at, stations) in itertools.pairwise(run.series.filer):
        counted = [
            stations[name]["filer_ops"] for name in ("metadata", "data") if "filer_ops" in stations.get(name, {})
        ]
        if counted and at > before:
            out.append((at, times * sum(counted) / (at - before)))
    return out


def peak_of(ops: Sequence[tuple[float, float]]) -> float:
    """The highest rate that was held for a twentieth of the run."""
    number = max(1, round(len(ops) * _HELD))
    rates = [rate for _, rate in ops]
    return max((statistics.fmean(rates[n : n + number]) for n in range(len(rates) - number + 1)), default=0.0)


def plateau(ops: Sequence[tuple[float, float]], peak: float) -> float:
    """Seconds during which the rate was near its peak."""
    return sum(at - before for (before, _), (at, rate) in itertools.pairwise(ops) if rate >= _PEAK * peak)


def mean_between(series: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """Of the samples there; 0 where there are none."""
    found = [value for at, value in series if start <= at <= end]
    return statistics.fmean(found) if found else 0.0


def _units(run: Run, first: float, last: float) -> tuple[float, float] | None:
    """Mean utilisation of metadata and data unit between two shares of the run's time; at its beginning, of its busiest
    tenth."""
    seconds = [
        (at, stations["metadata"]["utilisation"], stations["data"]["utilisation"])
        for at, stations in run.series.filer
        if {"metadata", "data"} <= stations.keys()
    ]
    if first == 0.0:
        chosen = sorted(seconds, key=lambda one: -one[1] - one[2])[: max(1, int(len(seconds) * last))]
    else:
        chosen = [one for one in seconds if run.elapsed_s * first <= one[0] <= run.elapsed_s * last]
    if not chosen:
        return None
    return statistics.fmean(one[1] for one in chosen), statistics.fmean(one[2] for one in chosen)


def _percents(units: tuple[float, float] | None) -> str:
    return "not known" if units is None else f"{units[0]:.0%} and {units[1]:.0%}"


def _rows(run: Run) -> tuple[float, float]:
    """Rows a second at the peak, and on average once phase index has begun."""
    rates: list[tuple[float, float]] = []
    for (before, _), (at, by_database) in itertools.pairwise(run.series.database_activity):
        if at > before:
            rates.append((at, sum(one.get("rows", 0) for one in by_database.values()) / (at - before)))
    index = min((phase.start_s for phase in run.phases if phase.phase == "index"), default=run.elapsed_s)
    later = mean_between(rates, index + _SAMPLE_S, run.elapsed_s)
    return max((rate for _, rate in rates), default=0.0), later

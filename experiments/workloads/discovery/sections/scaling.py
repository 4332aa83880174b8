"""Speed-up and efficiency against workers, with a fit of the Universal Scalability Law if there are enough points.

X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1))

λ is the throughput of one worker, σ the share that queues for something (contention), κ the cost of keeping workers in
agreement (coherency); N. J. Gunther, Guerrilla Capacity Planning, 2007, ch. 4. The law is linear in 1/λ, σ/λ and κ/λ
once N/X is taken, so least squares need no search. Each observation is weighted so that *relative* errors of the
throughput count the same at every N."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.plain import grouped
from experiments.report import words
from experiments.report.parts import Cell, Column, Part, Parts, Plot, note, plotted, section, tabled
from experiments.report.plots import Axes, counts_on_x, figure_of, from_zero
from experiments.report.style import FAINT, line_style, marker, series_colour
from experiments.result.statistics import ratio_of
from experiments.workloads.discovery.result import RATE, Point, Result

LEAST_POINTS = 6  # different worker counts; with fewer, three parameters fit anything
# Student's t, 97.5 %, for 1 … 30 degrees of freedom; the normal value beyond.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UslFit:
    """The three parameters; `peak` is the number of workers with the highest throughput, 0 if each one that is added
    lowers it, None if it only flattens."""

    rate: Estimate  # λ, in the unit of the throughput
    contention: Estimate  # σ
    coherency: Estimate  # κ
    peak: float | None

    def throughput(self, workers: float) -> float:
        """Return the law's throughput for that many workers."""
        n = workers
        return self.rate.value * n / (1 + self.contention.value * (n - 1) + self.coherency.value * n * (n - 1))


def t_975(degrees: int) -> float:
    """Return Student's t for a two-sided 95 % interval."""
    return _STUDENT[degrees - 1] if degrees <= len(_STUDENT) else 1.96


def fit_usl(observations: Sequence[tuple[float, float]]) -> UslFit | None:
    """Fit (workers, throughput) pairs, each repeat its own pair.

    None with fewer than `LEAST_POINTS` different worker counts, or when the pairs do not determine the law."""
    usable = [(n, x) for n, x in observations if n > 0 and x > 0 and math.isfinite(x)]
    if len({n for n, _ in usable}) < LEAST_POINTS:
        return None
    n = np.array([pair[0] for pair in usable], dtype=np.float64)
    x = np.array([pair[1] for pair in usable], dtype=np.float64)
    # N/X = a + b (N − 1) + c N (N − 1), each row divided by N/X: the residual is the relative error.
    rows = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) * (x / n)[:, None]
    solution, _, rank, _ = np.linalg.lstsq(rows, np.ones_like(n))
    if rank < 3 or solution[0] <= 0:
        return None
    degrees = len(usable) - 3
    residual = np.ones_like(n) - rows @ solution
    covariance = float(residual @ residual) / degrees * np.linalg.inv(rows.T @ rows)
    a, b, c = (float(value) for value in solution)
    t = t_975(degrees)

    def estimate(value: float, gradient: Sequence[float]) -> Estimate:
        g = np.array(gradient)
        half = t * math.sqrt(max(0.0, float(g @ covariance @ g)))  # delta method
        return Estimate(value=value, low=value - half, high=value + half)

    contention, coherency = b / a, c / a
    return UslFit(
        rate=estimate(1 / a, (-1 / a**2, 0.0, 0.0)),
        contention=estimate(contention, (-b / a**2, 1 / a, 0.0)),
        coherency=estimate(coherency, (-c / a**2, 0.0, 1 / a)),
        peak=math.sqrt(max(0.0, 1 - contention) / coherency) if coherency > 0 else None,
    )


@section("scaling", "Speed-up and efficiency against workers")
def scaling(result: Result) -> Parts:
    """Show one curve for each number of databases, slots and setting that was run with two worker counts or more."""
    groups = _groups(result)
    if not groups:
        return "every point has the same number of workers, so there is nothing to scale against."
    fits = {
        key: fit_usl(
            [(float(point.at.workers), run.gb_per_hour_discovered) for point in points for run in point.repeats]
        )
        for key, points in groups.items()
    }
    plot = _plot(groups, fits, result)
    parts: list[Part] = [plot]
    for key, points in groups.items():
        fit = fits[key]
        if fit is not None:
            parts += _fit_table(fit, _name(key, result) or "all points")
        else:
            parts.append(note(_why_no_fit(points)))
    return tuple(parts)


_Key = tuple[int, int, str | None]
_Line = Sequence[tuple[int, float, float | None, float | None]]  # workers, a multiple or share, its interval


def _groups(result: Result) -> dict[_Key, list[Point]]:
    groups = grouped(result.points, lambda point: (point.at.databases, point.at.slots, point.at.setting))
    return {
        key: sorted(points, key=lambda point: point.at.workers)
        for key, points in groups.items()
        if len({point.at.workers for point in points}) > 1
    }


def _name(key: _Key, result: Result) -> str:
    databases, slots, setting = key
    parts = (
        (words.many(databases, "database"), "databases"),
        (words.many(slots, "slot"), "slots"),
        (setting or "", "setting"),
    )
    return ", ".join(text for text, name in parts if len({getattr(point.at, name) for point in result.points}) > 1)


def _speed_ups(points: list[Point]) -> _Line:
    """Return (workers, speed-up, low, high): median rates over that of the fewest workers, with the interval of the
    ratio, which has the spread of both."""
    base, *rates = ([run.gb_per_hour_discovered for run in point.repeats] for point in points)
    ratios = [None, *(ratio_of(some, base) for some in rates)]
    bounds = [(None, None) if ratio is None else (ratio.low, ratio.high) for ratio in ratios]
    least = points[0].figures[RATE].median or 1.0
    return [
        (point.at.workers, point.figures[RATE].median / least, low, high)
        for point, (low, high) in zip(points, bounds, strict=True)
    ]


def _plot(groups: dict[_Key, list[Point]], fits: dict[_Key, UslFit | None], result: Result) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with figure_of(2) as (figure, (left, right)):
        every = [point.at.workers for points in groups.values() for point in points]
        for number, (key, points) in enumerate(groups.items()):
            first = points[0].at.workers
            values = _speed_ups(points)
            workers = [value[0] for value in values]
            _curve(left, number, values, _name(key, result) or "measured")
            _curve(right, number, [(n, s * first / n * 100, lo and lo * first / n * 100, hi and hi * first / n * 100)
                                   for n, s, lo, hi in values], None)  # fmt: skip
            rows += [(*key, n, s, lo, hi, s * first / n) for n, s, lo, hi in values]
            fit = fits[key]
            if fit is not None:
                _law(left, fit, workers, points[0].figures[RATE].median, number)
            left.plot(workers, [n / first for n in workers], color=FAINT.light, linewidth=1, linestyle=(0, (1, 2)),
                      label="linear" if number == 0 else None)  # fmt: skip
        smallest = min(every)
        counts_on_x(left, every, "workers")
        counts_on_x(right, every, "workers")
        left.set_ylabel(f"speed-up over {words.many(smallest, 'worker')} (×)")
        right.set_ylabel("efficiency (% of linear)")
        from_zero(left)
        from_zero(right)
        left.legend(loc="upper left")
    header = ("databases", "slots", "setting", "workers", "speed_up", "speed_up_low", "speed_up_high", "efficiency")
    return plotted("scaling", figure, _sentence(groups, result), header, rows)


def _curve(axes: Axes, number: int, values: _Line, label: str | None) -> None:
    below = [max(0.0, value[1] - value[2]) if value[2] is not None else 0.0 for value in values]
    above = [max(0.0, value[3] - value[1]) if value[3] is not None else 0.0 for value in values]
    axes.errorbar([value[0] for value in values], [value[1] for value in values], yerr=[below, above], color=series_colour(number), marker=marker(number),
                  markersize=5, linestyle=line_style(number), capsize=3, elinewidth=1, label=label)  # fmt: skip


def _law(axes: Axes, fit: UslFit, workers: list[int], base: float, number: int) -> None:
    if not base:
        return
    at = np.linspace(workers[0], workers[-1], 120)
    axes.plot(at, [fit.throughput(float(n)) / base for n in at], color=series_colour(number), linewidth=1, alpha=0.7,
              label="Universal Scalability Law")  # fmt: skip


def _sentence(groups: dict[_Key, list[Point]], result: Result) -> str:
    clauses = []
    for key, points in groups.items():
        first, last = points[0].at, points[-1].at
        _, speed_up, low, high = _speed_ups(points)[-1]
        name = _name(key, result)
        span = (
            f" (interval {words.figure(low)} to {words.figure(high)})" if low is not None and high is not None else ""
        )
        clauses.append(
            f"{words.many(last.workers, 'worker')}{' on ' + name if name else ''} reach {words.figure(speed_up)}× the "
            f"rate of {first.workers}{span}, an efficiency of {words.percent(speed_up * first.workers / last.workers)}"
        )
    drawn = any(value[2] is not None for points in groups.values() for value in _speed_ups(points))
    whiskers = " Whiskers are intervals of the ratio, 95 % or more;" if drawn else ""
    return f"{words.listed(clauses)}.{whiskers} {'the' if whiskers else 'The'} dotted line is linear."


def _why_no_fit(points: list[Point]) -> str:
    have = len({point.at.workers for point in points})
    if have < LEAST_POINTS:
        return (
            f"No Universal Scalability Law is fitted: it has three parameters and needs at least {LEAST_POINTS} worker "
            f"counts; this result has {have}."
        )
    return "No Universal Scalability Law is fitted: the measurements do not determine its three parameters."


def _fit_table(fit: UslFit, name: str) -> list[Part]:
    rows = [
        ("λ, discovered GB/hour of one worker", "lambda_gb_per_hour", fit.rate),
        ("σ, contention", "sigma", fit.contention),
        ("κ, coherency", "kappa", fit.coherency),
    ]
    columns: tuple[Column[tuple[str, str, Estimate]], ...] = (
        Column("parameter", "parameter", lambda row: row[1], text=True, show=lambda row: row[0]),
        Column("value", "value", lambda row: row[2].value, words.figure),
        Column("", "95 % interval", lambda row: f"{words.figure(row[2].low)} to {words.figure(row[2].high)}"),
        Column("low", None, lambda row: row[2].low),
        Column("high", None, lambda row: row[2].high),
    )
    slug = "".join(c if c.isalnum() else "-" for c in name)
    shown = tabled(f"usl-{slug}", columns, rows, caption=f"Universal Scalability Law, {name}")
    if fit.coherency.high < 0 or fit.contention.high < 0:
        end = (
            "A parameter is below zero with its whole interval: these points do not follow the law; the fit "
            "describes them and is not a forecast."
        )
    elif fit.peak is not None and fit.coherency.low > 0:
        end = f"By the law throughput peaks at {words.many(max(1, round(fit.peak)), 'worker')}."
    else:
        end = "κ is not distinguishable from zero, so the law gives no number of workers beyond which throughput falls."
    return [shown, note(end + " Least squares on relative errors of all repeats.")]

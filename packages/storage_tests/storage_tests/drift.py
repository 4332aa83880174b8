"""Tests whether a series of figures drifts: a trend, or a change at one place. They use ranks, so that nothing is
assumed about the noise.

Trend: the test of Mann and Kendall (M. G. Kendall, Rank Correlation Methods, 4th ed., 1975) with the line of Theil and
Sen. Change: Pettitt's test (A. N. Pettitt, Applied Statistics 28, 1979) at the place that it finds. Neighbours that are
alike make both see drift where there is none; their variance is raised by the correlation of neighbours, of what is
left when a curve or the change is taken away (S. Yue and C. Y. Wang, Water Resources Management 18, 2004), and both are
judged as of so few values as there are independent ones: the trend by Student's t with that many less two degrees of
freedom, since the correlation itself is only estimated (B. D. Santer et al., Journal of Geophysical Research 105,
2000). The two are judged together by Holm's procedure at 5 %. Less than RELEVANT is reported and not called drift: of
figures that hardly vary anything is significant.

Limits: under LEAST values nothing is reported, and under about 20 only a steep line is found. One place of change is
looked for. What returns (humps) is no drift. A series that wanders slowly is called drifting more often than 5 %: with
neighbours correlated by 0.9, 13 of 200 with 20 values were, and of 60."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.result.statistics import LEVEL, holm

LEAST = 10
RELEVANT = 0.02  # of the rate: two runs of one point differ by up to this
_LEAST_FREE = 16.0  # by simulation: fewer degrees of freedom lower the false alarms little, and find far less
_MOST = 1_500  # values that pairs are made of; above this, neighbours are averaged
_MOST_CORRELATION = 0.95
_DEGREE = 3  # of the curve that is taken away: a rate that falls ever more slowly is no correlation of neighbours
_BIAS = 8.0  # over n: what taking away curve or change hides of the correlation

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Result of the tests on a series."""

    values: int
    trend: float  # change along the line, from the first value to the last, ÷ the median
    trend_p: float  # of a line so steep where there is none; Holm's, as `change_p`
    change_at: int  # the first value after the change
    change: float  # median after ÷ median before − 1
    change_p: float

    @property
    def found(self) -> bool:
        """Whether there is drift, of either kind, that is large enough to matter."""
        kinds = ((self.trend_p, self.trend), (self.change_p, self.change))
        return any(p <= 1 - LEVEL and abs(share) >= RELEVANT for p, share in kinds)

    @property
    def text(self) -> str:
        """The result in words."""
        trend = f"trend {self.trend:+.1%} over the whole, p {self.trend_p:.3f}"
        change = f"change {self.change:+.1%} at value {self.change_at + 1:,} of {self.values:,}, p {self.change_p:.3f}"
        start = "drift" if self.found else "no drift"
        return f"{start}: {trend}; {change}".replace("%", " %").replace("-", "\u2212")


def drift_of(series: Sequence[float]) -> Drift | None:
    """Test a series for drift; return None with too few values."""
    if len(series) < LEAST:
        return None
    together = -(-len(series) // _MOST)
    whole = np.asarray(series[: len(series) // together * together], float)
    values = whole.reshape(-1, together).mean(axis=1)
    later, earlier = np.tril_indices(len(values), -1)
    slope = float(np.median((values[later] - values[earlier]) / (later - earlier)))  # of the lines through all pairs
    at, greatest = _pettitt(values)
    widening = _widening(values, at)
    n = len(values)
    trend_p = _trend_p(
        int(np.tril(_signs(values), -1).sum(dtype=np.int64)), _kendall_variance(values) * widening, n / widening
    )
    change_p = min(1.0, 2 * math.exp(-6 * greatest**2 / widening / (n**3 + n**2 * widening)))
    trend_p, change_p = holm([trend_p, change_p])
    middle = float(np.median(values)) or math.inf
    before, after = float(np.median(values[:at])), float(np.median(values[at:]))
    return Drift(
        values=len(series),
        trend=slope * (n - 1) / middle,
        trend_p=trend_p,
        change_at=at * together,
        change=after / before - 1 if before else 0.0,
        change_p=change_p,
    )


def _signs(values: Values) -> npt.NDArray[np.int8]:
    """Return the sign of each value less each: [later, earlier]."""
    return np.sign(values[:, None] - values[None, :]).astype(np.int8)


def _kendall_variance(values: Values) -> float:
    n = len(values)
    _, ties = np.unique(values, return_counts=True)
    return float(n * (n - 1) * (2 * n + 5) - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18


def _trend_p(statistic: int, variance: float, independent: float) -> float:
    """Return the two-sided probability of so many independent values, corrected for a statistic of whole numbers.

    Student's t is brought to the normal distribution (Abramowitz and Stegun, Handbook of Mathematical Functions,
    26.7.8)."""
    if variance <= 0:
        return 1.0
    t, free = max(0, abs(statistic) - 1) / math.sqrt(variance), max(_LEAST_FREE, independent - 2)
    return math.erfc(t * (1 - 1 / (4 * free)) / math.sqrt(1 + t * t / (2 * free)) / math.sqrt(2))


def _pettitt(values: Values) -> tuple[int, float]:
    """Return the index of the first value after the change, and the statistic there."""
    sums = np.cumsum(_signs(values).sum(axis=1, dtype=np.int64))[:-1]
    at = int(np.abs(sums).argmax())
    return at + 1, float(abs(sums[at]))


def _widening(values: Values, at: int) -> float:
    """Return the factor by which correlated neighbours raise the variance: 1 if they are independent."""
    n = len(values)
    places = np.linspace(-1, 1, n)
    curve = np.polynomial.polynomial.polyval(places, np.polynomial.polynomial.polyfit(places, values, _DEGREE))
    change = np.concatenate((np.full(at, np.median(values[:at])), np.full(n - at, np.median(values[at:]))))
    rest = min((values - curve, values - change), key=lambda one: float(np.abs(one).sum()))
    _, places_of, alike = np.unique(rest, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(alike) - alike / 2)[places_of]  # ranked by place, equal ones would seem correlated
    ranks -= ranks.mean()
    found = float((ranks[1:] * ranks[:-1]).sum() / max(1.0, (ranks**2).sum())) + _BIAS / n
    r = min(max(0.0, found), _MOST_CORRELATION)
    return (1 + r) / (1 - r) if r > 1 / math.sqrt(n) else 1.0

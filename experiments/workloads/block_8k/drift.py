"""Whether a rate changes over a long run: the line of least squares through samples of 10 s, and how sure it is.

Neighbouring samples are alike on storage with caches, so a plain interval would be too narrow: the number of samples is
taken down by their lag-1 autocorrelation (n (1 − r) ÷ (1 + r); G. Box, G. Jenkins, Time Series Analysis, §2). Drift is
what is over 5 % of the mean from end to end and whose 95 % interval does not hold zero.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 6  # samples: with fewer nothing is said
BOUND = 0.05  # of the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Shares of the mean, from the first sample to the last."""

    change: float
    low: float  # its 95 % interval
    high: float
    spread: float  # standard deviation of the samples
    drifts: bool


def drift_of(samples: Sequence[float]) -> Drift | None:
    """None where there are too few, or nothing was done."""
    n = len(samples)
    mean = statistics.fmean(samples) if samples else 0.0
    if n < LEAST or mean <= 0:
        return None
    places = range(n)
    slope, base = statistics.linear_regression(places, samples)
    rest = [value - base - slope * place for place, value in zip(places, samples, strict=True)]
    variance = sum(value * value for value in rest)
    alike = _autocorrelation(rest, variance)
    free = max(2.0, n * (1 - alike) / (1 + alike)) - 2
    around = sum((place - statistics.fmean(places)) ** 2 for place in places)
    error = math.inf if free <= 0.5 else _t(free) * math.sqrt(variance / free / around)
    change, half = slope * (n - 1) / mean, min(error * (n - 1) / mean, 1e6)
    return Drift(
        change=change,
        low=change - half,
        high=change + half,
        spread=statistics.pstdev(samples) / mean,
        drifts=abs(change) > BOUND and abs(change) > half,
    )


def _autocorrelation(rest: Sequence[float], variance: float) -> float:
    if variance <= 0:
        return 0.0
    return max(0.0, min(0.95, sum(a * b for a, b in itertools.pairwise(rest)) / variance))


def _t(free: float) -> float:
    """Student's t for 95 %, by the expansion around the normal (Abramowitz and Stegun 26.7.5); 1 % off from 3 on, more below."""
    z = 1.959964
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3


def said(drift: Drift) -> str:
    """`flat: −1.2 % [−3.0 – +0.6] from end to end`."""
    span = f"{drift.change * 100:+.1f} % [{drift.low * 100:+.1f} – {drift.high * 100:+.1f}] from end to end".replace(
        "-", "\u2212"
    )
    return f"{'DRIFTS' if drift.drifts else 'no drift'}: {span}"

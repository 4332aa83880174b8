"""Medians with distribution-free intervals.

The interval is that of order statistics (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., §3.2): of n
sorted values the k-th smallest and the k-th largest hold the true median with probability 1 − 2·P(B ≤ k − 1),
B binomial (n, ½). The largest k with at least 95 % is taken. Up to five values cannot reach 95 %; their whole range is
given then, with the probability that it has (3 values: 75 %, 5: 93.75 %). Nothing is assumed but independence.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from experiments.result.schema import Estimate

LEVEL = 0.95
METHOD = (
    "median; interval of order statistics: at least 95 % from 6 repeats on, else the range of all repeats with the "
    "coverage stated (3 repeats 75 %, 5 repeats 93.75 %)"
)


def estimate(values: Sequence[float]) -> Estimate:
    """Median and interval of at least one value; raises ValueError without any."""
    if not values:
        raise ValueError("no value to estimate from")
    ordered = sorted(values)
    n = len(ordered)
    if n == 1:
        return Estimate(median=ordered[0], low=None, high=None, coverage=None, n=1)
    k = 1
    while k + 1 <= n // 2 and _coverage(n, k + 1) >= LEVEL:
        k += 1
    return Estimate(
        median=statistics.median(ordered), low=ordered[k - 1], high=ordered[n - k], coverage=_coverage(n, k), n=n
    )


def _coverage(n: int, k: int) -> float:
    return float(1 - sum(math.comb(n, i) for i in range(k)) / 2 ** (n - 1))


def interval_text(value: Estimate, write: Callable[[float], str] = "{:,.1f}".format) -> str:
    """`87.7 [85.1 – 90.2]`, or the one value alone."""
    if value.low is None or value.high is None:
        return write(value.median)
    return f"{write(value.median)} [{write(value.low)} – {write(value.high)}]"

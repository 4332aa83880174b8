"""Medians with distribution-free intervals, and whether two sets of repeats differ.

The interval is that of order statistics (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., §3.2): of n sorted
values the k-th smallest and the k-th largest hold the true median with probability 1 − 2·P(B ≤ k − 1), B binomial (n,
½). The largest k with at least 95 % is taken. Up to five values cannot reach 95 %; their whole range is given then,
with the probability that it has (3 values: 75 %, 5: 93.75 %). Nothing is assumed but independence.

Differences: Wilcoxon's rank-sum test, two-sided, from its exact permutation distribution (Conover, §5.1); the interval
on the ratio is the one that belongs to it, of all ratios of a value of the one to a value of the other (Hodges and
Lehmann 1963). All comparisons of a result are judged together by Holm's procedure (S. Holm, Scandinavian Journal of
Statistics 6, 1979), so that a difference that is none is found in at most 5 % of *results*, not of points. Limits:
fewer than five repeats allow no statement at all; five against five can carry six comparisons (their least p is 2/252).
Of more nothing could be found however far apart they were, so that "no difference" is not reported of them either."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from experiments.result.schema import Estimate, Ratio

LEVEL = 0.95
LEAST_REPEATS = 5
DIFFERENCES = (
    f"differences: rank-sum test over the repeats with Holm's correction over all comparisons shown, {1 - LEVEL:.0%} in all;"
    f" the interval is of the ratio, {LEVEL:.0%} or more"
)


def ratio_of(values: Sequence[float], to: Sequence[float]) -> Ratio | None:
    """Return the ratio of the values to `to`; None if either has too few repeats or a figure that is not positive."""
    if min(len(values), len(to)) < LEAST_REPEATS or min(*values, *to) <= 0:
        return None
    ratios = sorted(ours / theirs for ours in values for theirs in to)
    shares = _shares(len(values), len(to))
    left_out, tail = 0, 0.0  # ratios at either end, and the probability that they hold the true one
    while tail + shares[left_out] <= (1 - LEVEL) / 2:
        tail += shares[left_out]
        left_out += 1
    first = max(0, left_out - 1)
    return Ratio(
        ratio=statistics.median(ratios),
        low=ratios[first],
        high=ratios[-1 - first],
        coverage=1 - 2 * sum(shares[: first + 1]),
        p=rank_sum_p(values, to),
        least_p=min(1.0, 2 * shares[0]),
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison, judged together with the others."""

    ratio: Ratio
    differs: bool
    open: bool  # whether, among so many, so few repeats could have differed at all


def judged(ratios: Sequence[Ratio | None]) -> list[Judged | None]:
    """Judge each of a result's comparisons, by Holm's procedure over all of them; None if there is none."""
    made = [ratio for ratio in ratios if ratio is not None]
    p_values, least = holm([ratio.p for ratio in made]), holm([ratio.least_p for ratio in made])
    among = iter([Judged(*one) for one in zip(made, map(_small, p_values), map(_small, least), strict=True)])
    return [None if ratio is None else next(among) for ratio in ratios]


def _small(p: float) -> bool:
    return p <= 1 - LEVEL


def difference(one: Judged | None) -> str:
    """Describe a comparison: `+12.3 % [+9.8 % – +14.9 %]`, `no difference [-2.0 % – +3.1 %]`, or that no statement is
    possible. Where none was found, the interval shows how large one may be."""
    if one is None:
        return f"fewer than {LEAST_REPEATS} repeats, or a zero: no statement"
    if not one.open:
        return "too few repeats for so many comparisons: no statement"
    found = f"{one.ratio.ratio - 1:+.1%}" if one.differs else "no difference"
    return f"{found} [{one.ratio.low - 1:+.1%} – {one.ratio.high - 1:+.1%}]".replace("%", " %")


def rank_sum_p(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the probability of ranks at least as far apart if both were of one population; ties count as no
    difference."""
    above = sum(a > b for a in some for b in others)
    below = sum(a < b for a in some for b in others)
    shares = _shares(len(some), len(others))
    return min(1.0, 2 * sum(shares[: len(some) * len(others) - max(above, below) + 1]))


def holm(probabilities: Sequence[float]) -> list[float]:
    """Correct the probabilities for their number: one of at most 0.05 may be called a difference."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    adjusted = [0.0] * len(probabilities)
    worst = 0.0
    for place, index in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - place) * probabilities[index]))
        adjusted[index] = worst
    return adjusted


@lru_cache(maxsize=64)
def _shares(n: int, m: int) -> tuple[float, ...]:
    """Return the probability of each number of pairs, 0 … n·m, in which the first is the larger, if both were of one
    population."""
    counts = [1]
    for k in range(1, n + 1):  # the Gaussian binomial coefficient: times (1 − q^(m+k)), through (1 − q^k)
        counts = _divided(_times(counts, m + k), k)
    total = math.comb(n + m, n)
    return tuple(count / total for count in counts)


def _times(counts: Sequence[int], power: int) -> list[int]:
    out = [*counts, *[0] * power]
    for at, count in enumerate(counts):
        out[at + power] -= count
    return out


def _divided(counts: Sequence[int], power: int) -> list[int]:
    out = list(counts)
    for at in range(power, len(out)):
        out[at] += out[at - power]
    return out[: len(out) - power]


METHOD = (
    "median; interval of order statistics: at least 95 % from 6 repeats on, else the range of all repeats with the "
    "coverage stated (3 repeats 75 %, 5 repeats 93.75 %)"
)


def estimate(values: Sequence[float]) -> Estimate:
    """Return median and interval of at least one value. Raises ValueError without any."""
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
    """Return `87.7 [85.1 – 90.2]`, or the only value."""
    if value.low is None or value.high is None:
        return write(value.median)
    return f"{write(value.median)} [{write(value.low)} – {write(value.high)}]"

"""The Universal Scalability Law, fitted by least squares (N. J. Gunther, Guerrilla Capacity Planning, 2007, ch. 4).

    X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1))

λ is the throughput of one worker, σ the share that queues for something (contention), κ the cost of keeping workers
in agreement (coherency). The law is linear in 1/λ, σ/λ and κ/λ once N/X is taken, so no search is needed. Each
observation is weighted so that *relative* errors of the throughput count the same at every N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_POINTS = 6  # different worker counts; with fewer, three parameters fit anything
# Student's t, 97.5 %, for 1 … 30 degrees of freedom; the normal value beyond.
_T = (
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
    """The three parameters; `peak` is the number of workers with the most throughput, None when it only flattens."""

    rate: Estimate  # λ, in the unit of the throughput
    contention: Estimate  # σ
    coherency: Estimate  # κ
    peak: float | None

    def throughput(self, workers: float) -> float:
        """What the law gives for that many workers."""
        n = workers
        return self.rate.value * n / (1 + self.contention.value * (n - 1) + self.coherency.value * n * (n - 1))


def t_975(degrees: int) -> float:
    """Student's t for a two-sided 95 % interval."""
    return _T[degrees - 1] if degrees <= len(_T) else 1.96


def fit_usl(observations: Sequence[tuple[float, float]]) -> UslFit | None:
    """Fit (workers, throughput) pairs, each repeat its own pair.

    None with fewer than `LEAST_POINTS` different worker counts, or when the pairs do not determine the law.
    """
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
        peak=math.sqrt((1 - contention) / coherency) if coherency > 0 and contention < 1 else None,
    )

"""What is said of a matrix: the best cells, and where a cache answered."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.workloads.matrix.result import COARSE_S, MatrixPoint

CACHED = 1.25  # re-read ÷ read beyond which a cache is said to have answered
CACHED_COARSE = 2.0  # the same where the first reading was too short for an exact rate


class MatrixTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[MatrixPoint]) -> str:
        """The best of writing and of reading, and the caches."""
        said = []
        for op in ("write", "read"):
            best = max(points, key=lambda point: _rate(point, op))
            rate = _rate(best, op)
            said.append(f"{op} at most {words.figure(rate)} MB/s ({words.figure(rate * 3.6)} GB/hour) with {best.at}")
        return "; ".join([*said, caches_said(points)])


def _rate(point: MatrixPoint, op: str) -> float:
    figure = point.figures.get(f"{op}_mb_per_s")
    return 0.0 if figure is None else figure.median


def ratios(points: Sequence[MatrixPoint]) -> list[tuple[float, MatrixPoint]]:
    """Re-read ÷ read, of those that have both."""
    return [(point.figures["cache_ratio"].median, point) for point in points if "cache_ratio" in point.figures]


def answered(ratio: float, point: MatrixPoint) -> bool:
    """Whether a cache did, by its ratio."""
    exact = statistics.median(run.seconds["read"] for run in point.repeats) >= COARSE_S
    return ratio > (CACHED if exact else CACHED_COARSE)


def caches_said(points: Sequence[MatrixPoint]) -> str:
    """Where reading again was faster than reading."""
    known = ratios(points)
    if not known:
        return "nothing was read again"
    cells = sum(answered(*one) for one in known)
    middle = statistics.median(ratio for ratio, _ in known)
    if not cells:
        return f"no cache answered: re-read ÷ read is {middle:.2f} (median)"
    most, where = max(known, key=lambda pair: pair[0])
    return (
        f"A CACHE ANSWERED at {cells} of {len(known)} cells: re-read ÷ read is {middle:.2f} (median) and at most"
        f" {most:.2f}, with {where.at}"
    )

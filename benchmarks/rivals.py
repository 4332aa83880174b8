"""Simpler laws that a capacity model has to beat, through two measured points."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Amdahl:
    """Elapsed = serial + parallel / workers (Amdahl, 1967), of one job on one database."""

    serial_s: float
    parallel_s: float

    def elapsed_s(self, workers: int, jobs: int = 1) -> float:
        """With `jobs` simultaneous jobs each has its share of the workers, and nothing else in common."""
        return self.serial_s + self.parallel_s * jobs / workers


@dataclass(frozen=True, slots=True)
class StraightLine:
    """Jobs an hour grow by the same amount with each worker."""

    base_per_s: float
    worker_per_s: float

    def elapsed_s(self, workers: int, jobs: int = 1) -> float:
        """As Amdahl's: each job runs on its share. Infinite where the line falls below zero."""
        rate = self.base_per_s + self.worker_per_s * workers / jobs
        return 1 / rate if rate > 0 else float("inf")


def _checked(one: tuple[int, float], other: tuple[int, float]) -> None:
    if one[0] == other[0]:
        raise UsageError(f"two results with {one[0]} workers each make no line; take different numbers of workers")


def amdahl(one: tuple[int, float], other: tuple[int, float]) -> Amdahl:
    """Through two points (workers, elapsed seconds); raises UsageError when they have as many workers."""
    _checked(one, other)
    parallel = (one[1] - other[1]) / (1 / one[0] - 1 / other[0])
    return Amdahl(serial_s=one[1] - parallel / one[0], parallel_s=parallel)


def straight_line(one: tuple[int, float], other: tuple[int, float]) -> StraightLine:
    """Through two points (workers, elapsed seconds); raises UsageError when they have as many workers."""
    _checked(one, other)
    slope = (1 / one[1] - 1 / other[1]) / (one[0] - other[0])
    return StraightLine(base_per_s=1 / one[1] - slope * one[0], worker_per_s=slope)

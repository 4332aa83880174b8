"""What a kind of study is, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from experiments.result.schema import At, Knee, Run


class Measure(Protocol):
    """Runs one point once, with its pair; raises SystemFault, RunFailed, Interrupted."""

    def __call__(self, at: At, repeat: int) -> Run:
        """`repeat` counts from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was measured: points in the order in which they are shown, runs in order of repeat."""

    runs: dict[At, list[Run]]
    knee: Knee | None = None


class Kind(Protocol):
    """Which points are measured, and in what order."""

    name: str
    axis: str  # the field of `At` that varies; of several the one that figures are plotted against
    order: str  # in words

    def points(self) -> Sequence[At]:
        """Those known beforehand, the largest at least; raises UsageError when the plan makes no sense."""

    def run(self, measure: Measure) -> Findings:
        """Measure everything."""

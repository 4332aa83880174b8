"""The interface of a kind of experiment: its plan, its points and its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from experiments.result.schema import At, Knee, Run, Tuning


class Measure(Protocol):
    """Runs one point once, with its null baseline; raises SystemFault, RunFailed, Interrupted."""

    def __call__(self, at: At, repeat: int) -> Run:
        """`repeat` counts from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was measured: points in the order in which they are shown, runs in order of repeat."""

    runs: dict[At, list[Run]]
    knee: Knee | None = None
    peak: int | None = None  # what levels of load are parts of
    tuning: Tuning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The highest load within a bound (`experiments.kinds.cases`)."""

    base: dict[str, Any]  # the load of which one field is raised
    axis: str  # that field
    figure: str  # by its name in `About.figures`
    bound: float  # the most that its median may be
    most: int  # the highest load that is tried
    within: float = 0.02  # of the load found, that may be missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A kind in plain data, as a result package has it."""

    kind: str
    axis: str
    points: tuple[dict[str, Any], ...]  # of a search the one that it starts from
    repeats: int
    seed: int | None = None  # of the random order; None: a search has an order of its own
    most: int | None = None  # the highest load of a search
    bounds_us: dict[str, float] | None = None  # on the p99 of ops
    levels: int | None = None  # of load, up to the peak
    peak: int | None = None  # as given; None: it is looked for
    search: Search | None = None  # of a profile, after its points
    stages: tuple[tuple[int, float], ...] | None = None  # of load: how much, and for how many seconds


class Kind(Protocol):
    """Which points are measured, and in what order."""

    name: str
    axis: str  # the field of `At` that varies; of several the one that figures are plotted against
    order: str  # in words

    def plan(self) -> Plan:
        """What it was asked for, so that it can be gone through again (`experiments.kinds.plan`)."""

    def points(self) -> Sequence[At]:
        """Those known beforehand, the largest at least; raises UsageError when the plan makes no sense."""

    def run(self, measure: Measure) -> Findings:
        """Measure everything."""

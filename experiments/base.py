"""What an experiment is, and what all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from experiments.result import Knee, Run


@dataclass(frozen=True, slots=True, order=True)
class PointSpec:
    """One point: so many databases, workers and slots of each."""

    databases: int
    workers: int
    slots: int

    def __str__(self) -> str:
        databases = f" on {self.databases} databases" if self.databases > 1 else ""
        workers, slots = ("" if n == 1 else "s" for n in (self.workers, self.slots))
        return f"{self.workers} worker{workers} x {self.slots} slot{slots}{databases}"


class Measure(Protocol):
    """Runs one point once, paired with null storage where there is any; raises SystemFault, RunFailed, Interrupted."""

    def __call__(self, spec: PointSpec, repeat: int) -> Run:
        """`repeat` counts from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What an experiment measured."""

    runs: dict[PointSpec, list[Run]]
    knee: Knee | None = None  # its indexes count the points in sorted order


class Experiment(Protocol):
    """One file an experiment. `prepare` looks before anything is run, `run` measures, `clean_up` always follows."""

    kind: str

    def prepare(self) -> Sequence[PointSpec]:
        """The points known beforehand (the largest at least); raises UsageError when the plan makes no sense."""

    def run(self, measure: Measure) -> Findings:
        """Measure everything."""

    def clean_up(self) -> None:
        """Give back whatever `prepare` and `run` hold."""

"""Stages: load that changes by time, as `1x5m,4x10m`: so much load for at least so long, then the next.

A workload's runs end by themselves, so a stage repeats its run until their elapsed times add up to its duration; the last run is
finished. Stages keep their order: the state that one leaves in caches and on the storage is what the next begins with.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from core.errors import UsageError
from core.options.tuning import MOST_SECONDS
from experiments.kinds.kind import Findings, Measure, Plan
from experiments.result.schema import At, Run

_STAGE = re.compile(r"([0-9]{1,4})x([0-9]{1,9}(?:\.[0-9]{1,3})?)(s|m|h)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0}
_MOST_RUNS = 10_000  # of a stage

Stage = tuple[int, float]  # load and seconds


def parse_stages(text: str, axis: str) -> Stages:
    """`1x5m,4x10m` as stages on an axis; raises UsageError."""
    out: list[Stage] = []
    for part in (one.strip() for one in text.split(",")):
        match = _STAGE.fullmatch(part)
        if match is None:
            raise UsageError(f"--stages: {part[:40]!r} is not LOADxTIME; write 1x5m,4x10m (s, m or h)", field="stages")
        out.append((int(match[1]), float(match[2]) * _UNITS[match[3]]))
    stages = Stages(axis, out)
    stages.check()
    return stages


class Stages:
    """Load is the number on one axis; everything else of the base stays."""

    name = "stages"
    order = "that of the stages; a stage repeats its run until its time is over"

    def __init__(self, axis: str, stages: Sequence[Stage], base: At | None = None) -> None:
        """`base`: the load of which one number is replaced; None: not known yet (`on`)."""
        self.axis, self._stages, self._base = axis, tuple(stages), base

    def on(self, base: At) -> Stages:
        """The same stages of this load."""
        return Stages(self.axis, self._stages, base)

    @property
    def loads(self) -> list[int]:
        """Of each stage."""
        return [load for load, _ in self._stages]

    def check(self) -> None:
        """Raises UsageError for stages that make no sense."""
        if not self._stages or min(self.loads) < 1 or not all(0 < time <= MOST_SECONDS for _, time in self._stages):
            raise UsageError("--stages: a stage has a load of at least 1 and a time above 0", field="stages")
        if len(set(self.loads)) < len(self._stages):
            raise UsageError("--stages: two stages have the same load; give each load once", field="stages")

    def plan(self) -> Plan:
        """The base and the stages."""
        points = () if self._base is None else (self._base.values(),)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=1, stages=self._stages)

    def points(self) -> Sequence[At]:
        """One for each stage."""
        self.check()
        return [self._at(load) for load, _ in self._stages]

    def run(self, measure: Measure) -> Findings:
        """Stage by stage."""
        runs: dict[At, list[Run]] = {}
        for load, seconds in self._stages:
            own = runs.setdefault(self._at(load), [])
            while sum(run.elapsed_s for run in own) < seconds and len(own) < _MOST_RUNS:
                own.append(measure(self._at(load), len(own)))
        return Findings(runs=runs)

    def _at(self, load: int) -> At:
        if self._base is None:
            raise ValueError("the stages have no load yet")
        return dataclasses.replace(self._base, **{self.axis: load})

"""Counters of the array itself during the runs of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from controller.arrays.importing import read_array
from controller.arrays.mapping import ArrayMap
from experiments.result.schema import ArrayUse

Counted = tuple[
    str, str, tuple[tuple[float, float], ...]
]  # a column's name and unit; times by this host's clock, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """Source of the counters. `file`: None asks Prometheus; `offset_s`: this host's clock less the array's."""

    mapping: ArrayMap
    file: Path | None
    offset_s: float
    env: Mapping[str, str]

    def counted(self, start: float, finish: float) -> tuple[Counted, ...]:
        """Return each column between two times by this host's clock. Raises UsageError if there are no values,
        SystemFault."""
        readings = read_array(self.mapping, self.file, (start, finish), self.offset_s, self.env)
        late = readings.interval_s()  # a value stands for the interval before it
        return tuple(
            (
                f"{self.mapping.name} {column.name}",
                column.unit,
                tuple(
                    (at + self.offset_s, value) for at, value in points if start <= at + self.offset_s <= finish + late
                ),
            )
            for column, points in readings.points.items()
        )


def uses(counted: Sequence[Counted]) -> tuple[ArrayUse, ...]:
    """Return mean and peak of each column that has values."""
    return tuple(
        ArrayUse(name=name, unit=unit, mean=round(fmean(values), 4), peak=round(max(values), 4))
        for name, unit, points in counted
        if (values := [value for _, value in points])
    )

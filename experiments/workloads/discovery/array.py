"""The array's own counters of a run: read when it is over from what is collected meanwhile, a CSV file or Prometheus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from controller.arrays.importing import job_time, read_array
from controller.arrays.mapping import ArrayMap
from controller.databases import JobHandle
from experiments.workloads.discovery.result import ArrayUse

Seen = tuple[
    str, str, tuple[tuple[float, float], ...]
]  # a column's name and unit; times by the database's clock, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """Where the counters are. `file`: None asks Prometheus; `offset_s`: the database's clock less the array's."""

    mapping: ArrayMap
    file: Path | None
    offset_s: float
    env: Mapping[str, str]

    def of(self, handles: Sequence[JobHandle]) -> tuple[Seen, ...]:
        """Of the time in which these jobs ran. Raises UsageError where there is nothing, SystemFault."""
        start, finish = job_time(handles)
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


def uses(seen: Sequence[Seen]) -> tuple[ArrayUse, ...]:
    """Mean and peak of each column that has values."""
    return tuple(
        ArrayUse(name=name, unit=unit, mean=round(fmean(values), 4), peak=round(max(values), 4))
        for name, unit, points in seen
        if (values := [value for _, value in points])
    )

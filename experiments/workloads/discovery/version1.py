"""Results of `edbench-result/1`, which knew discoveries only."""

from __future__ import annotations

from typing import Any

from experiments.workloads.discovery.result import ELAPSED, NAME, NULL, RATE, RAW


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """As version 2 has it; raises KeyError and the like for what is no result."""
    axis = "databases" if data["kind"] == "scale-out" else "workers"
    return data | {"workload": NAME, "axis": axis, "points": [_point(point) for point in data["points"]]}


def _point(point: dict[str, Any]) -> dict[str, Any]:
    rest = dict(point)
    at = {name: rest.pop(name) for name in ("databases", "workers", "slots")}
    figures = {name: rest.pop(name) for name in (ELAPSED, NULL, RATE, RAW)}
    return rest | {"at": at, "figures": {name: figure for name, figure in figures.items() if figure is not None}}

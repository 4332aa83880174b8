"""Results side by side: only those that may stand side by side, with their intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UsageError
from experiments.result import Estimate, Point, Result
from experiments.statistics import difference

_SAME_EXPANSION = 0.001  # relative


@dataclass(frozen=True, slots=True)
class Cell:
    """One result's figures at one point."""

    gb_per_hour_discovered: Estimate
    elapsed_s: Estimate
    limited: bool
    against_first: str  # of GB/hour discovered, in words; empty for the first result


@dataclass(frozen=True, slots=True)
class Row:
    """One point; None where a result has it not."""

    databases: int
    workers: int
    slots: int
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first result is what the others are held against."""

    results: tuple[Result, ...]
    differences: tuple[str, ...]  # why they should not be compared; empty when they may
    disclosed: tuple[str, ...]  # what differs besides and is perhaps the point of it: storage, host, versions
    rows: tuple[Row, ...]


def compare(results: Sequence[Result], *, force: bool) -> Comparison:
    """Raises UsageError naming what differs, unless `force`; then `differences` has it."""
    if len(results) < 2:
        raise UsageError("there must be at least two results to compare")
    first = results[0]
    found = tuple(line for number, other in enumerate(results[1:], 2) for line in differences(first, other, number))
    if found and not force:
        raise UsageError(f"these results may not be compared: {'; '.join(found)}; --force shows them all the same")
    return Comparison(
        results=tuple(results),
        differences=found,
        disclosed=tuple(
            line for number, other in enumerate(results[1:], 2) for line in disclosed(first, other, number)
        ),
        rows=_rows(results),
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Plain data, as `edbench compare --json` prints it."""
    return {
        "results": [{"run_id": r.run_id, "verdict": r.verdict} for r in comparison.results],
        "differences": list(comparison.differences),
        "disclosed": list(comparison.disclosed),
        "points": [dataclasses.asdict(row) for row in comparison.rows],
    }


def differences(first: Result, other: Result, number: int) -> list[str]:
    """What forbids comparing result `number` with the first: kind, configuration, corpus, expansion, no common point."""
    out = []
    if first.kind != other.kind:
        out.append(f"result {number}: it is a {other.kind}, the first is a {first.kind}")
    out += _unequal(first.conditions.get("configuration"), other.conditions.get("configuration"), number, "")
    for key in ("hash", "raw_bytes"):
        ours, theirs = (_get(result, "corpus", key) for result in (first, other))
        if ours != theirs:
            out.append(f"result {number}: corpus {key} {theirs}, the first has {ours}")
    ours, theirs = (_get(result, "expansion") for result in (first, other))
    if not _close(ours, theirs):
        out.append(f"result {number}: expansion {theirs}, the first has {ours}")
    if not {_key(point) for point in first.points} & {_key(point) for point in other.points}:
        out.append(f"result {number}: it has no point (databases, workers, slots) in common with the first")
    return out


def disclosed(first: Result, other: Result, number: int) -> list[str]:
    """What else differs and the reader must see beside the figures."""
    out = []
    for name, path in (
        ("storage", ("storage", "label")),
        ("storage path", ("storage", "path")),
        ("mount", ("storage", "mount")),
        ("cache state", ("cache", "state")),
        ("versions", ("versions",)),
        ("database files on the storage under test", ("databases",)),
        ("host", ("hosts",)),
    ):
        ours, theirs = (_plain(_get(result, *path)) for result in (first, other))
        if ours != theirs:
            out.append(f"result {number}: {name}: {theirs}; the first: {ours}")
    return out


def _plain(value: Any) -> Any:
    """Of lists of hosts and databases what identifies them."""
    if isinstance(value, list):
        return [
            (v.get("name"), v.get("on_storage_under_test"), v.get("processors"), v.get("memory_bytes")) for v in value
        ]
    if isinstance(value, dict) and "point" in value:
        return {key: value[key] for key in ("type", "source", "options") if key in value}
    return value


def _unequal(ours: Any, theirs: Any, number: int, at: str) -> list[str]:
    """Each key of a configuration in which two differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted({*ours, *theirs})
        return [
            line
            for key in keys
            for line in _unequal(ours.get(key), theirs.get(key), number, f"{at}{'.' * bool(at)}{key}")
        ]
    return [] if ours == theirs else [f"result {number}: {at or 'configuration'} {theirs}, the first has {ours}"]


def _get(result: Result, *path: str) -> Any:
    value: Any = result.conditions
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _close(ours: Any, theirs: Any) -> bool:
    if not isinstance(ours, int | float) or not isinstance(theirs, int | float):
        return bool(ours == theirs)
    return abs(ours - theirs) <= _SAME_EXPANSION * max(abs(ours), abs(theirs))


def _key(point: Point) -> tuple[int, int, int]:
    return point.databases, point.workers, point.slots


def _rows(results: Sequence[Result]) -> tuple[Row, ...]:
    by_key = [{_key(point): point for point in result.points} for result in results]
    return tuple(
        Row(*key, tuple(_cell(points.get(key), by_key[0].get(key), number) for number, points in enumerate(by_key)))
        for key in sorted({key for points in by_key for key in points})
    )


def _cell(point: Point | None, first: Point | None, number: int) -> Cell | None:
    if point is None:
        return None
    against = ""
    if number and first is not None:
        against = difference(first.gb_per_hour_discovered, point.gb_per_hour_discovered)
    return Cell(point.gb_per_hour_discovered, point.elapsed_s, point.limited, against)

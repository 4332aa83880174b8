"""What one line of the summary says of a test, told from its result."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.report import words
from experiments.result.schema import Point, Result
from experiments.workloads import about

NO_RESULT = ": not a storage result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A test that was measured."""

    headline: str  # its rate under the load with the most of it
    found: str  # the first line without labels
    limit: str  # who or what it was
    labels: tuple[str, ...]


def row_of(result: Result) -> Row:
    """Medians, as in its own report."""
    best = best_point(result)
    return Row(
        headline=_headline(result, best),
        found=_found(result),
        limit=limit_of(result, best),
        labels=tuple(label.replace(NO_RESULT, "") for label in result.labels),
    )


def best_point(result: Result) -> Point:
    """The one with the highest rate: the first figure of the first line."""
    rate = about(result.workload).headlines[0].name
    measured = [point for point in result.points if rate in point.figures] or list(result.points)
    return max(measured, key=lambda point: point.figures[rate].median if rate in point.figures else 0.0)


def _headline(result: Result, best: Point) -> str:
    figure = about(result.workload).headlines[0]
    if figure.name not in best.figures:
        return figure.missing
    return f"{figure.write(best.figures[figure.name].median)} {figure.title} at {best.at}"


def _found(result: Result) -> str:
    """Without its labels, its name and its place, which stand in other columns."""
    said = result.verdict.removeprefix("; ".join(result.labels)).removeprefix("; ")
    said = said.removeprefix(f"{about(result.workload).titled(result.kind)} ")
    return said.removeprefix(f"on {where(result)}: ")


def where(result: Result) -> str:
    """On which storage; empty without any."""
    places = result.conditions.get("targets") or [result.conditions.get("storage")]
    return ", ".join(dict.fromkeys(str(place["label"]) for place in places if place))


def limit_of(result: Result, best: Point) -> str:
    """As the first line has it; else this host where the point says so; else how far it is from this host's own ceiling."""
    named = next((clause for clause in result.verdict.split("; ") if clause.startswith("limit: ")), None)
    if named is not None:
        return named.removeprefix("limit: ")
    if best.limited:
        return f"this host: {best.limits[0]}"
    if "storage_share" in best.figures:
        return f"the storage took {words.percent(best.figures['storage_share'].median)} of the time"
    return _beside_ceilings(result, best)


def _beside_ceilings(result: Result, best: Point) -> str:
    for figure in about(result.workload).figures:
        tops = [top for run in best.repeats if (top := getattr(run, "ceilings", {}).get(figure.name))]
        if tops and figure.name in best.figures:
            share = words.percent(best.figures[figure.name].median / max(tops))
            return f"not this host: {figure.title} is {share} of the same load's in memory"
    null = result.conditions.get("null_storage") or {}
    return f"not known: {null.get('why_not') or 'no null baseline'}"

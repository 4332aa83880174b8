"""The settings of a `tune`: how far each came, and the comparison of the last one with the default."""

from __future__ import annotations

import statistics

from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.parts import Section, note
from experiments.result.schema import Point, Result, Tuning
from experiments.workloads import about

ANCHOR, TITLE = "tuning", "Settings"


def tuning(result: Result) -> Section:
    """One table."""
    found, rate = result.tuning, about(result.workload).headlines[0]
    assert found is not None  # of this kind alone

    def compared(point: Point) -> float | None:
        last = (found.best, found.default)
        values = rate.values(point.repeats[-found.compared :]) if result.points.index(point) in last else []
        return statistics.median(values) if values else None

    columns: tuple[Column[Point], ...] = (
        Column("setting", "setting", lambda point: point.at.on(result.axis), text=True),
        Column("rounds", "rounds", lambda point: sum(result.points.index(point) in one for one in found.rounds)),
        Column("repeats", "runs", lambda point: len(point.repeats)),
        Column(
            rate.name, f"{rate.title}, median of all runs", lambda point: point.figures[rate.name].median, rate.write
        ),
        Column(f"{rate.name}_compared", f"{rate.title}, runs of the comparison", compared, rate.write),
    )
    table = tabled("tuning", columns, result.points, mark=lambda point: result.points.index(point) == found.best)
    return Section(anchor=ANCHOR, title=TITLE, parts=(table, note(_rule(found))))


def _rule(found: Tuning) -> str:
    return (
        f"Successive halving: {words.many(len(found.rounds), 'round')}, each with twice the repeats of the one before; the better"
        f" half stays. Then the last setting and the default were run {found.compared} times again, in random order. The gain"
        " is computed from these runs only: those of the rounds favour what was lucky in them."
    )

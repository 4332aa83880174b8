"""The array's own counters next to each point: report R1's Figures 1 and 5 are such counters."""

from __future__ import annotations

from statistics import median

from experiments.report import words
from experiments.report.parts import Cell, Section, Series, Tabled, note, table
from experiments.report.views import held
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.views import point_name

ANCHOR, TITLE = "array", "What the array counted"
_COLUMNS = ("workers", "slots", "databases", "repeat", "counter", "unit", "mean", "peak")


def has_array(result: Result) -> bool:
    """Whether any run has counters of an array."""
    return any(run.array for point in result.points for run in point.repeats)


def array(result: Result) -> Section:
    """By point and counter: the median of the runs' means, and the highest peak; every run is in the CSV."""
    rows: list[tuple[object, ...]] = []
    numbers: list[tuple[Cell, ...]] = []
    for point in result.points:
        by_name: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for run in point.repeats:
            for use in run.array:
                by_name.setdefault((use.name, use.unit), []).append((use.mean, use.peak))
                numbers.append(
                    (point.workers, point.slots, point.databases, run.repeat, use.name, use.unit, use.mean, use.peak)
                )
        for (name, unit), found in sorted(by_name.items()):
            mean, peak = median(each[0] for each in found), max(each[1] for each in found)
            shown = (words.figure(mean), words.figure(peak))
            rows.append((held(point_name(point, result.points)), held(name), held(unit), *shown))
    series = Series(name="array", header=_COLUMNS, rows=tuple(numbers))
    header = ("point", "counter", "unit", "mean", "peak")
    shown_table = Tabled(table=table(header, rows, text_columns=frozenset({0, 1, 2})), series=series)
    said = "Counted by the filer itself over each run, by its own clock moved to the database's: neither calls nor wire ops."
    return Section(anchor=ANCHOR, title=TITLE, parts=(shown_table, note(said)))

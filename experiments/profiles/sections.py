"""What the reports of all profiles have: the table of points first, figures of the report beside ours, the ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.profiles.published import MARK, Published
from experiments.report import words
from experiments.report.disclosure import disclosure
from experiments.report.markup import table
from experiments.report.parts import Cell, Section, Series, Tabled, missing, note
from experiments.report.points import points
from experiments.report.steadiness import steadiness
from experiments.report.views import named
from experiments.result.schema import Point, Result
from experiments.workload import Figure
from experiments.workloads import about


def profile_sections(
    result: Result, own: Sequence[Section], bounded: Sequence[Figure], report: str, published: Sequence[Published]
) -> list[Section]:
    """In reading order."""
    beside = [beside_report(result, report, published)] if published else []
    ceiling = [ceilings(result, bounded)] if bounded else []
    return [points(result), *own, *beside, *ceiling, steadiness(result), disclosure(result)]


def beside_report(result: Result, report: str, published: Sequence[Published]) -> Section:
    """A line for each of the report's figures; ours where it is the same quantity."""
    figures = {figure.name: figure for figure in about(result.workload).figures}
    shown, numbers = [], list[tuple[Cell, ...]]()
    for one in published:
        figure, ours = figures[one.figure], of_same_quantity(result, one)
        told = "not measured like this" if ours is None else figure.write(ours)
        share = "" if ours is None or not one.value else f"{ours / one.value:.2f} x"
        shown.append((one.what, figure.column, figure.write(one.value), told, share, one.remark))
        numbers.append((one.what, one.figure, one.value, ours))
    header = (f"report {report}", "figure", "published", "here", "", "remark")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 1, 5})),
        series=Series(name="published", header=("row", "figure", "published", "here"), rows=tuple(numbers)),
    )
    said = note(
        "The table has a figure only where load and settings were those of the report. The storage is another one."
    )
    return Section(anchor="published", title=f"Compared with report {report}", parts=(tabled, said))


def of_same_quantity(result: Result, one: Published) -> float | None:
    """The median of the point with the load of the published figure; None where nothing was measured under it."""
    settings: dict[str, Any] = result.conditions["configuration"]["settings"]
    if any(settings.get(name) != value for name, value in one.settings.items()):
        return None
    if one.ours is not None:
        return one.ours(result)
    for point in result.points:
        load = point.at.values()
        if all(load.get(name) == value for name, value in one.at.items()) and one.figure in point.figures:
            return point.figures[one.figure].median
    return None


def ceilings(result: Result, bounded: Sequence[Figure]) -> Section:
    """Of each point and figure, what the same load has on null storage; those near it are marked."""
    shown, numbers, marked = list[tuple[str, ...]](), list[tuple[Cell, ...]](), set[int]()
    for point in result.points:
        for figure in bounded:
            top, ours = _ceiling(point, figure), point.figures.get(figure.name)
            if top is None or ours is None:
                continue
            if ours.median > MARK * top:
                marked.add(len(shown))
            shown.append((named(point, result), figure.column, figure.write(ours.median), figure.write(top),
                          words.percent(ours.median / top)))  # fmt: skip
            numbers.append((named(point, result), figure.name, ours.median, top))
    if not shown:
        why = result.conditions["null_storage"]["why_not"] or "no run has a null baseline"
        return missing("ceilings", "Ceilings of the harness itself", why)
    header = ("point", "figure", "measured", "on null storage", "share")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 1}), marked=frozenset(marked)),
        series=Series(name="ceilings", header=("point", "figure", "measured", "null_storage"), rows=tuple(numbers)),
    )
    said = note(
        f"The same load in memory, on this host; marked where the figure is over {words.percent(MARK)} of it. Such a"
        " figure is limited by the harness and not by the storage."
    )
    return Section(anchor="ceilings", title="Ceilings of the harness itself", parts=(tabled, said))


def _ceiling(point: Point, figure: Figure) -> float | None:
    tops = [getattr(run, "ceilings", {}).get(figure.name) for run in point.repeats]
    return next((top for top in tops if top), None)

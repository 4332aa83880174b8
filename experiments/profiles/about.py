"""What is known of a profile without running it: its figures and report, and what all profiles have in common."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.profiles.result import Observed, ProfileRun
from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.disclosure import disclosure
from experiments.report.parts import Section, missing, note
from experiments.report.points import points
from experiments.report.steadiness import steadiness
from experiments.report.views import named
from experiments.result.schema import Point, Result
from experiments.telling import Telling
from experiments.workload import About, Figure
from experiments.workloads import about

MARK = 0.8  # of a ceiling: figures above it are the generator's


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A figure of a report. Ours stands beside it where the point and the settings make it the same quantity."""

    what: str  # its row: "case 1, one volume, 256 outstanding"
    figure: str  # ours, by its name in `About.figures`
    value: float
    at: Mapping[str, Any] = field(default_factory=dict)  # what the load of the point must have
    settings: Mapping[str, Any] = field(default_factory=dict)  # what the profile's settings must have
    remark: str = ""  # what was otherwise
    ours: Callable[[Any], float | None] | None = (
        None  # of the result, where ours is no figure of a point with that load
    )


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
    rows = [(one, figures[one.figure], of_same_quantity(result, one)) for one in published]

    def share(row: tuple[Published, Figure, float | None]) -> str:
        return "" if row[2] is None or not row[0].value else f"{row[2] / row[0].value:.2f} x"

    def ours(row: tuple[Published, Figure, float | None]) -> str:
        return "not measured like this" if row[2] is None else row[1].write(row[2])

    shown = tabled(
        "published",
        (
            Column("row", f"report {report}", lambda row: row[0].what, text=True),
            Column("figure", None, lambda row: row[0].figure),
            Column("published", None, lambda row: row[0].value),
            Column("here", None, lambda row: row[2]),
            Column("", "figure", lambda row: row[1].column, text=True),
            Column("", "published", lambda row: row[1].write(row[0].value)),
            Column("", "here", ours),
            Column("", "", share),
            Column("", "remark", lambda row: row[0].remark, text=True),
        ),
        rows,
    )
    said = note(
        "The table has a figure only where load and settings were those of the report. The storage is another one."
    )
    return Section(anchor="published", title=f"Compared with report {report}", parts=(shown, said))


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
    rows = [
        (named(point, result), figure, ours.median, top)
        for point in result.points
        for figure in bounded
        if (top := _ceiling(point, figure)) is not None and (ours := point.figures.get(figure.name)) is not None
    ]
    if not rows:
        why = result.conditions["null_storage"]["why_not"] or "no run has a null baseline"
        return missing("ceilings", "Ceilings of the harness itself", why)
    shown = tabled(
        "ceilings",
        (
            Column("point", "point", lambda row: row[0], text=True),
            Column("figure", None, lambda row: row[1].name),
            Column("measured", None, lambda row: row[2]),
            Column("null_storage", None, lambda row: row[3]),
            Column("", "figure", lambda row: row[1].column, text=True),
            Column("", "measured", lambda row: row[1].write(row[2])),
            Column("", "on null storage", lambda row: row[1].write(row[3])),
            Column("", "share", lambda row: words.percent(row[2] / row[3])),
        ),
        rows,
        mark=lambda row: row[2] > MARK * row[3],
    )
    said = note(
        f"The same load in memory, on this host; marked where the figure is over {words.percent(MARK)} of it. Such a"
        " figure is limited by the harness and not by the storage."
    )
    return Section(anchor="ceilings", title="Ceilings of the harness itself", parts=(shown, said))


def _ceiling(point: Point, figure: Figure) -> float | None:
    tops = [getattr(run, "ceilings", {}).get(figure.name) for run in point.repeats]
    return next((top for top in tops if top), None)


def near_ceiling(figures: Sequence[Figure], runs: Sequence[ProfileRun]) -> str | None:
    """Why the storage hardly mattered: a figure is within 80 % of what the same load has on null storage."""
    for figure in figures:
        tops = [run.ceilings[figure.name] for run in runs if run.ceilings.get(figure.name)]
        values = figure.values(runs)
        if not tops or not values:
            continue
        value, top = statistics.median(values), statistics.median(tops)
        if value > MARK * top:
            return (
                f"{figure.write(value)} {figure.title} is {value / top:.0%} of the {figure.write(top)} that the same load has"
                f" on null storage (over {MARK:.0%})"
            )
    return None


def profile_about(
    *,
    name: str,
    report: str,
    result: type[Result],
    point: type[Point],
    figures: tuple[Figure, ...],
    seen: type[Observed],
    run_of: Callable[[Any], ProfileRun],
    sections: Callable[[Any], list[Section]] = lambda _result: [],
    ceilings: tuple[str, ...] = (),
    published: tuple[Published, ...] = (),
    notes: Mapping[str, Callable[[Any], str | int | float | None]] | None = None,
    telling: Callable[[dict[str, Any]], Telling] = ProfileTelling,
    makers: str = "clients",
) -> About:
    """`sections`: the profile's own, behind the table of points; `report`: "R2"."""
    bounded = tuple(figure for figure in figures if figure.name in ceilings)

    def every(told: Result) -> list[Section]:
        return profile_sections(told, sections(told), bounded, report, published)

    return About(
        name=name,
        title=name,
        result=result,
        point=point,
        figures=figures,
        sections=every,
        notes={} if notes is None else notes,
        makers=makers,
        near_null=lambda runs: near_ceiling(bounded, runs),
        rule=(
            f"GENERATOR-LIMITED is a point with a figure within {words.percent(MARK)} of what the same load has on null storage"
            " (memory)."
        ),
        raw=lambda: seen,
        run_of=run_of,
        telling=telling,
        trusted=("what was observed of hosts, mounts and caches",),
    )

"""What the databases did over time (R1's Figure 2)."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series, missing, note
from experiments.report.plots import draw_line, drawing, legend_beside, new_figure, over_time, time_unit
from experiments.report.views import rates, spread, summed_rates
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.sections.calls_over_time import MOST_LINES
from experiments.workloads.discovery.views import middle_run, point_name

ANCHOR, TITLE = "databases", "Database activity over time"


def database_activity(result: Result) -> Section:
    """Commits and rows a second, all databases of a point together; the CSV has each database."""
    sampled = [point for point in result.points if middle_run(point).series.database_activity]
    if not sampled:
        return missing(ANCHOR, TITLE, "no run has samples of its databases' counters.")
    plot = _plot(spread(sampled, MOST_LINES), result)
    remark = "R1's Figure 2 shows iSCSI operations of its SQL server; these are commits and written rows, counted by PostgreSQL."
    return Section(anchor=ANCHOR, title=TITLE, parts=(plot, note(remark)))


def _rates(run: Run, field: str) -> list[tuple[float, float]]:
    """Of all the run's databases together; each is sampled at moments of its own."""
    samples: dict[str, list[tuple[float, float]]] = {}
    for at, by_database in run.series.database_activity:
        for name, activity in by_database.items():
            samples.setdefault(name, []).append((at, float(activity.get(field, 0))))
    return summed_rates([rates(one) for one in samples.values()])


def _plot(points: list[Point], result: Result) -> Plot:
    length, unit = time_unit(max(middle_run(point).elapsed_s for point in points))
    with drawing():
        figure, (left, right) = new_figure(2)
        for axes, field in ((left, "commits"), (right, "rows")):
            for number, point in enumerate(points):
                line = _rates(middle_run(point), field)
                draw_line(axes, line, number, point_name(point, result.points), length)
            over_time(axes, unit, f"{field} a second")
        legend_beside(right)
    return Plot(name="databases", figure=figure, sentence=_sentence(points, result), series=_series(points))


def _sentence(points: list[Point], result: Result) -> str:
    said = []
    for point in points if len(points) <= 3 else [points[0], points[-1]]:
        commits, rows = (_rates(middle_run(point), field) for field in ("commits", "rows"))
        if not commits:
            continue
        at, peak = max(commits, key=lambda sample: sample[1])
        most_rows = max(rate for _, rate in rows)
        said.append(
            f"{point_name(point, result.points)}: at most {words.figure(peak)} commits a second "
            f"({words.seconds(max(0.0, at))} into the run) and {words.figure(most_rows)} rows a second"
        )
    return "; ".join(said) + "." if said else "The samples are too few for a rate."


def _series(points: list[Point]) -> Series:
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        run = middle_run(point)
        for at, by_database in run.series.database_activity:
            for name in sorted(by_database):
                one = by_database[name]
                key = (point.workers, point.slots, point.databases, run.repeat, at, name)
                rows.append((*key, one.get("commits", 0), one.get("rows", 0)))
    header = ("workers", "slots", "databases", "repeat", "time_s", "database", "commits", "rows")
    return Series(name="databases", header=header, rows=tuple(rows))

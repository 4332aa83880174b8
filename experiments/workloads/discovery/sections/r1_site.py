"""Report R1's figures held against its three rows on an emulated site, and by which parameters: of `experiment r1` only."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Part, Plot, Section, Series, Tabled, note, paragraph
from experiments.report.plots import draw_line, drawing, legend_beside, new_figure, over_time, time_unit
from experiments.workloads.discovery.r1.checks import checks, verdict, window_told
from experiments.workloads.discovery.r1.parameters import STRUCTURE, parameters, streams_of
from experiments.workloads.discovery.r1.seen import filer_ops, time_scale, window_s
from experiments.workloads.discovery.result import NO_LIMIT, Result
from experiments.workloads.discovery.views import middle_run, point_name

ANCHOR, TITLE = "r1-site", "Report R1 on an emulated site"


def r1_site(result: Result) -> Section:
    """Checks, filer ops over time, and the three lists."""
    parts: list[Part] = [paragraph(STRUCTURE), _checks(result), note(window_told(result))]
    if any(filer_ops(middle_run(point), 1.0) for point in result.points):
        parts.append(_plot(result))
    for title, lines in parameters(result):
        rows = [(line,) for line in lines]
        series = Series(name=f"r1-{title.split()[0].lower()}", header=("parameter",), rows=tuple(rows))
        parts.append(Tabled(table=table((title,), rows, text_columns=frozenset({0})), series=series))
    if not parameters(result):
        parts.append(note("This is not the site r1; see its file for the origin of its numbers."))
    parts.append(note(_limit(result)))
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def _limit(result: Result) -> str:
    streams = streams_of(result)
    without = (
        "This is the site without that limit."
        if streams == NO_LIMIT
        else "What the same site does without that limit is not shown here: edbench bench r1 --index-streams 0 runs it."
    )
    return (
        f"Index streams of each job: {streams}. {without} It is an explanation that reproduces R1, but it may not be the"
        " only one."
    )


def _checks(result: Result) -> Tabled:
    rows = [(one.what, one.r1, one.ours, one.tolerance, verdict(one, result)) for one in checks(result)]
    header = ("what", "R1", "ours", "tolerance", "held")
    series = Series(name="r1-checks", header=header, rows=tuple(rows))
    return Tabled(table=table(header, rows, text_columns=frozenset(range(5)), caption="Checks"), series=series)


def _plot(result: Result) -> Plot:
    times, window = time_scale(result), window_s(result)
    length, unit = time_unit(max(middle_run(point).elapsed_s for point in result.points) / times)
    rows: list[tuple[Cell, ...]] = []
    said = []
    with drawing():
        figure, (axes,) = new_figure()
        for number, point in enumerate(result.points):
            ops = filer_ops(middle_run(point), times)
            draw_line(axes, ops.line(), number, point_name(point, result.points), length)
            rows += [(point.databases, point.workers, at, rate) for at, rate in ops.line()]
            peak, _ = ops.highest(window)
            said.append(f"{point_name(point, result.points)}: {words.count(peak)} filer ops a second at the peak")
        over_time(axes, f"{unit} of the site's time", "filer ops a second")
        legend_beside(axes)
    sentence = f"{'; '.join(said)}. R1: about 27,000 with 10 workers, 39,000 with 30, then 20,000, 10,000 and none."
    header = ("databases", "workers", "site_time_s", "filer_ops_per_s")
    return Plot(
        name="filer-ops",
        figure=figure,
        sentence=sentence,
        series=Series(name="filer-ops", header=header, rows=tuple(rows)),
    )

"""The report's own sections of profile `analysis-replay`: calls a second by paths, where more stop helping, the queues."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import table
from experiments.report.palette import marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, Tabled, note, paragraph
from experiments.report.plots import counts_on_x, drawing, from_zero, legend_beside, new_figure
from experiments.report.views import middle, named
from experiments.workloads.analysis_replay.result import HELPS, RATE, AnalysisResult, enough, lines
from experiments.workloads.analysis_replay.telling import answer, named_line


def sections(result: AnalysisResult) -> list[Section]:
    """In reading order."""
    return [_answers(result), _queues(result)]


def _answers(result: AnalysisResult) -> Section:
    told = [paragraph(f"{answer(line)}.") for line in lines(result.points).values()]
    said = note(
        f"More paths help where some larger number of them has over {words.percent(HELPS)} more calls a second, by the medians."
        " Report R5: more than 8 disks did not help 64 analysis jobs, 3 or 4 were enough for what they needed, and the scheduler"
        " mattered a lot."
    )
    return Section(anchor="paths", title="How many paths help", parts=(*told, _plot(result), said))


def _plot(result: AnalysisResult) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure(height=3.2)
        for number, line in enumerate(lines(result.points).values()):
            xs = [point.at.paths for point in line]
            ours = [point.figures[RATE] for point in line]
            ys = [one.median for one in ours]
            around = ([one.median - (one.median if one.low is None else one.low) for one in ours],
                      [(one.median if one.high is None else one.high) - one.median for one in ours])  # fmt: skip
            axes.errorbar(xs, ys, yerr=around, color=series_colour(number), marker=marker(number), markersize=5, capsize=3,
                          label=named_line(line))  # fmt: skip
            rows += [(named_line(line), x, y) for x, y in zip(xs, ys, strict=True)]
        counts_on_x(axes, [point.at.paths for point in result.points], "paths")
        axes.set_ylabel("calls/s")
        from_zero(axes)
        legend_beside(axes)
    found = [
        f"{named_line(line)}: {paths}" for line in lines(result.points).values() if (paths := enough(line)) is not None
    ]
    sentence = f"Enough paths: {'; '.join(found)}." if found else "One number of paths was tried."
    return Plot(name="calls-by-paths", figure=figure, sentence=sentence,
                series=Series(name="calls-by-paths", header=("line", "paths", RATE), rows=tuple(rows)))  # fmt: skip


def _queues(result: AnalysisResult) -> Section:
    shown, numbers, marked = list[tuple[object, ...]](), list[tuple[Cell, ...]](), set[int]()
    for point in result.points:
        for one in middle(point.repeats).tuned:
            if one.refused:
                marked.add(len(shown))
            ahead = "not known" if one.read_ahead_kb is None else f"{one.read_ahead_kb:,} KiB"
            row = (named(point, result), one.path, one.device or "none on this host", one.scheduler or "not known")
            shown.append((*row, ahead, "; ".join(one.refused)))
            numbers.append((*row, one.read_ahead_kb, "; ".join(one.refused)))
    header = ("point", "path", "device", "scheduler", "read-ahead", "not set")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 2, 3, 5}), marked=frozenset(marked)),
        series=Series(
            name="queues",
            header=("point", "path", "device", "scheduler", "read_ahead_kb", "refused"),
            rows=tuple(numbers),
        ),
    )
    said = note("The values in force during the run, read from the kernel; restored after it.")
    return Section(anchor="queues", title="Schedulers and read-ahead", parts=(tabled, said))

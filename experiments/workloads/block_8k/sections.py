"""The sections of profile `block-8k`: the long run's samples, scaling over members, the search, fio's own job file."""

from __future__ import annotations

import dataclasses

from experiments.profiles.fio.sections import rate_by
from experiments.report import words
from experiments.report.palette import FAINT, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, note, paragraph
from experiments.report.plots import draw_line, drawing, from_zero, new_figure, over_time, time_unit
from experiments.report.views import middle
from experiments.workloads.block_8k.drift import BOUND
from experiments.workloads.block_8k.drift import said as drift_said
from experiments.workloads.block_8k.result import SAMPLE_S, BlockPoint, BlockResult
from experiments.workloads.block_8k.run import ALL_MEMBERS
from experiments.workloads.block_8k.telling import bounded, bounded_said


def sections(result: BlockResult) -> list[Section]:
    """Of the cases that were run."""
    by_case = {case: [point for point in result.points if point.at.case == case] for case in range(1, 7)}
    parts = []
    if by_case[2]:
        parts.append(_long(by_case[2][0]))
    scaled = tuple(point for case in ALL_MEMBERS for point in by_case[case])
    if scaled:
        parts.append(rate_by(dataclasses.replace(result, points=scaled), "members", "case", "iops", "IOPS"))
    if by_case[6]:
        parts.append(_search(result, by_case[6]))
    return parts


def _long(point: BlockPoint) -> Section:
    """The repeat that stands for the others."""
    run = middle(point.repeats)
    title = f"Case 2: {words.seconds(run.elapsed_s)} in samples of {SAMPLE_S} s"
    if not run.samples:
        return Section(anchor="long", title=title, parts=(paragraph("The run is shorter than a sample."),))
    samples = [(SAMPLE_S * (number + 0.5), value) for number, value in enumerate(run.samples)]
    length, unit = time_unit(run.elapsed_s)
    with drawing():
        figure, (axes,) = new_figure(height=3.0)
        draw_line(axes, samples, 0, "IOPS", length)
        over_time(axes, unit, "IOPS", start="the ramp-up's end")
    verdict = drift_said(run.drift) if run.drift else "too few samples to judge drift"
    rows = tuple((at, value) for at, value in samples)
    plot = Plot(name="long", figure=figure, sentence=f"{verdict[0].upper()}{verdict[1:]}.",
                series=Series(name="long", header=("second", "iops"), rows=rows))  # fmt: skip
    said = note(
        f"Drift: the line of least squares changes by over {words.percent(BOUND)} of the mean from end to end, and its 95 %"
        " interval, widened by how alike neighbouring samples are, does not hold zero. Report R2's curve is flat."
    )
    return Section(anchor="long", title=title, parts=(plot, said))


def _search(result: BlockResult, points: list[BlockPoint]) -> Section:
    """Load against rate, and against the mean response time with its bound."""
    most_ms = result.conditions["configuration"]["settings"]["most_ms"]
    points = sorted((point for point in points if "mean_us" in point.figures), key=lambda point: point.at.outstanding)
    loads = [point.at.outstanding for point in points]
    rates = [point.figures["iops"].median for point in points]
    means = [point.figures["mean_us"].median / 1000 for point in points]
    with drawing():
        figure, panels = new_figure(2, height=3.1)
        for number, (axes, values, label) in enumerate(
            zip(panels, (rates, means), ("IOPS", "mean response, ms"), strict=True)
        ):
            axes.plot(loads, values, color=series_colour(number), marker=marker(number), markersize=5)
            axes.set_title(label)
            axes.set_xlabel("outstanding on each of 4 volumes")
            axes.set_xlim(left=0)
            from_zero(axes)
        panels[1].axhline(most_ms, color=FAINT.light, linestyle=":", linewidth=1)
        if (best := bounded(points, most_ms)) is not None:
            panels[0].axvline(best.at.outstanding, color=FAINT.light, linestyle=":", linewidth=1)
    rows = tuple[tuple[Cell, ...], ...](zip(loads, rates, means, strict=True))
    series = Series(name="search", header=("outstanding", "iops", "mean_ms"), rows=rows)
    sentence = bounded_said(points, most_ms)
    plot = Plot(name="search", figure=figure, sentence=f"{sentence[0].upper()}{sentence[1:]}. Dotted: bound and answer.",
                series=series)  # fmt: skip
    said = note(
        "The mean is that of all I/Os of all volumes together; fio's own latency_target bounds a share of the I/Os of each"
        " thread by itself, which is another thing."
    )
    return Section(anchor="search", title=f"Case 6: the most within a mean of {most_ms:g} ms", parts=(plot, said))

"""How long each phase took."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series, missing
from experiments.report.plots import drawing, new_figure, plain, time_unit
from experiments.report.style import series_colour
from experiments.workloads.discovery.result import Point, Result
from experiments.workloads.discovery.views import middle_run, phases_of, point_name

ANCHOR, TITLE = "phases", "Phases"


def phases(result: Result) -> Section:
    """A bar for each point, cut into its phases."""
    timed = [point for point in result.points if phases_of(middle_run(point))]
    if not timed:
        return missing(ANCHOR, TITLE, "no run has times of its phases.")
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(timed, result),))


def phase_colours(names: list[str]) -> dict[str, str]:
    """The same colour for a phase in every figure."""
    known = ["walk", "expand", "index", "finalise", "ocr"]
    order = [*known, *(name for name in names if name not in known)]
    colours = (4, 0, 2, 3, 1, 5)
    return {name: series_colour(colours[number % len(colours)]) for number, name in enumerate(order)}


def _plot(points: list[Point], result: Result) -> Plot:
    by_point = [phases_of(middle_run(point)) for point in points]
    names = list(dict.fromkeys(name for phases in by_point for name in phases))
    length, unit = time_unit(max(sum(phases.values()) for phases in by_point))
    colours = phase_colours(names)
    with drawing():
        figure, (axes,) = new_figure(height=1.3 + 0.34 * len(points))
        left = [0.0] * len(points)
        for name in names:
            widths = [phases.get(name, 0.0) / length for phases in by_point]
            axes.barh(range(len(points)), widths, left=left, height=0.6, color=colours[name], label=name)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(points)), [point_name(point, result.points) for point in points])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(lambda value, _: plain(value))
        axes.set_xlabel(f"elapsed ({unit})")
        figure.legend(loc="outside upper right", ncols=len(names))
    rows: list[tuple[Cell, ...]] = [
        (point.workers, point.slots, point.databases, name, seconds)
        for point, phases in zip(points, by_point, strict=True) for name, seconds in phases.items()
    ]  # fmt: skip
    series = Series(name="phases", header=("workers", "slots", "databases", "phase", "seconds"), rows=tuple(rows))
    return Plot(name="phases", figure=figure, sentence=_sentence(points, by_point, result), series=series)


def _sentence(points: list[Point], by_point: list[dict[str, float]], result: Result) -> str:
    said = []
    for point, phases in (list(zip(points, by_point, strict=True)) if len(points) < 3 else
                          [(points[0], by_point[0]), (points[-1], by_point[-1])]):  # fmt: skip
        whole = sum(phases.values()) or 1.0
        longest = max(phases, key=lambda name: phases[name])
        share = words.percent(phases[longest] / whole)
        said.append(f"with {point_name(point, result.points)} {longest} takes {share} of {words.seconds(whole)}")
    text = words.listed(said)
    return text[0].upper() + text[1:] + ". Runs of median elapsed time; with several jobs, the longest."

"""Tasks waiting and under way over time (R1 §4.4 speaks of queued commands)."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Plot, Section, Series, missing
from experiments.report.plots import draw_line, drawing, from_zero, legend_beside, new_figure, time_unit
from experiments.report.style import series_colour
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.views import busiest, middle_run, which_run

ANCHOR, TITLE = "queue", "Queue depth over time"


def queue_depth(result: Result) -> Section:
    """Tasks pending, dispatched and running in the busiest point's median run."""
    point = busiest(result)
    run = middle_run(point)
    if not run.series.queue_depth:
        return missing(ANCHOR, TITLE, "the run has no samples of its task ledger.")
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(point, run, which_run(point, result.points)),))


def _plot(point: Point, run: Run, where: str) -> Plot:
    samples = run.series.queue_depth
    length, unit = time_unit(run.elapsed_s)
    with drawing():
        figure, (upper, lower) = new_figure(rows=2, height=3.6)
        for column, (axes, name) in enumerate(((upper, "pending"), (lower, "dispatched"), (lower, "running"))):
            draw_line(axes, [(sample[0], sample[column + 1]) for sample in samples], column, name, length)
        slots = point.workers * point.slots
        lower.axhline(slots, color=series_colour(5), linewidth=1, linestyle=":", label=words.many(slots, "slot"))
        for axes in (upper, lower):
            axes.set_ylabel("tasks")
            axes.set_xlim(left=0)
            from_zero(axes, whole=True)
            legend_beside(axes)
        lower.set_xlabel(f"time since the first claim ({unit})")
        upper.tick_params(labelbottom=False)
    series = Series(name="queue", header=("time_s", "pending", "dispatched", "running"), rows=samples)
    return Plot(name="queue", figure=figure, sentence=_sentence(samples, slots, where), series=series)


def _sentence(samples: tuple[tuple[float, int, int, int], ...], slots: int, where: str) -> str:
    deepest = max(samples, key=lambda sample: sample[1])
    full = sum(1 for sample in samples if sample[3] >= slots) / len(samples)
    starved = sum(1 for sample in samples if sample[3] < slots and sample[1] > 0) / len(samples)
    at_work = "the slot was busy" if slots == 1 else f"all {slots:,} slots were busy"
    return (
        f"With {where}, the most tasks pending were {deepest[1]:,} ({words.seconds(max(0.0, deepest[0]))} into "
        f"the run); {at_work} in {words.percent(full)} of "
        f"{words.many(len(samples), 'sample')}, and in {words.percent(starved)} some slot was free though tasks were pending."
    )

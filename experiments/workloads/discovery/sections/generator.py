"""Whether it is the storage: worker CPU, run-queue delay and the paired runs on null storage."""

from __future__ import annotations

from controller.timeline.thresholds import CPU_SHARE
from experiments.report import words
from experiments.report.markup import table
from experiments.report.palette import WARN
from experiments.report.parts import Cell, Part, Plot, Section, Series, Tabled, note
from experiments.report.plots import draw_line, drawing, legend_beside, new_figure, time_unit
from experiments.report.views import held, spread
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.sections.calls_over_time import MOST_LINES
from experiments.workloads.discovery.views import middle_run, point_name

ANCHOR, TITLE = "generator", "Worker CPU and run-queue delay"
_HEADER = ("point", "worker CPU", "run-queue delay", "over call time", "elapsed", "null storage", "storage share")
_NULL = ("portions", "held_bytes", "discarded_bytes")  # what a pair says of itself


def generator(result: Result) -> Section:
    """CPU over time, and of every run what decides GENERATOR-LIMITED: the storage share, or without a pair the rest."""
    sampled = [point for point in result.points if middle_run(point).series.worker_cpu]
    first: Part = note("Worker CPU over time is not shown: no run has samples of it.")
    if sampled:
        first = _plot(spread(sampled, MOST_LINES), result)
    return Section(anchor=ANCHOR, title=TITLE, parts=(first, _table(result)))


def _plot(points: list[Point], result: Result) -> Plot:
    length, unit = time_unit(max(middle_run(point).elapsed_s for point in points))
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure()
        for number, point in enumerate(points):
            run = middle_run(point)
            samples = run.series.worker_cpu
            line = [(at, share * 100) for at, share in samples]
            draw_line(axes, line, number, point_name(point, result.points), length)
            rows += [(point.workers, point.slots, point.databases, run.repeat, at, share) for at, share in samples]
        axes.axhline(CPU_SHARE * 100, color=WARN.light, linewidth=1, linestyle=":", label="bound")
        axes.set_ylim(0, 105)
        axes.set_xlim(left=0)
        axes.set_ylabel("worker CPU (% of the host)")
        axes.set_xlabel(f"time since the first claim ({unit})")
        legend_beside(axes)
    series = Series(name="worker-cpu", header=("workers", "slots", "databases", "repeat", "time_s", "share"),
                    rows=tuple(rows))  # fmt: skip
    return Plot(name="worker-cpu", figure=figure, sentence=_sentence(points, result), series=series)


def _sentence(points: list[Point], result: Result) -> str:
    said = []
    for point in points if len(points) <= 3 else [points[0], points[-1]]:
        run = middle_run(point)
        said.append(
            f"{point_name(point, result.points)}: workers take {words.percent(run.worker_cpu)} of the host's CPU "
            f"and wait for a core for {words.seconds(run.run_queue_s)} in all, compared with {words.seconds(run.call_time_s)} in calls"
        )
    return "; ".join(said) + "."


def _share(share: float | None) -> str:
    """A part of call time in percent, a multiple of it as one."""
    if share is None:
        return "no call time"
    return words.percent(share) if share <= 1 else f"{words.figure(share)}×"


def _on_null(run: Run) -> str:
    if run.null_elapsed_s is None:
        return "no null baseline"
    elapsed = words.seconds(run.null_elapsed_s)
    return f"{elapsed} in {run.null.portions} portions" if run.null and run.null.portions > 1 else elapsed


def _table(result: Result) -> Tabled:
    rows: list[tuple[object, ...]] = []
    numbers: list[tuple[Cell, ...]] = []
    for point in result.points:
        for run in point.repeats:
            rows.append(
                (
                    held(f"{point_name(point, result.points)}, repeat {run.repeat + 1}"),
                    words.percent(run.worker_cpu),
                    words.seconds(run.run_queue_s),
                    _share(run.run_queue_share),
                    words.seconds(run.elapsed_s),
                    _on_null(run),
                    "–" if run.storage_share is None else words.percent(run.storage_share),
                )
            )
            key = (point.workers, point.slots, point.databases, run.repeat)
            numbers.append((*key, run.worker_cpu, run.run_queue_s, run.call_time_s, run.run_queue_share,
                            run.elapsed_s, run.null_elapsed_s, run.storage_share,
                            *(None if run.null is None else getattr(run.null, name) for name in _NULL)))  # fmt: skip
    header = ("workers", "slots", "databases", "repeat", "worker_cpu", "run_queue_s", "call_time_s", "run_queue_share",
              "elapsed_s", "null_elapsed_s", "storage_share", *(f"null_{name}" for name in _NULL))  # fmt: skip
    return Tabled(table=table(_HEADER, rows), series=Series(name="generator", header=header, rows=tuple(numbers)))

"""Whether it is the storage: worker CPU, run-queue delay and the paired runs on null storage."""

from __future__ import annotations

from functools import partial

from controller.timeline.thresholds import CPU_SHARE
from experiments.report import words
from experiments.report.parts import Cell, Column, Part, Plot, Section, Series, Tabled, note, tabled
from experiments.report.plots import draw_line, drawing, legend_beside, new_figure, time_unit
from experiments.report.style import WARN
from experiments.report.views import held, spread
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.sections.calls_over_time import MOST_LINES
from experiments.workloads.discovery.views import KEYS, middle_run, point_name

ANCHOR, TITLE = "generator", "Worker CPU and run-queue delay"
_NULL = ("portions", "held_bytes", "discarded_bytes")  # fields of a null baseline


def generator(result: Result) -> Section:
    """CPU over time, and what decides GENERATOR-LIMITED of each run: storage share; without null baseline the rest."""
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


def _share(share: float) -> str:
    """A part of call time in percent, a multiple of it as one."""
    return words.percent(share) if share <= 1 else f"{words.figure(share)}×"


def _on_null(run: Run) -> str:
    if run.null_elapsed_s is None:
        return "no null baseline"
    elapsed = words.seconds(run.null_elapsed_s)
    return f"{elapsed} in {run.null.portions} portions" if run.null and run.null.portions > 1 else elapsed


def _of_null(name: str, row: tuple[Point, Run]) -> Cell:
    return None if row[1].null is None else getattr(row[1].null, name)


def _table(result: Result) -> Tabled:
    columns: tuple[Column[tuple[Point, Run]], ...] = (
        *KEYS,
        Column(
            "", "point", lambda row: f"{point_name(row[0], result.points)}, repeat {row[1].repeat + 1}", held, text=True
        ),
        Column("worker_cpu", "worker CPU", lambda row: row[1].worker_cpu, words.percent),
        Column("run_queue_s", "run-queue delay", lambda row: row[1].run_queue_s, words.seconds),
        Column("call_time_s", None, lambda row: row[1].call_time_s),
        Column("run_queue_share", "over call time", lambda row: row[1].run_queue_share, _share, missing="no call time"),
        Column("elapsed_s", "elapsed", lambda row: row[1].elapsed_s, words.seconds),
        Column("null_elapsed_s", None, lambda row: row[1].null_elapsed_s),
        Column("", "null storage", lambda row: _on_null(row[1])),
        Column("storage_share", "storage share", lambda row: row[1].storage_share, words.percent),
        *(Column(f"null_{name}", None, partial(_of_null, name)) for name in _NULL),
    )
    return tabled("generator", columns, [(point, run) for point in result.points for run in point.repeats])

"""Series over a run's time: calls, databases, task queue, slots, phases, and the workers' CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from controller.labels.rules import CPU_SHARE
from core.plain import grouped, natural
from experiments.report import words
from experiments.report.parts import (
    Cell,
    Column,
    Part,
    Parts,
    Plot,
    Series,
    Tabled,
    clean,
    note,
    plotted,
    section,
    series,
    tabled,
)
from experiments.report.plots import (
    Axes,
    draw_line,
    drawing,
    figure_of,
    from_zero,
    legend_right,
    over_time,
    plain,
    time_unit,
)
from experiments.report.style import WARN, series_colour
from experiments.report.views import binned, held, rates, spread, summed_rates
from experiments.workloads.discovery.result import Point, Result, Run, TaskSpan, merge_spans
from experiments.workloads.discovery.views import KEYS, busiest, middle_run, phases_of, point_name, reported, which_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES = 6
Panel = tuple[str, Callable[[Run], Sequence[tuple[float, float]]]]  # label of its axis, line of a run


def _drawn(points: Sequence[Point], result: Result, panels: Sequence[Panel]) -> tuple[Figure, list[Axes]]:
    """Draw a line for each point in every panel, over the time of its run of median elapsed time."""
    length, unit = time_unit(max(middle_run(point).elapsed_s for point in points))
    with figure_of(len(panels)) as (figure, every):
        for axes, (label, line) in zip(every, panels, strict=True):
            for number, point in enumerate(points):
                draw_line(axes, line(middle_run(point)), number, point_name(point, result.points), length)
            over_time(axes, unit, label)
        legend_right(every[-1])
    return figure, every


_Sample = tuple[Point, Run, Any]
_TIME: Column[_Sample] = Column("time_s", None, lambda row: row[2][0])


def _csv(name: str, points: Sequence[Point], of: Callable[[Run], Iterable[Any]], *columns: Column[_Sample]) -> Series:
    """Return the drawn samples; each begins with its time."""
    rows = [(point, run, one) for point in points for run in [middle_run(point)] for one in of(run)]
    return series(name, (*KEYS, _TIME, *columns), rows)


@section("calls", "Calls a second over time, by worker count")
def calls_over_time(result: Result) -> Parts:
    """Show one line for each point, from its run of median elapsed time."""
    with_calls = [point for point in result.points if middle_run(point).series.calls_per_second]
    if not with_calls:
        return "no run has call records by second."
    shown = spread(with_calls, MOST_LINES)
    figure, _ = _drawn(shown, result, [("calls a second", lambda run: binned(calls_of(run))[0])])
    ops = sorted({op for p in shown for _, by_op in middle_run(p).series.calls_per_second for op in by_op})
    columns = (Column(f"{op}_calls", None, partial(lambda op, row: int(row[2][1].get(op, 0)), op)) for op in ops)
    numbers = _csv("calls", shown, lambda run: run.series.calls_per_second, *columns)
    step = max(binned(calls_of(middle_run(point)))[1] for point in shown)
    sentence = f"{reported(shown, result, _calls_text)}." + (
        f" Lines are means over {step} s; peaks are of single seconds." if step > 1 else ""
    )
    parts: list[Part] = [Plot(name="calls", figure=figure, sentence=sentence, series=numbers), note(
        "R1's Figure 1 shows filer operations a second; these are calls of the storage layer. One call can be no "
        "wire operation (a cache answered) or several, so compare the shapes, not the numbers."
    )]  # fmt: skip
    if len(shown) < len(with_calls):
        parts.append(note(f"{len(shown)} of {len(with_calls)} points are drawn; the series file has the same ones."))
    return parts


def calls_of(run: Run) -> list[tuple[float, float]]:
    """Return (seconds, calls of all ops in that second), in order of time."""
    return sorted((at, float(sum(by_op.values()))) for at, by_op in run.series.calls_per_second)


def _calls_text(run: Run) -> str:
    calls = calls_of(run)
    at, peak = max(calls, key=lambda sample: sample[1])
    mean = sum(count for _, count in calls) / max(run.elapsed_s, 1.0)
    return (
        f"{words.count(peak)} calls a second at the peak, {words.seconds(max(0.0, at))} into the run,"
        f" {words.count(mean)} on average"
    )


@section("databases", "Database activity over time")
def database_activity(result: Result) -> Parts:
    """Show commits and rows a second, all databases of a point together; the CSV has each database."""
    sampled = [point for point in result.points if middle_run(point).series.database_activity]
    if not sampled:
        return "no run has samples of its databases' counters."
    shown = spread(sampled, MOST_LINES)
    panels: list[Panel] = [(f"{field} a second", partial(_rates, field)) for field in ("commits", "rows")]
    figure, _ = _drawn(shown, result, panels)
    numbers = _csv(
        "databases",
        shown,
        lambda run: ((at, name, by[name]) for at, by in run.series.database_activity for name in sorted(by)),
        Column("database", None, lambda row: row[2][1]),
        Column("commits", None, lambda row: row[2][2].get("commits", 0)),
        Column("rows", None, lambda row: row[2][2].get("rows", 0)),
    )
    sentence = f"{reported(shown, result, _activity_text) or 'The samples are too few for a rate'}."
    remark = "R1's Figure 2 shows iSCSI operations of its SQL server; these are commits and written rows, counted by PostgreSQL."
    return Plot(name="databases", figure=figure, sentence=sentence, series=numbers), note(remark)


def _rates(field: str, run: Run) -> list[tuple[float, float]]:
    """Return the rates of all the run's databases together; each is sampled at moments of its own."""
    samples: dict[str, list[tuple[float, float]]] = {}
    for at, by_database in run.series.database_activity:
        for name, activity in by_database.items():
            samples.setdefault(name, []).append((at, float(activity.get(field, 0))))
    return summed_rates([rates(one) for one in samples.values()])


def _activity_text(run: Run) -> str | None:
    if not (commits := _rates("commits", run)):
        return None
    at, peak = max(commits, key=lambda sample: sample[1])
    most_rows = max(rate for _, rate in _rates("rows", run))
    return (
        f"at most {words.figure(peak)} commits a second ({words.seconds(max(0.0, at))} into the run) and"
        f" {words.figure(most_rows)} rows a second"
    )


@section("queue", "Queue depth over time")
def queue_depth(result: Result) -> Parts:
    """Show tasks pending, dispatched and running in the busiest point's median run."""
    point = busiest(result)
    run = middle_run(point)
    if not run.series.queue_depth:
        return "the run has no samples of its task ledger."
    return (_queue_plot(point, run, which_run(point, result.points)),)


def _queue_plot(point: Point, run: Run, where: str) -> Plot:
    samples = run.series.queue_depth
    length, unit = time_unit(run.elapsed_s)
    with figure_of(rows=2, height=3.6) as (figure, (upper, lower)):
        for column, (axes, name) in enumerate(((upper, "pending"), (lower, "dispatched"), (lower, "running"))):
            draw_line(axes, [(sample[0], sample[column + 1]) for sample in samples], column, name, length)
        slots = point.at.workers * point.at.slots
        lower.axhline(slots, color=series_colour(5), linewidth=1, linestyle=":", label=words.many(slots, "slot"))
        for axes in (upper, lower):
            axes.set_ylabel("tasks")
            axes.set_xlim(left=0)
            from_zero(axes, whole=True)
            legend_right(axes)
        lower.set_xlabel(f"time since the first claim ({unit})")
        upper.tick_params(labelbottom=False)
    header = ("time_s", "pending", "dispatched", "running")
    return plotted("queue", figure, _queue_sentence(samples, slots, where), header, samples)


def _queue_sentence(samples: tuple[tuple[float, int, int, int], ...], slots: int, where: str) -> str:
    deepest = max(samples, key=lambda sample: sample[1])
    full = sum(1 for sample in samples if sample[3] >= slots) / len(samples)
    starved = sum(1 for sample in samples if sample[3] < slots and sample[1] > 0) / len(samples)
    at_work = "the slot was busy" if slots == 1 else f"all {slots:,} slots were busy"
    return (
        f"With {where}, the most tasks pending were {deepest[1]:,} ({words.seconds(max(0.0, deepest[0]))} into "
        f"the run); {at_work} in {words.percent(full)} of "
        f"{words.many(len(samples), 'sample')}, and in {words.percent(starved)} some slot was free though tasks were pending."
    )


@section("phases", "Phases")
def phases(result: Result) -> Parts:
    """Show a bar for each point, divided into its phases."""
    timed = [point for point in result.points if phases_of(middle_run(point))]
    if not timed:
        return "no run has times of its phases."
    return (_phases_plot(timed, result),)


def phase_colours(names: list[str]) -> dict[str, str]:
    """Return colours that are the same for a phase in every figure."""
    known = ["walk", "expand", "index", "finalise", "ocr"]
    order = [*known, *(name for name in names if name not in known)]
    colours = (4, 0, 2, 3, 1, 5)
    return {name: series_colour(colours[number % len(colours)]) for number, name in enumerate(order)}


def _phases_plot(points: list[Point], result: Result) -> Plot:
    by_point = [phases_of(middle_run(point)) for point in points]
    names = list(dict.fromkeys(name for phases in by_point for name in phases))
    length, unit = time_unit(max(sum(phases.values()) for phases in by_point))
    colours = phase_colours(names)
    with figure_of(height=1.3 + 0.34 * len(points)) as (figure, (axes,)):
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
        (point.at.workers, point.at.slots, point.at.databases, name, seconds)
        for point, phases in zip(points, by_point, strict=True) for name, seconds in phases.items()
    ]  # fmt: skip
    header = ("workers", "slots", "databases", "phase", "seconds")
    return plotted("phases", figure, _phases_sentence(points, by_point, result), header, rows)


def _phases_sentence(points: list[Point], by_point: list[dict[str, float]], result: Result) -> str:
    clauses = []
    for point, phases in (list(zip(points, by_point, strict=True)) if len(points) < 3 else
                          [(points[0], by_point[0]), (points[-1], by_point[-1])]):  # fmt: skip
        whole = sum(phases.values()) or 1.0
        longest = max(phases, key=lambda name: phases[name])
        share = words.percent(phases[longest] / whole)
        clauses.append(f"with {point_name(point, result.points)} {longest} takes {share} of {words.seconds(whole)}")
    text = words.listed(clauses)
    return text[0].upper() + text[1:] + ". Runs of median elapsed time; with several jobs, the longest."


MOST_SLOTS = 160
HIGHEST = 7.4  # inches: the figure and its sentence fit one printed page
_MERGE = 1 / 2000  # of the elapsed time: gaps narrower than a pixel are closed, or the page would be megabytes

_Slot = tuple[str, int]


@section("occupancy", "Slot occupancy")
def occupancy(result: Result) -> Parts:
    """Show the tasks of the busiest point's median run, one row for each slot."""
    point = busiest(result)
    run = middle_run(point)
    if not run.series.tasks:
        return "the run has no record of its tasks' times."
    rows = by_slot(run.series.tasks)
    drawn = dict(list(rows.items())[:MOST_SLOTS])
    parts: list[Part] = [_slots_plot(run, drawn, rows, which_run(point, result.points))]
    if len(drawn) < len(rows):
        parts.append(note(f"{len(drawn)} of {len(rows)} slots are drawn; the series file has all."))
    return tuple(parts)


def by_slot(tasks: tuple[TaskSpan, ...]) -> dict[_Slot, list[TaskSpan]]:
    """Return tasks by (worker, slot), each in order of time."""
    ordered = sorted(tasks, key=lambda task: (natural(task[0]), task[1], task[3]))
    return grouped(ordered, lambda task: (task[0], task[1]))


def _slots_plot(run: Run, drawn: dict[_Slot, list[TaskSpan]], rows: dict[_Slot, list[TaskSpan]], where: str) -> Plot:
    from matplotlib.patches import Patch

    length, unit = time_unit(run.elapsed_s)
    phases = list(dict.fromkeys(task[2] for task in run.series.tasks))
    colours = phase_colours(phases)
    with figure_of(height=min(HIGHEST, 1.2 + 0.2 * max(4, len(drawn)))) as (figure, (axes,)):
        for place, tasks in enumerate(drawn.values()):
            for phase in phases:
                bars = [(start / length, max(end - start, run.elapsed_s * _MERGE) / length)
                        for _, _, name, start, end in merge_spans(tasks, gap=run.elapsed_s * _MERGE) if name == phase]  # fmt: skip
                if bars:
                    axes.broken_barh(bars, (place - 0.38, 0.76), facecolors=colours[phase], edgecolor="none")
        _name_rows(axes, list(drawn))
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.set_ylabel("worker and slot")
        axes.set_xlim(0, max(run.elapsed_s, max(task[4] for task in run.series.tasks)) / length)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"time since the first claim ({unit})")
        patches = [Patch(color=colours[phase], label=phase) for phase in phases]
        figure.legend(handles=patches, loc="outside upper right", ncols=len(phases))
    header = ("worker", "slot", "phase", "start_s", "end_s")
    return plotted("occupancy", figure, _slots_sentence(run, rows, where), header, run.series.tasks)


def _name_rows(axes: Axes, slots: list[_Slot]) -> None:
    """Label each row with worker and slot number; if rows are too thin, label each worker once in its middle."""
    first = [n for n, slot in enumerate(slots) if n == 0 or slots[n - 1][0] != slot[0]]
    if len(slots) <= 32:
        labels = [f"{clean(worker) if n in first else ''}  {slot}" for n, (worker, slot) in enumerate(slots)]
        axes.set_yticks(range(len(slots)), labels)
        return
    ends = [*first[1:], len(slots)]
    every = max(1, len(first) // 32)  # of very many workers, not each is named
    middles = [(start + end - 1) / 2 for start, end in zip(first, ends, strict=True)]
    axes.set_yticks(middles[::every], [clean(slots[start][0]) for start in first[::every]])


def _slots_sentence(run: Run, rows: dict[_Slot, list[TaskSpan]], where: str) -> str:
    busy = sum(end - start for tasks in rows.values() for _, _, _, start, end in tasks)
    share = busy / (run.elapsed_s * len(rows)) if run.elapsed_s else 0.0
    text = f"With {where}, {words.many(len(rows), 'slot')} had a task for {words.percent(share)} of the elapsed time"
    if run.first_done_s is None or run.last_done_s is None:
        return f"{text}; when the first and the last slot ended is unknown."
    tail = run.last_done_s - run.first_done_s
    return (
        f"{text}; the first slot had ended at {words.seconds(run.first_done_s)} and the last at "
        f"{words.seconds(run.last_done_s)}, a straggler tail of {words.percent(tail / max(run.elapsed_s, 1e-9))} of elapsed."
    )


_NULL = ("portions", "held_bytes", "discarded_bytes")  # fields of a null baseline


@section("generator", "Worker CPU and run-queue delay")
def generator(result: Result) -> Parts:
    """Show CPU over time, and what decides GENERATOR-LIMITED for each run: storage share; without null baseline the
    rest."""
    sampled = [point for point in result.points if middle_run(point).series.worker_cpu]
    first: Part = note("Worker CPU over time is not shown: no run has samples of it.")
    if sampled:
        first = _cpu_plot(spread(sampled, MOST_LINES), result)
    return first, _table(result)


def _cpu_plot(points: list[Point], result: Result) -> Plot:
    line: Panel = (
        "worker CPU (% of the host)",
        lambda run: [(at, share * 100) for at, share in run.series.worker_cpu],
    )
    figure, (axes,) = _drawn(points, result, [line])
    with drawing():
        axes.axhline(CPU_SHARE * 100, color=WARN.light, linewidth=1, linestyle=":", label="bound")
        axes.set_ylim(0, 105)
        legend_right(axes)
    numbers = _csv(
        "worker-cpu", points, lambda run: run.series.worker_cpu, Column("share", None, lambda row: row[2][1])
    )
    return Plot(name="worker-cpu", figure=figure, sentence=f"{reported(points, result, _cpu_text)}.", series=numbers)


def _cpu_text(run: Run) -> str:
    return (
        f"workers take {words.percent(run.worker_cpu)} of the host's CPU and wait for a core for"
        f" {words.seconds(run.run_queue_s)} in all, compared with {words.seconds(run.call_time_s)} in calls"
    )


def _share(share: float) -> str:
    """Return a part of call time in percent, or a multiple of it as a factor."""
    return words.percent(share) if share <= 1 else f"{words.figure(share)}×"


def _on_null(run: Run) -> str:
    if run.null_elapsed_s is None:
        return "no null baseline"
    elapsed = words.seconds(run.null_elapsed_s)
    return f"{elapsed} in {run.null.portions} portions" if run.null and run.null.portions > 1 else elapsed


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
        Column("null_elapsed_s", "null storage", lambda row: row[1].null_elapsed_s, show=lambda row: _on_null(row[1])),
        Column("storage_share", "storage share", lambda row: row[1].storage_share, words.percent),
        *(
            Column(f"null_{name}", None, partial(lambda name, row: getattr(row[1].null, name, None), name))
            for name in _NULL
        ),
    )
    return tabled("generator", columns, [(point, run) for point in result.points for run in point.repeats])

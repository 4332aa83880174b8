"""Which slot did what when: a Gantt chart of the tasks, in which stragglers are seen."""

from __future__ import annotations

import re

from experiments.report import words
from experiments.report.parts import Part, Plot, Section, Series, clean, missing, note
from experiments.report.plots import Axes, drawing, new_figure, time_unit
from experiments.workloads.discovery.result import Result, Run, TaskSpan
from experiments.workloads.discovery.sections.phases import phase_colours
from experiments.workloads.discovery.views import busiest, middle_run, which_run

ANCHOR, TITLE = "occupancy", "Slot occupancy"
MOST_SLOTS = 160
HIGHEST = 7.4  # inches: with its sentence it fits one printed page
_MERGE = 1 / 2000  # of the elapsed time: gaps narrower than a pixel are closed, or the page would be megabytes

_Slot = tuple[str, int]
_Bar = tuple[float, float, str]  # start, end, phase


def occupancy(result: Result) -> Section:
    """The tasks of the busiest point's median run, one row for each slot."""
    point = busiest(result)
    run = middle_run(point)
    if not run.series.tasks:
        return missing(ANCHOR, TITLE, "the run has no record of its tasks' times.")
    rows = by_slot(run.series.tasks)
    drawn = dict(list(rows.items())[:MOST_SLOTS])
    parts: list[Part] = [_plot(run, drawn, rows, which_run(point, result.points))]
    if len(drawn) < len(rows):
        parts.append(note(f"{len(drawn)} of {len(rows)} slots are drawn; the series on disk has all."))
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def by_slot(tasks: tuple[TaskSpan, ...]) -> dict[_Slot, list[TaskSpan]]:
    """Tasks by (worker, slot), each in order of time."""
    rows: dict[_Slot, list[TaskSpan]] = {}
    for task in sorted(tasks, key=lambda task: (_natural(task[0]), task[1], task[3])):
        rows.setdefault((task[0], task[1]), []).append(task)
    return rows


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts worker-2 before worker-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def merged(tasks: list[TaskSpan], gap: float) -> list[_Bar]:
    """Bars of a slot's tasks; neighbours of one phase that are nearer than the gap become one."""
    bars: list[_Bar] = []
    for _, _, phase, start, end in tasks:
        if bars and bars[-1][2] == phase and start - bars[-1][1] <= gap:
            bars[-1] = (bars[-1][0], max(end, bars[-1][1]), phase)
        else:
            bars.append((start, end, phase))
    return bars


def busy_share(rows: dict[_Slot, list[TaskSpan]], elapsed_s: float, slots: int) -> float:
    """Slot-seconds with a task over all slot-seconds of the run."""
    whole = elapsed_s * slots
    return sum(end - start for tasks in rows.values() for _, _, _, start, end in tasks) / whole if whole else 0.0


def _plot(run: Run, drawn: dict[_Slot, list[TaskSpan]], rows: dict[_Slot, list[TaskSpan]], where: str) -> Plot:
    from matplotlib.patches import Patch

    length, unit = time_unit(run.elapsed_s)
    phases = list(dict.fromkeys(task[2] for task in run.series.tasks))
    colours = phase_colours(phases)
    with drawing():
        figure, (axes,) = new_figure(height=min(HIGHEST, 1.2 + 0.2 * max(4, len(drawn))))
        for place, tasks in enumerate(drawn.values()):
            for phase in phases:
                bars = [(start / length, max(end - start, run.elapsed_s * _MERGE) / length)
                        for start, end, name in merged(tasks, run.elapsed_s * _MERGE) if name == phase]  # fmt: skip
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
    series = Series(name="occupancy", header=("worker", "slot", "phase", "start_s", "end_s"), rows=run.series.tasks)
    return Plot(name="occupancy", figure=figure, sentence=_sentence(run, rows, where), series=series)


def _name_rows(axes: Axes, slots: list[_Slot]) -> None:
    """The worker and the slot's number at each row; where rows are too thin for that, each worker once in its middle."""
    first = [n for n, slot in enumerate(slots) if n == 0 or slots[n - 1][0] != slot[0]]
    if len(slots) <= 32:
        labels = [f"{clean(worker) if n in first else ''}  {slot}" for n, (worker, slot) in enumerate(slots)]
        axes.set_yticks(range(len(slots)), labels)
        return
    ends = [*first[1:], len(slots)]
    every = max(1, len(first) // 32)  # of very many workers, not each is named
    middles = [(start + end - 1) / 2 for start, end in zip(first, ends, strict=True)]
    axes.set_yticks(middles[::every], [clean(slots[start][0]) for start in first[::every]])


def _sentence(run: Run, rows: dict[_Slot, list[TaskSpan]], where: str) -> str:
    share = busy_share(rows, run.elapsed_s, len(rows))
    said = f"With {where}, {words.many(len(rows), 'slot')} had a task for {words.percent(share)} of the elapsed time"
    if run.first_done_s is None or run.last_done_s is None:
        return f"{said}; when the first and the last slot had ended is not known."
    tail = run.last_done_s - run.first_done_s
    return (
        f"{said}; the first slot had ended at {words.seconds(run.first_done_s)} and the last at "
        f"{words.seconds(run.last_done_s)}, a straggler tail of {words.percent(tail / max(run.elapsed_s, 1e-9))} of elapsed."
    )

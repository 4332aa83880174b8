"""Section: whether it is the storage: the ceiling on null storage, processors, run queue, lateness."""

from __future__ import annotations

from controller.replay.ceiling import MARK
from controller.timeline.thresholds import CPU_SHARE, RUN_QUEUE_SHARE
from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Part, Section, Series, Tabled, note
from experiments.workloads.replay.result import ReplayPoint, ReplayResult, ReplayRun

ANCHOR, TITLE = "replayer", "Was the replayer the limit?"
_HEADER = (
    "storage",
    "clients",
    "repeat",
    "calls/s",
    "ceiling",
    "share of it",
    "processors",
    "run queue",
    "latest start",
    "waited",
    "prepared",
)


def replayer(result: ReplayResult) -> Section:
    """One line a replay; why a point says nothing about the storage stands under the points."""
    parts: tuple[Part, ...] = (
        _table(result),
        note(
            "The ceiling is what the same clients make of calls on null storage (memory) without think time, measured"
            f" once for each number of clients. A point is GENERATOR-LIMITED above {words.percent(MARK)} of it, when the clients take over"
            f" {words.percent(CPU_SHARE)} of the processors, or wait for one for over {words.percent(RUN_QUEUE_SHARE)} of"
            " the time spent in calls. Latest start: the largest delay of a call behind its intended start. Waited: for"
            " calls of other clients that had to come first, summed over clients."
        ),
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=parts)


def _table(result: ReplayResult) -> Tabled:
    every = [(point, run) for point in result.points for run in point.repeats]
    numbers: list[tuple[Cell, ...]] = [
        (p.storage, p.clients, run.repeat, run.calls_per_second, run.ceiling, run.worker_cpu, run.run_queue_share,
         run.late_s, run.waited_s, run.prepared_s, int(p.limited))
        for p, run in every
    ]  # fmt: skip
    marked = frozenset(number for number, (point, _) in enumerate(every) if point.limited)
    header = ("storage", "clients", "repeat", "calls_per_s", "ceiling_calls_per_s", "client_cpu", "run_queue_share", "late_s",
              "waited_s", "prepared_s", "limited")  # fmt: skip
    shown = table(_HEADER, [_row(point, run) for point, run in every], marked=marked)
    return Tabled(table=shown, series=Series(name="replayer", header=header, rows=tuple(numbers)))


def _row(point: ReplayPoint, run: ReplayRun) -> tuple[object, ...]:
    top = run.ceiling
    return (
        point.storage,
        point.clients,
        run.repeat + 1,
        words.figure(run.calls_per_second),
        "not known" if top is None else words.figure(top),
        "–" if not top else words.percent(run.calls_per_second / top),
        words.percent(run.worker_cpu),
        "–" if run.run_queue_share is None else words.percent(run.run_queue_share),
        words.microseconds(run.late_s * 1e6),
        words.seconds(run.waited_s),
        words.seconds(run.prepared_s),
    )

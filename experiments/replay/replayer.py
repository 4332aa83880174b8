"""Section: whether it is the storage: the ceiling on null storage, processors, run queue, lateness."""

from __future__ import annotations

from controller.replay.ceiling import MARK
from controller.timeline.thresholds import CPU_SHARE, RUN_QUEUE_SHARE
from experiments.replay.result import ReplayPoint, ReplayResult
from experiments.report import words
from experiments.report.markup import table, tag
from experiments.report.parts import Cell, Part, Section, Series, Tabled, note

ANCHOR, TITLE = "replayer", "Was the replayer the limit?"
_HEADER = (
    "storage",
    "clients",
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
    """One line a point, and why a point says nothing about the storage."""
    parts: list[Part] = [_table(result)]
    reasons = [
        tag("li", f"{point.storage}, {words.many(point.clients, 'client')}: {reason}")
        for point in result.points
        for reason in point.limits
    ]
    if reasons:
        parts.append(tag("ul", *reasons))
    parts.append(
        note(
            "The ceiling is what the same clients make of calls on null storage (memory) without think time, measured"
            f" before the first replay with so many clients. A point is GENERATOR-LIMITED above {words.percent(MARK)} of it, when the clients take over"
            f" {words.percent(CPU_SHARE)} of the processors, or wait for one for over {words.percent(RUN_QUEUE_SHARE)} of"
            " the time spent in calls. Latest start: the largest delay of a call behind its intended start. Waited: for"
            " calls of other clients that had to come first, summed over clients."
        )
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def _table(result: ReplayResult) -> Tabled:
    rows = [_row(point) for point in result.points]
    numbers: list[tuple[Cell, ...]] = [
        (p.storage, p.clients, p.calls_per_second, None if p.ceiling is None else p.ceiling.calls_per_second, p.client_cpu,
         p.run_queue_share, p.late_s, p.waited_s, p.prepared_s, int(p.limited))
        for p in result.points
    ]  # fmt: skip
    marked = frozenset(number for number, point in enumerate(result.points) if point.limited)
    header = ("storage", "clients", "calls_per_s", "ceiling_calls_per_s", "client_cpu", "run_queue_share", "late_s", "waited_s",
              "prepared_s", "limited")  # fmt: skip
    return Tabled(table=table(_HEADER, rows, marked=marked), series=Series(name="replayer", header=header,
                                                                          rows=tuple(numbers)))  # fmt: skip


def _row(point: ReplayPoint) -> tuple[object, ...]:
    top = point.ceiling
    return (
        point.storage,
        point.clients,
        words.figure(point.calls_per_second),
        "not known" if top is None else words.figure(top.calls_per_second),
        "–"
        if top is None or not top.calls_per_second
        else words.percent(point.calls_per_second / top.calls_per_second),
        words.percent(point.client_cpu),
        "–" if point.run_queue_share is None else words.percent(point.run_queue_share),
        words.microseconds(point.late_s * 1e6),
        words.seconds(point.waited_s),
        words.seconds(point.prepared_s),
    )

"""Composition of the time inside storage calls: service, the emulated filer's queues, waiting for a CPU. The calls of a
real storage are not measured one by one.

Each slot's run-queue delay (its threads' waits for a CPU) is read once a second. How much of it fell into calls is
estimated: the share that calls had of the slot's time in tasks. A call of an emulated filer has a planned end; the time
beyond it is its overshoot: waiting for a CPU, or for the local storage beneath, if that is slower than the filer."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence

from controller.databases import JobHandle
from controller.timeline.readings import Counter, JobAt, Readings, counter, number
from core.document import Document, Milli
from core.filer.emulation import octave
from core.histogram import bucket_bounds
from core.operations import Op
from monitoring.aggregate import CallSum, step_for
from monitoring.observations import WORKER
from sql.timeline import TIMELINE, Values

DOMINATED = 0.5  # share of waiting from which on the CPU dominates a percentile
PERCENTS = (50, 95, 99)
ALL = "all"  # in place of an op's label: all calls together
_POINTS = 600
_MARGIN_SECONDS = 3  # before and after a job: readings to grow from

Over = Mapping[str, Mapping[int, int]]  # op label → octave → calls that are mostly overshoot
Steps = Mapping[int, Mapping[int, CallSum]]  # first second of a step → op → its calls


class CallTimeFigures(Document):
    """The time inside calls of a job or a group's jobs; seconds summed over slots."""

    call_s: Milli  # inside calls
    service_s: Milli  # the rest of it
    queue_s: Milli | None  # of it in the emulated filer's queues; None on real storage, whose queues are not visible
    processor_s: Milli  # of it waiting for a CPU
    exact: bool  # `processor_s` was measured at each call; else it is estimated
    # Op label, or ALL → its percentiles of which more than half is waiting for a CPU; none unless `exact`.
    dominated: dict[str, list[str]]


def call_time(handles: Sequence[JobHandle]) -> CallTimeFigures | None:
    """Return the time of the jobs' calls; None if no call was recorded, or no worker reported readings. Raises
    DatabaseFault."""
    with contextlib.ExitStack() as stack:
        jobs = [(stack.enter_context(handle.database.transaction()), handle.id) for handle in handles]
        times = [TIMELINE.timeline_job(conn, job=job) for conn, job in jobs]
        starts = [row.started for row in times if row.started is not None]
        if not starts:
            return None
        ends = [row.finished or row.stopped or row.now for row in times]
        low, high = math.floor(min(starts)), math.ceil(max(ends)) + 1
        step = step_for(low, high, _POINTS)
        witness = max(range(len(jobs)), key=lambda n: ends[n])
        workers = _workers(jobs[witness], step, low, high)
        return split(_steps(jobs, step, low), workers, step) if workers else None


def split(steps: Steps, workers: Mapping[str, Readings], step: int) -> CallTimeFigures | None:
    """Divide the time of calls, given by step of so many seconds, with the readings of workers; see `call_time`."""
    counters = {key: [_counter(readings, key) for readings in workers.values()] for key in ("wait", "over", "queued")}
    counters["busy"] = [counter(readings, number("busy_s"), by_second=True) for readings in workers.values()]
    exact = any("slot_over_s" in values for readings in workers.values() for _, values in readings)
    inside = {second: sum(call_sum.total_ns for call_sum in by_op.values()) / 1e9 for second, by_op in steps.items()}
    call_s = sum(inside.values())
    if not call_s:
        return None

    def grown(key: str, low: int, high: int) -> float:
        return sum(one.grown(low, high)[0] for one in counters[key])

    low, high = min(inside), max(inside) + step
    if exact:  # over all steps: if CPUs are short, readings come seconds after their calls
        processor_s = min(grown("over", low, high), call_s)
    else:
        processor_s = sum(
            min(_within_calls(grown("wait", at, at + step), calls, grown("busy", at, at + step)), calls)
            for at, calls in inside.items()
        )
    queue_s = grown("queued", low, high)
    queued = min(queue_s, call_s - processor_s) if exact else None
    dominated = _dominated(steps, _mostly_over(workers)) if exact else {}
    return CallTimeFigures(
        call_s=call_s,
        service_s=max(0.0, call_s - processor_s - (queued or 0.0)),
        queue_s=queued,
        processor_s=processor_s,
        exact=exact,
        dominated=dominated,
    )


def _within_calls(wait: float, inside: float, busy: float) -> float:
    """Estimate the part of a step's waits that fell into calls, as if spread evenly over the time in tasks."""
    return wait * min(1.0, inside / busy) if busy else wait


def _dominated(steps: Steps, over: Over) -> dict[str, list[str]]:
    """Return, for each op, the percentiles that waiting for a CPU dominates: most calls as long as it (by octave) or
    longer are mostly waiting. Calls of real storage cannot show that: an fsync next to slots that waited did not
    wait."""
    of: dict[str, list[CallSum]] = {}
    for by_op in steps.values():
        for op, sums in by_op.items():
            for name in (Op(op).label, ALL):
                of.setdefault(name, []).append(sums)
    out = {op: _measured(_merged(sums), over.get(op, {})) for op, sums in of.items()}
    return {op: marked for op, marked in out.items() if marked}


def _measured(whole: CallSum, over: Mapping[int, int]) -> list[str]:
    calls: dict[int, int] = {}
    for bucket, n in whole.histogram.counts.items():
        at = octave(bucket_bounds(bucket)[0])
        calls[at] = calls.get(at, 0) + n
    marked = []
    for percent, value in zip(PERCENTS, whole.histogram.percentiles(PERCENTS, whole.max_ns), strict=True):
        waiting, every = (sum(n for at, n in one.items() if at >= octave(value)) for one in (over, calls))
        if waiting > DOMINATED * every:
            marked.append(f"p{percent}")
    return marked


def _mostly_over(workers: Mapping[str, Readings]) -> dict[str, dict[int, int]]:
    """Count the calls that were mostly overshoot, between the first and the last reading of each worker."""
    out: dict[str, dict[int, int]] = {ALL: {}}
    for readings in workers.values():
        before, after = (readings[at][1].get("mostly_over", {}) for at in (0, -1))
        for op, counts in after.items():
            for at, n in counts.items():
                grown = n - before.get(op, {}).get(at, 0)
                for name in (op, ALL):
                    of = out.setdefault(name, {})
                    of[int(at)] = of.get(int(at), 0) + grown
    return out


def _merged(call_sums: Iterable[CallSum]) -> CallSum:
    out = CallSum()
    for one in call_sums:
        out.merge(one, one.histogram)
    return out


def _steps(jobs: Sequence[JobAt], step: int, low: int) -> dict[int, dict[int, CallSum]]:
    out: dict[int, dict[int, CallSum]] = {}
    for conn, job in jobs:
        for row in TIMELINE.timeline_call_histograms(conn, job=job, step=step, low=low - low % step):
            out.setdefault(row.second, {}).setdefault(row.op, CallSum()).add(row)
    return out


def _workers(job: JobAt, step: int, low: int, high: int) -> dict[str, Readings]:
    low, high = low - step - _MARGIN_SECONDS, high + _MARGIN_SECONDS
    readings: dict[str, list[tuple[int, Values]]] = {}
    where = {"step": step, "low": low, "high": high, "first": low + 5, "last": high - 5}
    for row in TIMELINE.timeline_readings(job[0], kinds=[WORKER], **where):
        if "slot_wait_s" in row.values:
            readings.setdefault(row.source, []).append((row.second, row.values))
    return dict(readings)


def _counter(readings: Readings, key: str) -> Counter:
    """Return a worker's counter, all slots together."""
    return Counter((second, sum(values.get(f"slot_{key}_s", ()))) for second, values in readings)

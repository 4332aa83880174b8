"""Computes every figure of a run from its observations: times, rates, calls, series, phases and steadiness.

Steadiness is judged of each phase that takes a tenth of the run or more, by itself: another phase makes other calls. A
phase's calls change with what it has come to (first large files, then small ones), so each call counts by its op's mean
time in that phase: an open may be worth three reads throughout, and what slows or speeds the storage up shows, not
which files it holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.jobs.figures import GroupFigures, JobFigures, calls_figures, merge, rates
from controller.observe.call_time import CallTimeFigures
from core.operations import Op
from core.records import Phase
from experiments.report.views import spread
from experiments.result.codec import decode
from experiments.result.latency import call_time_of, latency, marked
from experiments.result.schema import Latency, Steady
from experiments.result.steady import judged
from experiments.workloads.discovery.observed import JobTables, Observed, OnNull, Samples
from experiments.workloads.discovery.result import (
    WORKERS,
    CallSecond,
    CallUse,
    ContainerUse,
    DatabaseSecond,
    FilerSecond,
    NullUse,
    PhaseUse,
    QueueSecond,
    Run,
    Series,
    TaskSpan,
    merge_spans,
)
from monitoring.aggregate import CallSum, sums_of, totals_by_op
from sql.runs import CallSecond as CallRow
from sql.runs import PhaseSpan

_CALLS = "call_seconds"
# Figures of a group that do not follow from its jobs.
_OWN = ("job_id", "group_id", "kind", "source_copies", "name", "source", "calls", "call_time", "io", "wire", "labels")


def recomputed_figures(result: dict[str, Any], jobs: Sequence[JobTables]) -> dict[str, Any]:
    """Return the figures of a job, or of a group with those of its jobs, with times, rates and calls recomputed from
    the rows. Raises ValueError for invalid figures."""
    if "jobs" not in result:
        return _job(JobFigures.model_validate(result), jobs[0]).to_json()
    group = GroupFigures.model_validate(result)
    each = [_job(one, job) for one, job in zip(group.jobs, jobs, strict=True)]
    own = {name: getattr(group, name) for name in _OWN} | _calls(jobs, group.call_time)
    return merge(each, **own).with_observed({"filer": group.filer}).to_json()


def _job(figures: JobFigures, job: JobTables) -> JobFigures:
    times, held = job.rows("job_times")[0], job.rows("job_held")[0]
    sizes = {key: getattr(figures, key) for key in ("raw_bytes", "discovered_bytes", "items")}
    return figures.with_observed(
        rates(**sizes, seconds=max(0.0, times.finished - times.first_claim - times.stopped))
        | {
            "phases": {p.phase: max(0.0, p.finished - p.started - p.stopped) for p in job.rows("phase_spans")},
            "span_s": (times.first_claim, times.finished),
            "held_s": None if held.finished is None else (held.started, held.finished),
        }
        | _calls([job], figures.call_time)
    )


def _calls(jobs: Sequence[JobTables], times: CallTimeFigures | None) -> dict[str, Any]:
    """Return the calls of the jobs; nothing for jobs whose calls were not kept (on null storage)."""
    kept = [job for job in jobs if _CALLS in job.tables]
    if not kept:
        return {}
    return {"calls": calls_figures(totals_by_op(row for job in kept for row in job.rows(_CALLS)), times)}


Readings = Sequence[tuple[float, float, float]]  # by this host's clock, two counters as they were read

STAGES = 3
_SPANS = 1_000  # a slot's tasks of one phase with less than this share of the run between them make one span


@dataclass(frozen=True, slots=True)
class Times:
    """Start and end of a run's work, seconds since the epoch on the database's clock."""

    start: float
    end: float

    @property
    def elapsed(self) -> float:
        """Seconds from start to end."""
        return self.end - self.start

    def since(self, at: float) -> float:
        """Return the seconds since the start, at least 0, to the millisecond."""
        return round(max(0.0, at - self.start), 3)


@dataclass(frozen=True, slots=True)
class Calls:
    """Everything derived from a run's stored calls."""

    per_second: tuple[CallSecond, ...]
    latency: dict[str, Latency]
    stages: tuple[dict[str, Latency], ...]
    seconds: float  # spent inside calls, summed over slots


def times_of(jobs: Sequence[JobTables]) -> Times:
    """Return the times from the first claim of the first job to the end of the last."""
    rows = [job.rows("job_times")[0] for job in jobs]
    return Times(min(row.first_claim for row in rows), max(row.finished for row in rows))


def calls_of(jobs: Sequence[JobTables], times: Times) -> Calls:
    """Return calls by second, and latencies over the whole run and its three thirds; all jobs together."""
    whole: dict[int, CallSum] = {}
    stages: list[dict[int, CallSum]] = [{} for _ in range(STAGES)]
    seconds: dict[int, dict[str, int]] = {}
    total_ns = 0
    for row in (row for job in jobs for row in job.rows("call_seconds")):
        stage = int((row.second + 0.5 - times.start) / times.elapsed * STAGES) if times.elapsed > 0 else 0
        whole.setdefault(row.op, CallSum()).add(row)
        stages[min(max(stage, 0), STAGES - 1)].setdefault(row.op, CallSum()).add(row)
        by_op = seconds.setdefault(row.second, {})
        by_op[Op(row.op).label] = by_op.get(Op(row.op).label, 0) + row.calls
        total_ns += row.total_ns
    return Calls(
        per_second=tuple((times.since(second), seconds[second]) for second in sorted(seconds)),
        latency=_latencies(whole),
        stages=tuple(_latencies(stage) for stage in stages),
        seconds=total_ns / 1e9,
    )


def _latencies(merged: dict[int, CallSum]) -> dict[str, Latency]:
    return {
        Op(op).label: latency(one.calls, one.bytes, one.errors, one.histogram, one.max_ns)
        for op, one in sorted(merged.items())
    }


def spans_of(jobs: Sequence[JobTables], times: Times) -> tuple[TaskSpan, ...]:
    """Return the tasks of every slot over time; consecutive tasks of one phase are merged into one span."""
    rows = [row for job in jobs for row in job.rows("task_spans")]
    return merge_spans(
        [(r.worker, r.slot, r.phase, times.since(r.claimed), times.since(r.finished)) for r in rows],
        gap=times.elapsed / _SPANS,
    )


def first_and_last_done(spans: Iterable[TaskSpan]) -> tuple[float | None, float | None]:
    """Return when the first and the last slot had ended their last task, except finalise; None without any."""
    ends: dict[tuple[str, int], float] = {}
    for worker, slot, phase, _, end in spans:
        if phase != Phase.FINALISE.value:
            ends[worker, slot] = max(end, ends.get((worker, slot), 0.0))
    return (min(ends.values()), max(ends.values())) if ends else (None, None)


def activity(samples: Samples, times: Times) -> tuple[DatabaseSecond, ...]:
    """Return commits and rows written since the previous sample, by database, while the run lasted."""
    by_time: dict[float, dict[str, dict[str, int]]] = {}
    for name, readings in samples.activity.items():
        for before, now in itertools.pairwise(readings):
            if now[0] < times.start or before[0] > times.end:
                continue
            moved = {"commits": max(0, now[1] - before[1]), "rows": max(0, now[2] - before[2])}
            by_time.setdefault(times.since(now[0]), {})[name] = moved
    return tuple((at, by_time[at]) for at in sorted(by_time))


def queue_depth(samples: Samples, times: Times, offset: float) -> tuple[QueueSecond, ...]:
    """Return the tasks that are not done; `offset`: the database's clock less this host's, seconds."""
    return tuple(
        (times.since(at + offset), pending, dispatched, running)
        for at, pending, dispatched, running in samples.queue
        if times.start <= at + offset <= times.end
    )


def worker_cpu(samples: Samples, times: Times, offset: float, processors: float) -> tuple[tuple[float, float], ...]:
    """Return the share of all CPUs that the workers used since the previous sample."""
    out = []
    for before, now in itertools.pairwise(samples.workers):
        if times.start <= now[0] + offset and before[0] + offset <= times.end and now[0] > before[0]:
            share = (now[1] - before[1]) / (now[0] - before[0]) / processors
            out.append((times.since(now[0] + offset), round(min(1.0, max(0.0, share)), 4)))
    return tuple(out)


def filer_use(
    readings: Sequence[tuple[float, dict[str, dict[str, float]]]], times: Times, offset: float
) -> tuple[FilerSecond, ...]:
    """Return the use of the emulated filer's stations while the run lasted; `readings`: by time, as
    `monitoring.observations` returns them."""
    return tuple(
        (
            times.since(at + offset),
            {
                name: {"utilisation": f["utilisation"], "wait_us": f["mean_wait_us"]}
                | ({"filer_ops": f["filer_ops"]} if "filer_ops" in f else {})
                for name, f in stations.items()
            },
        )
        for at, stations in readings
        if times.start <= at + offset <= times.end
    )


def used_between(readings: Readings, times: Times, offset: float) -> tuple[float, float]:
    """Return how much two counters grew from first claim to the end, interpolated between samples."""
    counters = [(at, {"first": first, "second": second}) for at, first, second in readings]
    begin, end = _at(counters, times.start - offset), _at(counters, times.end - offset)
    return max(0.0, end["first"] - begin["first"]), max(0.0, end["second"] - begin["second"])


def processors_between(samples: Samples, offset: float) -> Callable[[float, float], dict[str, float]]:
    """Return a function that gives the CPU seconds by user between two moments of the database's clock, interpolated
    between samples. `offset`: the database's clock less this host's, seconds."""
    workers = [(at, {WORKERS: seconds}) for at, seconds, _ in samples.workers]

    def between(start: float, end: float) -> dict[str, float]:
        out: dict[str, float] = {}
        for readings in (workers, samples.serving):
            before, after = _at(readings, start - offset), _at(readings, end - offset)
            out |= {name: max(0.0, seconds - before.get(name, 0.0)) for name, seconds in after.items()}
        return out

    return between


def _at(readings: Sequence[tuple[float, Mapping[str, float]]], at: float) -> dict[str, float]:
    if not readings:
        return {}
    for (then, before), (now, after) in itertools.pairwise(readings):
        if then <= at <= now:
            share = (at - then) / (now - then) if now > then else 0.0
            return {name: before.get(name, 0.0) + share * (s - before.get(name, 0.0)) for name, s in after.items()}
    return dict(readings[0][1] if at < readings[0][0] else readings[-1][1])


MOST_TASKS = 400  # durations kept for one phase; with more tasks, so many order statistics


Between = Callable[[float, float], Mapping[str, float]]


def phases_used(job: JobTables, since: float, between: Between) -> tuple[PhaseUse, ...]:
    """Return the job's phases in order; `since`: the run's first claim, seconds since the epoch on the database's
    clock; `between`: CPU seconds by user between two such moments."""
    tasks, calls = job.rows("task_spans"), job.rows("call_seconds")
    files = tuple((row.items, row.bytes) for row in job.rows("heaviest_files"))
    return tuple(
        _phase(
            job.database,
            span,
            since,
            [(task.claimed, task.finished) for task in tasks if task.phase == span.phase],
            [row for row in calls if row.phase == span.phase],
            between(span.started, span.finished),
            files if span.phase == Phase.EXPAND.value else (),
        )
        for span in job.rows("phase_spans")
    )


def _phase(
    database: str,
    span: PhaseSpan,
    since: float,
    tasks: Sequence[tuple[float, float]],
    calls: Iterable[CallRow],
    cpu: Mapping[str, float],
    heaviest: tuple[tuple[int, int], ...],
) -> PhaseUse:
    lasted = sorted((finished - claimed, place) for place, (claimed, finished) in enumerate(sorted(tasks)))
    kept = spread(lasted, MOST_TASKS)
    return PhaseUse(
        database=database,
        phase=Phase(span.phase).value,
        start_s=round(max(0.0, span.started - since), 3),
        elapsed_s=round(max(0.0, span.finished - span.started - span.stopped), 3),
        tasks=len(tasks),
        busy_s=round(sum(finished - claimed for claimed, finished in tasks), 3),
        task_s=tuple(round(seconds, 4) for seconds, _ in kept),
        task_claims=tuple(place for _, place in kept),
        calls={
            Op(op).label: CallUse(calls=one.calls, bytes=one.bytes, seconds=round(one.total_ns / 1e9, 4))
            for op, one in sorted(sums_of(calls).items())
        },
        cpu_s={name: round(seconds, 3) for name, seconds in cpu.items()},
        heaviest=heaviest,
    )


LEAST_SHARE = 0.1  # of the run


def steadiness(jobs: Sequence[JobTables], times: Times) -> tuple[Steady, ...]:
    """Return the steadiness of every job's phases in order; with several jobs each is named with its database."""
    intervals = []
    for job in jobs:
        calls = job.rows("call_seconds")
        for span in job.rows("phase_spans"):
            if span.finished - span.started >= LEAST_SHARE * times.elapsed:
                name = f"{job.database} {span.phase}" if len(jobs) > 1 else span.phase
                intervals.append(_evenness(name, span, [row for row in calls if row.phase == span.phase], times))
    return tuple(one for one in intervals if one is not None)


def _evenness(name: str, span: Any, rows: Sequence[Any], times: Times) -> Steady | None:
    weights = _weights(rows)
    seconds: dict[float, float] = {}
    for row in rows:
        at = row.second - times.start
        seconds[at] = seconds.get(at, 0.0) + row.calls * weights[row.op]
    return judged(name, list(seconds.items()), span.started - times.start, span.finished - times.start)


def _weights(rows: Iterable[Any]) -> dict[int, float]:
    """Return for each op its mean time ÷ that of all calls."""
    sums = sums_of(rows)
    calls, total = sum(one.calls for one in sums.values()), sum(one.total_ns for one in sums.values())
    return {op: one.total_ns / one.calls * calls / total if total else 1.0 for op, one in sums.items()}


def run_of(seen: Observed) -> Run:
    """Compute a run from its observations alone."""
    result = recomputed_figures(seen.result, seen.jobs)
    samples, processors = seen.samples, seen.processors
    times = times_of(seen.jobs)
    calls = calls_of(seen.jobs, times)
    spans = spans_of(seen.jobs, times)
    offset = seen.offsets[0][seen.jobs[0].database]
    cpu_s, run_queue_s = used_between(samples.workers, times, offset)
    busy, passed = used_between(samples.host, times, offset) if samples.host else (0.0, 0.0)
    first, last = first_and_last_done(spans)
    elapsed = float(result["elapsed_s"])
    time = call_time_of(result)
    return Run(
        repeat=seen.repeat,
        order=seen.order,
        result=result,
        started_at=seen.started_at,
        elapsed_s=elapsed,
        gb_per_hour_raw=float(result["gb_per_hour_raw"]),
        gb_per_hour_discovered=float(result["gb_per_hour_discovered"]),
        worker_cpu=round(cpu_s / (elapsed * processors), 4) if elapsed else 0.0,
        run_queue_s=round(run_queue_s, 3),
        call_time_s=round(calls.seconds, 3),
        run_queue_share=round(run_queue_s / calls.seconds, 4) if calls.seconds else None,
        first_done_s=first,
        last_done_s=last,
        null_elapsed_s=sum(float(recomputed_figures(one.result, one.jobs)["elapsed_s"]) for one in seen.null)
        if seen.null
        else None,
        null=_null_use(seen.null),
        containers=tuple(decode(ContainerUse, one, "container") for one in seen.containers),
        host_cpu=round(busy / passed, 4) if passed else None,
        latency=marked(calls.latency, time),
        call_time=time,
        steady=steadiness(seen.jobs, times),
        phases=tuple(
            phase for job in seen.jobs for phase in phases_used(job, times.start, processors_between(samples, offset))
        ),
        series=Series(
            calls_per_second=calls.per_second,
            database_activity=activity(samples, times),
            queue_depth=queue_depth(samples, times, offset),
            worker_cpu=worker_cpu(samples, times, offset, processors),
            latency_stages=calls.stages,
            tasks=spans,
            filer=filer_use(seen.filer, times, offset),
        ),
    )


def _null_use(portions: Sequence[OnNull]) -> NullUse | None:
    if not portions:
        return None
    results = [portion.result for portion in portions]
    return NullUse(
        portions=len(portions),
        held_bytes=max(portion.held_bytes for portion in portions),
        discarded_bytes=sum(int(result["index_written_bytes"]) for result in results),
        items=sum(int(result["items"]) for result in results),
        discovered_bytes=sum(int(result["discovered_bytes"]) for result in results),
    )

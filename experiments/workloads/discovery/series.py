"""The series of a run: from its database after its end, and from what was sampled meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.operations import Op
from core.records import Phase
from experiments.result.latency import latency
from experiments.result.schema import Latency
from experiments.workloads.discovery.result import CallSecond, DatabaseSecond, FilerSecond, QueueSecond, TaskSpan
from experiments.workloads.discovery.sampler import Samples
from experiments.workloads.discovery.tables import JobTables
from monitoring.aggregate import CallSum

Readings = Sequence[tuple[float, float, float]]  # by this host's clock, two counters as they were read

STAGES = 3
_SPANS = 1_000  # a slot's tasks of one phase with less than this share of the run between them make one span


@dataclass(frozen=True, slots=True)
class Times:
    """When a run's work began and ended, seconds since the epoch on the database's clock."""

    start: float
    end: float

    @property
    def elapsed(self) -> float:
        """Seconds between them."""
        return self.end - self.start

    def since(self, at: float) -> float:
        """Seconds since the start, not before it, to the millisecond."""
        return round(max(0.0, at - self.start), 3)


@dataclass(frozen=True, slots=True)
class Calls:
    """Everything derived from a run's stored calls."""

    per_second: tuple[CallSecond, ...]
    latency: dict[str, Latency]
    stages: tuple[dict[str, Latency], ...]
    seconds: float  # spent inside calls, summed over slots


def times_of(jobs: Sequence[JobTables]) -> Times:
    """First claim of the first job to the end of the last."""
    rows = [job.rows("job_times")[0] for job in jobs]
    return Times(min(row.first_claim for row in rows), max(row.finished for row in rows))


def calls_of(jobs: Sequence[JobTables], times: Times) -> Calls:
    """Calls by second, and latencies over the whole run and its three thirds; all jobs together."""
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
    """What every slot did when; tasks of one phase that follow each other closely are one span."""
    rows = [row for job in jobs for row in job.rows("task_spans")]
    return merge_spans(
        [(r.worker, r.slot, r.phase, times.since(r.claimed), times.since(r.finished)) for r in rows],
        gap=times.elapsed / _SPANS,
    )


def merge_spans(spans: Iterable[TaskSpan], *, gap: float) -> tuple[TaskSpan, ...]:
    """Spans in order of worker, slot and start, neighbours of one phase no more than `gap` seconds apart joined."""
    out: list[TaskSpan] = []
    for span in sorted(spans, key=lambda s: (s[0], s[1], s[3])):
        previous = out[-1] if out else None
        if previous is not None and previous[:3] == span[:3] and span[3] - previous[4] <= gap:
            out[-1] = (*previous[:4], max(previous[4], span[4]))
        else:
            out.append(span)
    return tuple(out)


def first_and_last_done(spans: Iterable[TaskSpan]) -> tuple[float | None, float | None]:
    """When the first and the last slot had ended their last task, finalise aside; None without any."""
    ends: dict[tuple[str, int], float] = {}
    for worker, slot, phase, _, end in spans:
        if phase != Phase.FINALISE.value:
            ends[worker, slot] = max(end, ends.get((worker, slot), 0.0))
    return (min(ends.values()), max(ends.values())) if ends else (None, None)


def activity(samples: Samples, times: Times) -> tuple[DatabaseSecond, ...]:
    """Commits and rows written between each sample and the one before, by database, while the run lasted."""
    by_time: dict[float, dict[str, dict[str, int]]] = {}
    for name, readings in samples.activity.items():
        for before, now in itertools.pairwise(readings):
            if now[0] < times.start or before[0] > times.end:
                continue
            moved = {"commits": max(0, now[1] - before[1]), "rows": max(0, now[2] - before[2])}
            by_time.setdefault(times.since(now[0]), {})[name] = moved
    return tuple((at, by_time[at]) for at in sorted(by_time))


def queue_depth(samples: Samples, times: Times, offset: float) -> tuple[QueueSecond, ...]:
    """Tasks that are not done; `offset`: the database's clock less this host's, seconds."""
    return tuple(
        (times.since(at + offset), pending, dispatched, running)
        for at, pending, dispatched, running in samples.queue
        if times.start <= at + offset <= times.end
    )


def worker_cpu(samples: Samples, times: Times, offset: float, processors: float) -> tuple[tuple[float, float], ...]:
    """Share of all CPUs that the workers used between each sample and the one before."""
    out = []
    for before, now in itertools.pairwise(samples.workers):
        if times.start <= now[0] + offset and before[0] + offset <= times.end and now[0] > before[0]:
            share = (now[1] - before[1]) / (now[0] - before[0]) / processors
            out.append((times.since(now[0] + offset), round(min(1.0, max(0.0, share)), 4)))
    return tuple(out)


def filer_use(
    readings: Sequence[tuple[float, dict[str, dict[str, float]]]], times: Times, offset: float
) -> tuple[FilerSecond, ...]:
    """Of the emulated filer's stations, while the run lasted; `readings` as `monitoring.observations` gives them, by time."""
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
    """How much two counters grew from first claim to the end, between samples by proportion."""
    begin = _interpolated(readings, times.start - offset)
    end = _interpolated(readings, times.end - offset)
    return max(0.0, end[0] - begin[0]), max(0.0, end[1] - begin[1])


def _interpolated(readings: Readings, at: float) -> tuple[float, float]:
    for before, now in itertools.pairwise(readings):
        if before[0] <= at <= now[0]:
            share = (at - before[0]) / (now[0] - before[0]) if now[0] > before[0] else 0.0
            return before[1] + share * (now[1] - before[1]), before[2] + share * (now[2] - before[2])
    nearest = readings[0] if at < readings[0][0] else readings[-1]
    return nearest[1], nearest[2]

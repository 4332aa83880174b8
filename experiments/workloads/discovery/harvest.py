"""A run out of what was observed of it."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.result.codec import decode
from experiments.result.latency import call_time_of, marked
from experiments.workloads.discovery.array import uses
from experiments.workloads.discovery.figures import told_result
from experiments.workloads.discovery.observed import Observed, OnNull
from experiments.workloads.discovery.phase_use import phases_used
from experiments.workloads.discovery.result import ContainerUse, NullUse, Run, Series
from experiments.workloads.discovery.series import (
    activity,
    calls_of,
    filer_use,
    first_and_last_done,
    queue_depth,
    spans_of,
    times_of,
    used_between,
    worker_cpu,
)
from experiments.workloads.discovery.serving import processors_between
from experiments.workloads.discovery.steadiness import steadiness


def run_of(seen: Observed) -> Run:
    """Every figure of it; nothing else is asked."""
    result = told_result(seen.result, seen.jobs)
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
        null_elapsed_s=sum(map(_elapsed, seen.null)) if seen.null else None,
        null=_null_use(seen.null),
        containers=tuple(decode(ContainerUse, one, "container") for one in seen.containers),
        array=uses(seen.array),
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


def _elapsed(null: OnNull) -> float:
    return float(told_result(null.result, null.jobs)["elapsed_s"])

"""A run's record out of its databases, while they are still there."""

from __future__ import annotations

from experiments.result.codec import decode
from experiments.result.latency import call_time_of, marked
from experiments.workloads.discovery.phase_use import read_phases
from experiments.workloads.discovery.result import ContainerUse, Run, Series
from experiments.workloads.discovery.run_point import PointRun
from experiments.workloads.discovery.series import (
    activity,
    filer_use,
    first_and_last_done,
    queue_depth,
    read_calls,
    read_spans,
    read_times,
    used_between,
    worker_cpu,
)
from experiments.workloads.discovery.serving import processors_between


def harvest(run: PointRun, repeat: int, order: int, processors: int) -> Run:
    """Everything but the paired run on null storage, which comes later; `processors` of the workers' host.

    Raises DatabaseFault.
    """
    times = read_times(run.handles)
    calls = read_calls(run.handles, times)
    spans = read_spans(run.handles, times)
    offset = run.offsets[0][run.handles[0].database.name]
    cpu_s, run_queue_s = used_between(run.samples.workers, times, offset)
    busy, passed = used_between(run.samples.host, times, offset) if run.samples.host else (0.0, 0.0)
    first, last = first_and_last_done(spans)
    elapsed = float(run.result["elapsed_s"])
    time = call_time_of(run.result)
    return Run(
        repeat=repeat,
        order=order,
        result=run.result,
        started_at=run.started_at,
        elapsed_s=elapsed,
        gb_per_hour_raw=float(run.result["gb_per_hour_raw"]),
        gb_per_hour_discovered=float(run.result["gb_per_hour_discovered"]),
        worker_cpu=round(cpu_s / (elapsed * processors), 4) if elapsed else 0.0,
        run_queue_s=round(run_queue_s, 3),
        call_time_s=round(calls.seconds, 3),
        run_queue_share=round(run_queue_s / calls.seconds, 4) if calls.seconds else None,
        first_done_s=first,
        last_done_s=last,
        null_elapsed_s=None,
        containers=tuple(decode(ContainerUse, dict(one), "container") for one in run.containers),
        host_cpu=round(busy / passed, 4) if passed else None,
        latency=marked(calls.latency, time),
        call_time=time,
        phases=tuple(
            phase
            for handle in run.handles
            for phase in read_phases(handle, times.start, processors_between(run.samples, offset))
        ),
        series=Series(
            calls_per_second=calls.per_second,
            database_activity=activity(run.samples, times),
            queue_depth=queue_depth(run.samples, times, offset),
            worker_cpu=worker_cpu(run.samples, times, offset, processors),
            latency_stages=calls.stages,
            tasks=spans,
            filer=filer_use(run.filer, times, offset),
        ),
    )

"""Jobs of any type as calibration reads them: a study of job types has, for each type, what a study of discoveries has."""

from __future__ import annotations

import dataclasses

from controller.jobs.rates import gb_per_hour
from core.errors import UsageError
from core.options.production import JobType
from experiments.result import schema
from experiments.workloads.discovery.result import Point, PointSpec, Result, Run, Series, of_discovery
from experiments.workloads.job_types.result import TypePoint, TypeResult, TypeRun

_NOTHING = Series(calls_per_second=(), database_activity=(), queue_depth=(), worker_cpu=(), latency_stages=(), tasks=())


def study_of(result: schema.Result, kind: JobType, name: str) -> Result:
    """The study of the jobs of one type, workers varied. Raises UsageError where `result`, called `name`, has none."""
    if kind is JobType.REPLAY:
        raise UsageError(
            "a replay is not predicted: it repeats the calls of a trace; run it with `edbench trace replay`"
        )
    if isinstance(result, TypeResult):
        return _of_types(result, kind, name)
    if kind is not JobType.DISCOVERY:
        raise UsageError(
            f"{name} has no job of type {kind.value}; make a result that has with `edbench bench job-types --corpus DIR"
            " --workers 1,2`, and give it with --from"
        )
    return of_discovery(result)


def _of_types(result: TypeResult, kind: JobType, name: str) -> Result:
    mine = [point for point in result.points if point.at.type == kind.value]
    if not mine:
        raise UsageError(f"{name} has no job of type {kind.value}")
    if not all(run.phases for point in mine for run in point.repeats):
        raise UsageError(f"{name} has no times of phases, because an older version wrote it; run the experiment again")
    return Result(
        workload=result.workload,
        kind=result.kind,
        axis="workers",
        run_id=result.run_id,
        created=result.created,
        verdict=result.verdict,
        labels=result.labels,
        warnings=result.warnings,
        conditions=result.conditions,
        points=tuple(map(_point, mine)),
    )


def _point(point: TypePoint) -> Point:
    slots = int(point.repeats[0].result["slots"])
    return Point(
        at=PointSpec(databases=1, workers=point.at.workers, slots=slots),
        figures=point.figures,
        limited=point.limited,
        limits=point.limits,
        repeats=tuple(map(_run, point.repeats)),
        short=point.short,
        unsteady=point.unsteady,
    )


def _run(run: TypeRun) -> Run:
    told = run.result
    return Run(
        repeat=run.repeat,
        order=run.order,
        started_at=run.started_at,
        elapsed_s=run.elapsed_s,
        worker_cpu=run.worker_cpu,
        run_queue_share=run.run_queue_share,
        null_elapsed_s=None,
        latency=run.latency,
        call_time=run.call_time,
        result=told,
        gb_per_hour_raw=gb_per_hour(int(told["raw_bytes"]), run.elapsed_s),
        gb_per_hour_discovered=gb_per_hour(int(told["discovered_bytes"]), run.elapsed_s),
        run_queue_s=0.0 if run.call_time is None else run.call_time.processor_s,
        call_time_s=0.0 if run.call_time is None else run.call_time.call_s,
        first_done_s=None,
        last_done_s=None,
        series=dataclasses.replace(_NOTHING, filer=run.filer),
        host_cpu=run.host_cpu,
        phases=run.phases,
    )

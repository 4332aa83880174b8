"""Runs a job of each type over the same data: a discovery, and what takes the items of one that was made before."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from controller.databases import JobHandle, Jobs, alone
from controller.filer.choice import filer_choice
from controller.filer.emulated import watched_filer
from controller.jobs.create import create_discovery
from controller.jobs.figures import JobFigures
from controller.jobs.groups.find import refresh
from controller.jobs.jobs import delete_job
from controller.jobs.plan import DiscoveryPlan
from controller.jobs.progress import Snapshot
from controller.jobs.results import job_result
from controller.jobs.run import Crew, judge, kept_up, run_all_to_rest
from controller.jobs.source import PreparedSource, refuse_own_output
from controller.production.create import ProductionPlan, create_production
from core.clock import Clock
from core.errors import RunFailed
from core.filer import load_filer
from core.job_types import JobType
from core.operations import NullRecorder
from core.options.production import ProductionChoice
from core.records import JobOptions
from core.settings import Settings
from core.storage.layer import Storage
from experiments.conditions import emulated
from experiments.result.schema import At, CallTime
from experiments.workload import Observe, Turn, Workload
from experiments.workloads.discovery.offset import clock_offset
from experiments.workloads.discovery.sampler import Sampler
from experiments.workloads.discovery.serving import ProcessMeter
from experiments.workloads.job_types import ABOUT
from experiments.workloads.job_types.calibrating import Seen, calibrating
from experiments.workloads.job_types.result import TypeLoad, TypeRun
from monitoring.machine import host, place
from monitoring.processes import WorkerMeter, processors
from sql.session import Database

TYPES = (JobType.DISCOVERY, JobType.EXTRACTION, JobType.PROCESSING, JobType.EXPORT)
_WHO = "experiment job-types"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the jobs run, and who is told."""

    settings: Settings  # with services attached
    database: Database
    time_zone: str  # of dates that note none
    env: Mapping[str, str]
    clock: Clock
    show: Callable[[Snapshot, float], None]
    say: Callable[[str], None]


class JobTypes(Workload):
    """Workers are started where there are to be more or fewer of them, and every job but the first discovery is deleted when
    it has been measured."""

    about = ABOUT

    def __init__(self, stage: Stage, source: PreparedSource) -> None:
        self.storage, self.clock, self.say = stage.settings.storage, stage.clock, stage.say
        self._stage, self._source = stage, source
        self._filer = Storage(NullRecorder())
        self._meter = WorkerMeter(os.getpid())
        self._shift = contextlib.ExitStack()
        self._crew: Crew
        self._workers = 0  # that are up
        self._base: JobHandle
        self._data: JobFigures  # of the discovery whose items the others take
        self._outputs = (
            self.storage / f"job-types-{uuid.uuid4().hex}"
        )  # the study's own; what is in it goes with its jobs

    @contextlib.contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """Workers, and a discovery whose items the others take."""
        refuse_own_output(self._source, self._stage.settings)
        with self._shift:
            self._staff(max(cast(TypeLoad, point).workers for point in points))
            self._base = self._discovery("of job types")
            try:
                self._data = self._run(self._base)
                self._base = _only(refresh(alone(self._base)))  # as it is now that it has ended
                yield
            finally:
                delete_job(self._base, self._filer, self.storage)
                shutil.rmtree(self._outputs, ignore_errors=True)

    def _staff(self, workers: int) -> None:
        """So many workers are up."""
        if workers == self._workers:
            return
        self._shift.close()
        settings = self._stage.settings
        crew = Crew(settings=settings, ours=True, workers=workers, slots=settings.slots, env=self._stage.env)
        self._crew, self._workers = self._shift.enter_context(kept_up(crew)), workers

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """The job is made when it is observed: it runs from then on."""
        made: list[JobHandle] = []
        self._staff(cast(TypeLoad, turn.at).workers)
        try:
            yield lambda: self._observed(turn, made)
        finally:
            for handle in made:
                delete_job(handle, self._filer, self.storage)

    def _observed(self, turn: Turn, made: list[JobHandle]) -> TypeRun:
        at = cast(TypeLoad, turn.at)
        started = self.clock.now()
        cpu, _ = self._meter.read()
        made.append(self._discovery(turn.name) if at.type == JobType.DISCOVERY else self._production(at, turn.name))
        figures, seen = self._watched(made[0])
        used = self._meter.read()[0] - cpu
        times, moved = figures.call_time, figures.calls
        elapsed = max(figures.elapsed_s, 0.001)
        return TypeRun(
            repeat=turn.repeat,
            order=turn.order,
            started_at=started,
            elapsed_s=elapsed,
            worker_cpu=min(1.0, used / (elapsed * processors())),
            run_queue_share=None if times is None or not times.call_s else times.processor_s / times.call_s,
            null_elapsed_s=None,
            latency={},  # of what is compared here calls are the means
            call_time=None
            if times is None
            else CallTime(
                call_s=times.call_s,
                service_s=times.service_s,
                queue_s=times.queue_s,
                processor_s=times.processor_s,
                exact=times.exact,
                dominated={},  # of latencies, which are not kept here
            ),
            items=figures.items,
            calls=sum(of.count for of in moved.values()),
            read_bytes=moved["read"].bytes if "read" in moved else 0,
            written_bytes=moved["write"].bytes if "write" in moved else 0,
            cpu_s=used,
            storage_s=None if times is None else max(0.0, times.call_s - times.processor_s),
            **calibrating(seen, figures, self._data),
        )

    def _watched(self, handle: JobHandle) -> tuple[JobFigures, Seen]:
        """To its end, with what its processes, its database and an emulated filer did meanwhile."""
        settings, offset = self._stage.settings, clock_offset(handle.database)
        meter = ProcessMeter(settings.scratch)
        with watched_filer(settings) as filer, Sampler([handle], meter) as sampler:
            figures = self._run(handle)
            beside = filer.figures()
        series = beside.get("filer", {}).pop("series", [])
        readings = [(filer.began + at, stations) for at, stations in series]
        return figures.beside(beside), Seen(handle=handle, samples=sampler.samples, filer=readings, offset=offset)

    def _discovery(self, name: str) -> JobHandle:
        stage, settings = self._stage, self._stage.settings
        options = JobOptions(
            index_engine=settings.index_engine, filer=filer_choice(settings), time_zone=stage.time_zone
        )
        jobs = create_discovery(
            [stage.database],
            self._filer,
            settings,
            self._source,
            DiscoveryPlan(options=options, name=name),
            workers=self._workers,
            slots=settings.slots,
        )
        return _only(jobs)

    def _production(self, at: TypeLoad, name: str) -> JobHandle:
        settings = self._stage.settings
        out = self._outputs / uuid.uuid4().hex
        choice = ProductionChoice(type=JobType(at.type), out=str(out), prefix="EDB")
        plan = ProductionPlan(
            sources=[self._base],
            options=JobOptions(of_type=choice, filer=filer_choice(settings)),
            name=name,
            workers=self._workers,
            slots=settings.slots,
        )
        return _only(create_production(self._filer, settings, plan))

    def _run(self, handle: JobHandle) -> JobFigures:
        """To its end. Raises RunFailed when that is not a good one."""
        stage = self._stage
        (outcome,) = run_all_to_rest([handle], self._crew, self.clock, stage.show, self.say)
        figures = job_result(handle, stage.settings, calls_complete=outcome.calls_complete)
        if (remark := judge(outcome, str(handle.id), len(figures.violations))) is not None:
            raise RunFailed(remark)
        return figures

    def surroundings(self) -> dict[str, Any]:
        """Design §7, as far as the runs do not tell it."""
        settings = self._stage.settings
        return {
            "configuration": {
                "slots": settings.slots,
                "index_engine": settings.index_engine,
                "filer": settings.filer,
                "time_zone": self._stage.time_zone,
            },
            "corpus": {"items": self._data.items},
            "emulated_filer": emulated(load_filer(settings.filer)),
            "storage": place(self.storage),
            "hosts": [host()],
        }


def _only(jobs: Jobs) -> JobHandle:
    (handle,) = jobs.each
    return handle

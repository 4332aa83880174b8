"""Runs a job of each type over the same data: a discovery, and what takes the items of one that was made before."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from controller.databases import JobHandle, Jobs, alone
from controller.filer import filer_choice, watched_filer
from controller.jobs.create import create_discovery
from controller.jobs.figures import JobFigures
from controller.jobs.groups import refresh
from controller.jobs.jobs import delete_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.progress import Snapshot
from controller.jobs.results import job_result
from controller.jobs.run import Crew, judge, run_all_to_rest
from controller.jobs.source import PreparedSource, refuse_own_output
from core.clock import Clock
from core.errors import RunFailed
from core.filer import load_filer
from core.job_types import JobType, types_with
from core.operations import NullRecorder
from core.records import JobOptions
from core.settings import Settings
from core.storage.layer import Storage
from experiments.conditions import emulated
from experiments.crew.admission import BACK_SECONDS, Seat, described, usable
from experiments.crew.lease import Leased
from experiments.crew.system import System, Wanted, Ways, taken_system
from experiments.places import fresh_place
from experiments.result.schema import At, CallTime
from experiments.workload import HostLost, Observe, Turn, Workload
from experiments.workloads.job_types import ABOUT, NAME, TypeLoad, TypeRun
from monitoring.machine import place
from sql.session import Database

TYPES = (JobType.DISCOVERY, JobType.EXTRACTION, JobType.PROCESSING, JobType.EXPORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the jobs run, and where progress is reported."""

    settings: Settings  # of the system; embedded: one is started
    time_zone: str  # of dates that note none
    env: Mapping[str, str]
    clock: Clock
    show: Callable[[Snapshot, float], None]
    say: Callable[[str], None]
    ways: Ways


class JobTypes(Workload):
    """Workers of the crew, leased again where there are to be more or fewer of them; every job but the first discovery is deleted
    when it has been measured."""

    about = ABOUT

    def __init__(self, stage: Stage, source: PreparedSource, corpus: Path) -> None:
        self.storage, self.clock, self.say = stage.settings.storage, stage.clock, stage.say
        self._stage, self._source, self._corpus = stage, source, corpus
        self._filer = Storage(NullRecorder())
        self._shift = contextlib.ExitStack()
        self._leased: Leased | None = None  # workers that are up
        self._workers = 0  # of them
        self._system: System
        self._settings: Settings  # with the run's database
        self._database: Database
        self._lease: Callable[[Sequence[Seat]], Leased]
        self._base: JobHandle
        self._data: JobFigures  # of the discovery whose items the others take

    @contextlib.contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """A database and a storage root for all jobs, and a discovery whose items the others take."""
        stage = self._stage
        refuse_own_output(self._source, stage.settings)
        most = max(cast(TypeLoad, point).workers for point in points)
        wanted = Wanted(workers=most, databases=1, slots=most * stage.settings.slots)
        with (
            taken_system(stage.settings, stage.env, self._corpus, wanted, self.say, stage.ways) as (self._system, _),
            fresh_place(
                replace(self._system.settings, slots=stage.settings.slots, filer=stage.settings.filer),
                self.storage,
                f"{NAME}-{uuid.uuid4().hex}",
            ) as place,
            self._system.run(place, 1) as (self._settings, (self._database,), self._lease),
            self._shift,
        ):
            self._staff(most)
            self._base = self._discovery("of job types")
            self._data = self._run(self._base)
            self._base = _only(refresh(alone(self._base)))  # as it is now that it has ended
            yield

    def _staff(self, workers: int) -> Leased:
        """So many workers are up. Raises HostLost."""
        if self._leased is None or workers != self._workers:
            self._dismiss()
            seats = self._system.admission.await_workers(workers, BACK_SECONDS)
            self._leased, self._workers = self._shift.enter_context(self._lease(seats)), workers
        return self._leased

    def _dismiss(self) -> None:
        self._leased = None
        self._shift.close()

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """The job is made when it is observed: it runs from then on."""
        made: list[JobHandle] = []
        leased = self._staff(cast(TypeLoad, turn.at).workers)
        try:
            yield lambda: self._observed(turn, leased, made)
        except HostLost:
            self._dismiss()
            raise
        for handle in made:
            delete_job(handle, self._filer, self._settings.storage)

    def _observed(self, turn: Turn, leased: Leased, made: list[JobHandle]) -> TypeRun:
        at = cast(TypeLoad, turn.at)
        started, cpu = self.clock.now(), leased.cpu_s()
        made.append(self._discovery(turn.name) if at.type == JobType.DISCOVERY else self._production(at, turn.name))
        figures = self._run(made[0])
        used = leased.cpu_s() - cpu
        times, moved = figures.call_time, figures.calls
        elapsed = max(figures.elapsed_s, 0.001)
        cores = usable([seat.member for seat in leased.seats], "processors")
        return TypeRun(
            repeat=turn.repeat,
            order=turn.order,
            started_at=started,
            elapsed_s=elapsed,
            worker_cpu=min(1.0, used / (elapsed * cores)),
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
        )

    def _discovery(self, name: str) -> JobHandle:
        settings = self._settings
        options = JobOptions(
            index_engine=settings.index_engine, filer=filer_choice(settings), time_zone=self._stage.time_zone
        )
        jobs = create_discovery(
            [self._database],
            self._filer,
            settings,
            self._source,
            DiscoveryPlan(options=options, name=name),
            workers=self._workers,
            slots=settings.slots,
        )
        return _only(jobs)

    def _production(self, at: TypeLoad, name: str) -> JobHandle:
        settings = self._settings
        out = settings.storage / "out" / uuid.uuid4().hex
        kind = JobType(at.type)
        made = types_with(kind).create(
            *(kind, [self._base], str(out), self._filer, settings),
            name=name,
            workers=self._workers,
            slots=settings.slots,
            filer=filer_choice(settings),
        )
        return _only(made)

    def _run(self, handle: JobHandle) -> JobFigures:
        """To its end. Raises RunFailed when that is not a good one, HostLost."""
        stage, settings = self._stage, self._settings
        crew = Crew(
            settings=settings,
            ours=True,
            workers=self._workers,
            slots=settings.slots,
            env=stage.env,
            cluster=self._leased,
        )
        with watched_filer(settings):
            (outcome,) = run_all_to_rest([handle], crew, self.clock, stage.show, self.say)
        figures = job_result(handle, settings, calls_complete=outcome.calls_complete)
        if (remark := judge(outcome, str(handle.id), len(figures.violations))) is not None:
            raise RunFailed(remark)
        return figures

    def surroundings(self) -> dict[str, Any]:
        """Disclosure of design §7, except what the runs contain."""
        settings = self._settings
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
            "hosts": described(self._system.admission.admitted),
        }


def _only(jobs: Jobs) -> JobHandle:
    (handle,) = jobs.each
    return handle

"""Runs one point once, on the storage under test and on null storage: fresh databases, an empty storage root, the job
or group of jobs, and all measurements."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from controller.arrays.importing import job_time
from controller.databases import JobHandle, Jobs
from controller.filer import watched_filer
from controller.jobs.create import create_discovery
from controller.jobs.figures import Figures
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.progress import Snapshot
from controller.jobs.results import figures_of
from controller.jobs.run import Outcome, Tended, judge, run_all_to_rest
from controller.jobs.source import PreparedSource
from core.clock import Clock
from core.errors import Interrupted, RunFailed
from core.filer.model import filer_choice
from core.passwords import PasswordBank
from core.records import JobOptions, Phase
from core.settings import Settings
from core.storage.layer import Storage
from experiments.conditions import Drop, database_places
from experiments.workload import Turn
from experiments.workloads.discovery.null import NullStorage, Portion, emptied
from experiments.workloads.discovery.observed import Observed, OnNull, read_tables
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.sampler import Sampler, clock_offset
from experiments.workloads.discovery.setting import parse_setting
from experiments.workloads.discovery.site import Site, Target
from sql.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Settings that all runs of an experiment share."""

    options: JobOptions
    passwords: PasswordBank | None = None  # tried on encrypted items
    shard: bool  # with several databases: one data set spread over them
    copies: bool  # with several databases: each job reads a copy of its own
    cold: bool
    env: Mapping[str, str]  # for the workers
    clock: Clock
    show: Callable[[Snapshot, float], None]
    say: Callable[[str], None]


@contextmanager
def run_point(site: Site, turn: Turn, target: Target, load: Load) -> Iterator[tuple[Sequence[JobHandle], Observed]]:
    """Run the point and yield its jobs, whose databases are up inside the block, with its observations. Raises
    UsageError, SystemFault, RunFailed if it does not complete, Interrupted."""
    spec, source = cast("PointSpec", turn.at), target.source
    with site.deploy(spec, turn.name, target) as deployment:
        settings, databases = deployment.settings, deployment.databases
        before = {database.name: clock_offset(database) for database in databases}
        jobs = create(spec, settings, databases, source, load)
        handles = jobs.each
        drops: list[Drop] = []

        def drop_now(when: str) -> None:
            if load.cold:
                drops.extend(deployment.drop([Path(os.fsdecode(source.path)), settings.storage], when))

        drop_now("before")  # copies of the source, if any, are there by now, and no worker yet
        at_index = partial(drop_now, "index") if load.cold else None
        began = load.clock.now()  # the seconds of the filer's series count from here
        with watched_filer(settings) as filer, Sampler(handles, deployment, at_index=at_index) as seen:
            outcomes = run_all_to_rest(handles, settings, deployment.leased, load.clock, load.show, load.say)
            emulated = filer()
        readings = [(began + at, stations) for at, stations in emulated.get("filer", {}).pop("series", [])]
        places = database_places(deployment.database_files, target.storage, emulated=target.settings.filer != "none")
        yield (
            handles,
            Observed(
                repeat=turn.repeat,
                order=turn.order,
                result=_figures(spec, jobs, settings, outcomes).with_observed(emulated).to_json(),
                started_at=job_time(handles)[0] - before[databases[0].name],
                processors=deployment.processors,
                jobs=read_tables(handles),
                samples=seen.samples,
                containers=tuple(deployment.containers()),
                filer=tuple(readings),
                offsets=(before, {database.name: clock_offset(database) for database in databases}),
                drops=tuple(drops),
                databases=tuple(places),
                hosts=deployment.hosts(handles),
            ),
        )


def create(
    spec: PointSpec, settings: Settings, databases: Sequence[Database], source: PreparedSource, load: Load
) -> Jobs:
    """Create the job of a run, or the group of jobs. Raises UsageError, StorageFault, DatabaseFault."""
    plan = DiscoveryPlan(
        options=options_of(spec, settings, load),
        shard=load.shard,
        source_copies=load.copies,
        passwords=load.passwords,
    )
    storage = Storage()
    return create_discovery(databases, storage, settings, source, plan, workers=spec.workers, slots=spec.slots)


def options_of(spec: PointSpec, settings: Settings, load: Load) -> JobOptions:
    """Return the options of a discovery at this point. Raises UsageError."""
    return dataclasses.replace(
        load.options if spec.setting is None else parse_setting(spec.setting).applied(load.options),
        index_engine=settings.index_engine,
        filer=filer_choice(settings.filer),
        hold_before=Phase.INDEX if load.cold else None,
    )


def _figures(spec: PointSpec, jobs: Jobs, settings: Settings, outcomes: Sequence[Outcome]) -> Figures:
    """Return the figures of the jobs. Raises Interrupted or RunFailed unless every job has ended well and its counts add
    up."""
    if any(outcome.interrupted for outcome in outcomes):
        raise Interrupted("the experiment was stopped; its runs are removed and there is no result")
    for outcome, handle in zip(outcomes, jobs.each, strict=True):
        remark = judge(outcome, str(handle.id), 0)
        if remark is not None:
            raise RunFailed(f"the experiment ends without a result: {remark}")
    found = figures_of(jobs, settings, calls_complete=all(outcome.calls_complete for outcome in outcomes))
    if violations := len(found.violations):
        raise RunFailed(f"{spec}: the counts of {violations} containers do not add up; the experiment has no result")
    return found


def run_on_null(
    site: Site,
    spec: PointSpec,
    name: str,
    null: NullStorage,
    portions: Sequence[Portion],
    settings: Settings,
    load: Load,
) -> tuple[OnNull, ...]:
    """Run the null baseline and return the observations of each portion. The workers start once the first job exists,
    as in every run, and stay until the last is over. `settings` and `load` are those of the run
    that it belongs to. Raises UsageError, SystemFault (StorageFault if a portion cannot be copied), RunFailed,
    Interrupted."""
    target = Target(
        settings=dataclasses.replace(settings, filer="none"),
        storage=null.storage,
        source=null.stage(portions[0], whole=len(portions) == 1),
    )
    load = dataclasses.replace(load, cold=False, options=dataclasses.replace(load.options, null=True))
    done: list[OnNull] = []
    tended: Tended | None = None
    with site.deploy(spec, name, target) as deployment, contextlib.ExitStack() as workers:
        settings = deployment.settings
        for portion in portions:
            source = null.stage(portion, whole=len(portions) == 1)
            jobs = create(spec, settings, deployment.databases, source, load)
            tended = tended or workers.enter_context(deployment.leased)
            up = contextlib.nullcontext(tended)
            with Sampler(jobs.each, deployment):
                outcomes = run_all_to_rest(jobs.each, settings, up, load.clock, load.show, load.say)
            result = _figures(spec, jobs, settings, outcomes)
            held = null.held()
            done.append(OnNull(result=result.to_json(), jobs=read_tables(jobs.each, null=True), held_bytes=held))
            emptied(settings.storage)
    return tuple(done)

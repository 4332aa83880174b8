"""One run on null storage: the point's services and workers, and a job over each portion, one after another."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence

from controller.jobs.results import figures_of
from controller.jobs.run import Crew, kept_up, run_all_to_rest
from core.settings import Settings
from experiments.workloads.discovery.null.portions import Portion
from experiments.workloads.discovery.null.storage import NullStorage, emptied
from experiments.workloads.discovery.observed import OnNull
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.run_point import Load, create, judge_counts, refuse
from experiments.workloads.discovery.sampler import Sampler
from experiments.workloads.discovery.site import Deployment, Site, Target
from experiments.workloads.discovery.tables import read_tables


def run_on_null(
    site: Site,
    spec: PointSpec,
    name: str,
    null: NullStorage,
    portions: Sequence[Portion],
    settings: Settings,
    load: Load,
) -> tuple[OnNull, ...]:
    """What was observed of each portion; `settings` and `load` are those of the run it is the pair of.

    Raises UsageError, SystemFault (StorageFault when a portion cannot be copied), RunFailed, Interrupted.
    """
    target = Target(
        settings=dataclasses.replace(settings, filer="none"),
        storage=null.storage,
        source=null.stage(portions[0], whole=len(portions) == 1),
    )
    load = dataclasses.replace(load, cold=False, options=dataclasses.replace(load.options, null=True))
    with site.deploy(spec, name, target, load.env) as deployment:
        return _run_all(spec, null, portions, deployment, load)


def _run_all(
    spec: PointSpec,
    null: NullStorage,
    portions: Sequence[Portion],
    deployment: Deployment,
    load: Load,
) -> tuple[OnNull, ...]:
    """The workers come once the first job is there, as in every run, and stay until the last is over."""
    done: list[OnNull] = []
    crew: Crew | None = None
    with contextlib.ExitStack() as workers:
        for portion in portions:
            source = null.stage(portion, whole=len(portions) == 1)
            jobs = create(spec, deployment.settings, deployment.databases, source, load)
            crew = crew or workers.enter_context(kept_up(deployment.crew))
            with Sampler(jobs.each, deployment.meter):
                outcomes = run_all_to_rest(jobs.each, crew, load.clock, load.show, load.say)
            refuse(outcomes, jobs.each)
            complete = all(outcome.calls_complete for outcome in outcomes)
            result = figures_of(jobs, deployment.settings, calls_complete=complete)
            judge_counts(spec, result)
            held = null.held()
            done.append(OnNull(result=result.to_json(), jobs=read_tables(jobs.each, null=True), held_bytes=held))
            emptied(deployment.settings.storage)
    return tuple(done)

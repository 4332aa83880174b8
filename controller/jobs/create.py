"""Creating what was asked for: one job, or a group over several databases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from controller.databases import JobHandle, Jobs, alone, refuse_experiment
from controller.jobs.groups.create import create_discovery_group
from controller.jobs.jobs import create_discovery_job
from controller.jobs.plan import DiscoveryPlan
from controller.jobs.source import PreparedSource
from controller.labels.surroundings import surroundings_of
from core.settings import Settings
from core.storage.layer import Storage
from sql.jobs import get_job
from sql.session import Database


def create_discovery(
    databases: Sequence[Database],
    storage: Storage,
    settings: Settings,
    source: PreparedSource,
    plan: DiscoveryPlan,
    *,
    workers: int,
    slots: int,
) -> Jobs:
    """The job, or with several databases the group of jobs; `workers` and `slots` (of each) are what is planned.

    Raises UsageError, StorageFault, DatabaseFault.
    """
    refuse_experiment(databases[0])
    plan = dataclasses.replace(plan, workers=workers, slots=slots)
    around = surroundings_of(settings, source.path)
    if len(databases) > 1:
        return create_discovery_group(databases, storage, settings.storage, source, plan, around)
    job = create_discovery_job(databases[0], storage, settings.storage, source, plan, surroundings=around)
    with databases[0].transaction() as conn:
        return alone(JobHandle(databases[0], get_job(conn, job)))

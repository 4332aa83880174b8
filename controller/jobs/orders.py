"""What a person asked for when creating discovery jobs, and making it so: one job, or a group over several databases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from controller.databases import JobHandle, Jobs, alone
from controller.jobs.groups.create import GroupPlan, check_plan, create_discovery_group
from controller.jobs.jobs import create_discovery_job
from controller.jobs.source import PreparedSource
from core.errors import UsageError
from core.passwords import PasswordBank
from core.records import JobOptions
from core.settings import Settings
from core.storage.layer import Storage
from sql.jobs import get_job
from sql.session import Database


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryOrder:
    """Everything about the job or group beside its source and where things are."""

    options: JobOptions
    name: str = ""
    client: str = ""
    project: str = ""
    databases: int = 1
    shard: bool = False
    source_copies: int = 1
    passwords: PasswordBank | None = None

    def check(self) -> None:
        """Raises UsageError for options that do not go together, before anything is started."""
        if self.databases == 1:
            if self.shard or self.source_copies != 1:
                raise UsageError("--shard and --source-copies are for several databases; add --databases 2 or more")
            return
        check_plan(self.databases, shard=self.shard, source_copies=self.source_copies)


def first_databases(databases: Sequence[Database], number: int) -> list[Database]:
    """So many of the installation's; raises UsageError when there are fewer."""
    if len(databases) < number:
        raise UsageError(f"--databases is {number}, and EDBENCH_DATABASES names {len(databases)}; add the others there")
    return list(databases[:number])


def create_discovery(
    databases: Sequence[Database],
    storage: Storage,
    settings: Settings,
    source: PreparedSource,
    order: DiscoveryOrder,
    *,
    workers: int,
    slots: int,
) -> Jobs:
    """The job, or with several databases the group of jobs; `workers` and `slots` (of each) are what is planned.

    Raises UsageError, StorageFault, DatabaseFault.
    """
    given: dict[str, Any] = {
        "name": order.name,
        "client": order.client,
        "project": order.project,
        "workers": workers,
        "slots": slots,
        "passwords": order.passwords,
    }
    if len(databases) > 1:
        plan = GroupPlan(databases=databases, shard=order.shard, source_copies=order.source_copies)
        return create_discovery_group(plan, storage, settings.storage, source, order.options, **given)
    job = create_discovery_job(databases[0], storage, settings.storage, source, order.options, **given)
    with databases[0].transaction() as conn:
        return alone(JobHandle(databases[0], get_job(conn, job)))

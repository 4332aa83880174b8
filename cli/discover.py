"""`edbench discover`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import typer

from cli import options as opt
from cli.cluster import compose_cluster, given, refuse_out_of_sight
from cli.context import CommandContext, installation, shared, with_options, writable_file
from cli.running import follow
from controller.databases import JobHandle
from controller.filer import filer_choice, refuse_no_common_arbiter
from controller.groups import Group, GroupPlan, check_plan, create_discovery_group
from controller.jobs import create_discovery_job, prepare_source, refuse_own_output
from controller.run import crew_of
from controller.source import PreparedSource
from core.errors import UsageError
from core.operations import NullRecorder
from core.records import FsyncPolicy, JobOptions, Layout, Limits
from core.settings import Settings
from core.storage import Storage
from sql.jobs import get_job
from sql.session import Database

DEFAULT_WORKERS = 2
_LIMITS = Limits()
_OPTIONS = JobOptions()


def discover(
    ctx: typer.Context,
    source: opt.Source,
    workers: opt.Workers = DEFAULT_WORKERS,
    slots: opt.Slots = None,
    cluster: opt.Cluster = None,
    databases: opt.Databases = 1,
    shard: opt.Shard = False,
    source_copies: opt.SourceCopies = 1,
    single_pass: opt.SinglePass = False,
    json_file: opt.JsonFile = None,
    name: opt.JobName = "",
    client: opt.Client = "",
    project: opt.Project = "",
    fsync: opt.Fsync = FsyncPolicy.NONE,
    layout: opt.FileLayout = Layout.SHARED,
    storage: opt.StorageRoot = None,
    index_engine: opt.IndexEngine = None,
    filer: opt.Filer = None,
    max_depth: opt.MaxDepth = _LIMITS.depth,
    parse_mb: opt.ParseMb = _LIMITS.parse_bytes // 1_000_000,
    item_seconds: opt.ItemSeconds = _LIMITS.item_seconds,
    expansion_ratio: opt.ExpansionRatio = _LIMITS.expansion_ratio,
    lease_seconds: opt.LeaseSeconds = _OPTIONS.lease_seconds,
    dispatch_seconds: opt.DispatchSeconds = _OPTIONS.dispatch_seconds,
) -> None:
    """Run a discovery job over DIR and wait for it.

    PostgreSQL, the broker and the workers are started if EDBENCH_DATABASES is not set. Ctrl-C pauses the job; if
    another command pauses or cancels it, this one says so and ends with status 0. The last line printed is the
    job's id. With --databases 2 and more, the last line is the id of the group of simultaneous jobs, which every
    command takes where it takes a job's; its GB/hour is the sum over the longest job.
    """
    context = shared(ctx)
    settings = with_options(context.settings(cluster), storage=storage, slots=slots, engine=index_engine, filer=filer)
    writable_file(json_file, "--json")
    limits = dataclasses.replace(
        _LIMITS,
        depth=max_depth,
        parse_bytes=parse_mb * 1_000_000,
        item_seconds=item_seconds,
        expansion_ratio=expansion_ratio,
    )
    options = JobOptions(
        single_pass=single_pass,
        index_engine=settings.index_engine,
        fsync=fsync,
        layout=layout,
        lease_seconds=lease_seconds,
        dispatch_seconds=dispatch_seconds,
        filer=filer_choice(settings),
        limits=limits,
    )
    order = Order(options, name, client, project, workers, json_file, databases, shard, source_copies)
    order.check()
    scaling = Scaling(cluster, workers if given(ctx, "workers") else None, slots)
    _discover(context, settings, source, order, scaling)


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What was asked for beside the source and the settings."""

    options: JobOptions
    name: str
    client: str
    project: str
    workers: int
    json_file: Path | None
    databases: int
    shard: bool
    source_copies: int

    def check(self) -> None:
        """Raises UsageError for options that do not go together, before anything is started."""
        if self.databases == 1:
            if self.shard or self.source_copies != 1:
                raise UsageError("--shard and --source-copies are for several databases; add --databases 2 or more")
            return
        check_plan(self.databases, shard=self.shard, source_copies=self.source_copies)


@dataclasses.dataclass(frozen=True, slots=True)
class Scaling:
    """What was said of the workers; None: not said, so that a system that runs is left as it is."""

    cluster: str | None
    workers: int | None
    slots: int | None


def _discover(context: CommandContext, settings: Settings, path: Path, order: Order, scaling: Scaling) -> None:
    filer = Storage(NullRecorder())
    source = prepare_source(filer, path)
    refuse_own_output(source, settings)
    with (
        installation(settings, slots=order.workers * settings.slots, databases=order.databases) as installed,
        compose_cluster(context, installed, scaling.cluster, workers=scaling.workers, slots=scaling.slots) as cluster,
    ):
        databases = installed.first(order.databases)
        refuse_no_common_arbiter(databases, installed.settings, ours=installed.embedded)
        workers, slots = (order.workers, settings.slots) if installed.embedded else crew_of(databases[0])
        if cluster is not None:
            refuse_out_of_sight(path, installed)
            workers, slots = cluster.workers, cluster.slots
        found = _create(databases, filer, settings, source, order, workers, slots)
        follow(context, installed, found, workers=workers, slots=slots, json_file=order.json_file, cluster=cluster)


def _create(
    databases: list[Database],
    filer: Storage,
    settings: Settings,
    source: PreparedSource,
    order: Order,
    workers: int,
    slots: int,
) -> JobHandle | Group:
    """The job, or the group of jobs over several databases."""
    if len(databases) > 1:
        plan = GroupPlan(databases=databases, shard=order.shard, source_copies=order.source_copies)
        return create_discovery_group(
            plan,
            filer,
            settings.storage,
            source,
            order.options,
            name=order.name,
            client=order.client,
            project=order.project,
            workers=workers,
            slots=slots,
        )
    job = create_discovery_job(
        databases[0],
        filer,
        settings.storage,
        source,
        order.options,
        name=order.name,
        client=order.client,
        project=order.project,
        workers=workers,
        slots=slots,
    )
    with databases[0].transaction() as conn:
        return JobHandle(databases[0], get_job(conn, job))

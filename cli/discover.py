"""`edbench discover`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import typer

from cli import options as opt
from cli.context import CommandContext, installation, shared, with_options, writable_file
from cli.running import follow
from controller.databases import JobHandle
from controller.jobs import create_discovery_job, prepare_source, refuse_own_output
from controller.run import crew_of
from core.operations import NullRecorder
from core.records import FsyncPolicy, JobOptions, Layout, Limits
from core.settings import Settings
from core.storage import Storage
from sql.jobs import get_job

DEFAULT_WORKERS = 2
_LIMITS = Limits()
_OPTIONS = JobOptions()


def discover(
    ctx: typer.Context,
    source: opt.Source,
    workers: opt.Workers = DEFAULT_WORKERS,
    slots: opt.Slots = None,
    single_pass: opt.SinglePass = False,
    json_file: opt.JsonFile = None,
    name: opt.JobName = "",
    client: opt.Client = "",
    project: opt.Project = "",
    fsync: opt.Fsync = FsyncPolicy.NONE,
    layout: opt.FileLayout = Layout.SHARED,
    storage: opt.StorageRoot = None,
    index_engine: opt.IndexEngine = None,
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
    job's id.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=slots, engine=index_engine)
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
        limits=limits,
    )
    order = Order(options, name, client, project, workers, json_file)
    _discover(context, settings, source, order)


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What was asked for beside the source and the settings."""

    options: JobOptions
    name: str
    client: str
    project: str
    workers: int
    json_file: Path | None


def _discover(context: CommandContext, settings: Settings, path: Path, order: Order) -> None:
    filer = Storage(NullRecorder())
    source = prepare_source(filer, path)
    refuse_own_output(source, settings)
    with installation(settings, slots=order.workers * settings.slots) as installed:
        database = installed.databases[0]
        workers, slots = (order.workers, settings.slots) if installed.embedded else crew_of(database)
        job = create_discovery_job(
            database,
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
        with database.transaction() as conn:
            handle = JobHandle(database, get_job(conn, job))
        follow(context, installed, handle, workers=workers, slots=slots, json_file=order.json_file)

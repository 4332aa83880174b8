"""`edbench discover`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import typer

from cli import options as opt
from cli.answering import await_answer
from cli.bank import Passwords
from cli.beside import PORT, page_beside
from cli.context import CommandContext, shared, with_options, writable_file
from cli.jobs.cluster import compose_cluster, given, refuse_out_of_sight
from cli.site_option import SiteFile
from cli.taking import taking
from controller.filer.choice import refuse_crowded_site
from controller.jobs.ocr import refuse_no_ocr
from controller.jobs.orders import OperatorOrder
from controller.jobs.plan import DiscoveryPlan
from core.operations import NullRecorder
from core.passwords import read_bank
from core.settings import Settings
from core.storage.layer import Storage

DEFAULT_WORKERS = 2


@taking()
def discover(
    ctx: typer.Context,
    *,
    source: opt.Source,
    workers: opt.Workers = DEFAULT_WORKERS,
    slots: opt.Slots = None,
    cluster: opt.Cluster = None,
    order: OperatorOrder,
    site: SiteFile = None,
    passwords: Passwords = None,
    json_file: opt.JsonFile = None,
    storage: opt.StorageRoot = None,
    serve: opt.Serve = False,
    serve_port: opt.ServePort = PORT,
) -> None:
    """Run a discovery job over DIR and wait for it.

    PostgreSQL, the broker and the workers are started if EDBENCH_DATABASES is not set. Ctrl-C pauses the job; if
    another command pauses or cancels it, this one says so and ends with status 0. The last line printed is the
    job's id. With --databases 2 and more, the last line is the id of the group of simultaneous jobs, which every
    command takes where it takes a job's; its GB/hour is the sum over the longest job.
    """
    context = shared(ctx)
    engine, filer = order.index_engine, order.filer
    asked = context.settings(cluster)
    settings = with_options(asked, storage=storage, slots=slots, engine=engine, filer=filer, site=site)
    refuse_crowded_site(settings, workers)
    writable_file(json_file, "--json")
    plan = order.plan(settings, read_bank(passwords) if passwords else None)
    if settings.embedded:
        refuse_no_ocr(plan.options.ocr)
    scaling = Scaling(cluster, workers, given(ctx, "workers"), slots, order.databases)
    _discover(context, settings, source, plan, scaling, json_file, serve_port if serve else None)


@dataclasses.dataclass(frozen=True, slots=True)
class Scaling:
    """What was said of the workers; what was not said leaves a system that runs as it is."""

    cluster: str | None
    workers: int
    workers_said: bool
    slots: int | None
    databases: int

    @property
    def wanted(self) -> int | None:
        """Workers that a Compose system is to have; None: as many as it has."""
        return self.workers if self.workers_said else None


def _discover(
    context: CommandContext,
    settings: Settings,
    path: Path,
    plan: DiscoveryPlan,
    scaling: Scaling,
    json_file: Path | None,
    page: int | None,
) -> None:
    from cli.installation import installation  # the database's libraries are slow to come
    from cli.jobs.running import follow
    from controller.filer.emulated import refuse_no_common_arbiter
    from controller.jobs.create import create_discovery
    from controller.jobs.jobs import prepare_source, refuse_own_output
    from controller.jobs.run import crew_of

    await_answer(settings.storage, path)
    filer = Storage(NullRecorder())
    source = prepare_source(filer, path)
    refuse_own_output(source, settings)
    with (
        installation(settings, slots=scaling.workers * settings.slots, databases=scaling.databases) as installed,
        compose_cluster(context, installed, scaling.cluster, workers=scaling.wanted, slots=scaling.slots) as cluster,
        page_beside(context, installed.settings, page),
    ):
        databases = installed.first(scaling.databases)
        refuse_no_common_arbiter(databases, installed.settings, ours=installed.embedded)
        workers, slots = (scaling.workers, settings.slots) if installed.embedded else crew_of(databases[0])
        if cluster is not None:
            refuse_out_of_sight(path, installed)
            workers, slots = cluster.workers, cluster.slots
        jobs = create_discovery(databases, filer, settings, source, plan, workers=workers, slots=slots)
        follow(context, installed, jobs, workers=workers, slots=slots, json_file=json_file, cluster=cluster)

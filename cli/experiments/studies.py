"""`edbench experiment scale-up|scale-out|knee`: what may be asked for. cli.experiments.conducting does it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.bank import Passwords
from cli.beside import PORT
from cli.context import shared, with_options
from cli.options import numbers
from cli.site_option import SiteFile
from cli.taking import taking
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from core.settings import Settings
from experiments.orders import ALIKE, KneePoints, ScaleOutPoints, ScaleUpPoints, StudyOrder

Corpus = Annotated[Path, typer.Option("--corpus", metavar="DIR", help="a corpus, or any directory of custodians'")]


class Study(StudyOrder):
    """What the commands are told besides."""

    cluster: opt.Cluster = None
    site: SiteFile = None
    hosts: opt.Hosts = None
    listen: opt.Listen = None
    hosts_wait: opt.HostsWait = opt.HOSTS_WAIT_S
    passwords: Passwords = None
    storage: opt.StorageRoot = None
    serve: opt.Serve = False
    serve_port: opt.ServePort = PORT


@taking(order=ALIKE)
def scale_up(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    points: ScaleUpPoints,
    study: Study,
    order: DiscoveryOrder,
) -> None:
    """Discover a corpus with more and more workers, and compare.

    Every run starts from fresh databases and an empty storage root, and has a pair on null storage (memory). The
    report's path is the last line printed. 5 repeats or more are recommended; points with runs of less than 10 minutes are no results.
    """
    settings = _settings(ctx, study, order)
    counts = numbers(points.workers, "--workers")

    from cli.experiments.conducting import carry_out, more_workers  # slow to come

    print(
        carry_out(ctx, settings, corpus, more_workers(settings, counts, study, given_seed(points.seed)), study, order)[
            1
        ]
    )


@taking(order=(*ALIKE, "shard"))
def scale_out(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    points: ScaleOutPoints,
    study: Study,
    order: DiscoveryOrder,
) -> None:
    """Discover a corpus with the same workers on more and more database servers, and compare.

    With several databases each has a job over the whole corpus, all at once, as in report R1; --shard spreads one
    corpus over them instead. The report's path is the last line printed.
    """
    if order.shard and points.source_copies:
        raise UsageError("--shard and --source-copies exclude each other: no two jobs of a shard read the same file")
    settings = _settings(ctx, study, order)
    counts = numbers(points.databases, "--databases")

    from cli.experiments.conducting import carry_out, more_databases  # slow to come

    plan = more_databases(settings, counts, points.workers, study, given_seed(points.seed))
    print(carry_out(ctx, settings, corpus, plan, study, order, copies=points.source_copies)[1])


@taking(order=ALIKE)
def knee(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    points: KneePoints,
    study: Study,
    order: DiscoveryOrder,
) -> None:
    """Raise the number of workers until a bound on an op's p99 latency is broken and no more is gained.

    Tells the peak, the knee (the highest load that keeps all bounds) and the curve of latency over load.
    Latencies are closed-loop. The report's path is the last line printed.
    """
    settings = _settings(ctx, study, order)

    from cli.experiments.conducting import carry_out, search  # slow to come

    plan = search(settings, points.max_p99, points.max_workers, study)
    print(carry_out(ctx, settings, corpus, plan, study, order)[1])


def _settings(ctx: typer.Context, study: Study, order: DiscoveryOrder) -> Settings:
    settings = shared(ctx).settings(study.cluster)
    engine, filer = order.index_engine, order.filer
    return with_options(settings, storage=study.storage, slots=study.slots, engine=engine, filer=filer, site=study.site)


def given_seed(seed: int | None) -> int:
    """That of the command line, or a new one."""
    return secrets.randbelow(1_000_000) if seed is None else seed

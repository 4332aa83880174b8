"""`edbench experiment scale-up|scale-out|knee`: what may be asked for. cli.experiments.conducting does it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
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
from experiments.result.steady import MIN_SECONDS

DEFAULT_REPEATS = 5
DEFAULT_WORKERS = 2
DEFAULT_MOST = 32

Corpus = Annotated[Path, typer.Option("--corpus", metavar="DIR", help="a corpus, or any directory of custodians'")]
Numbers = Annotated[str, typer.Option(metavar="N,N,…", help="the points")]
Repeats = Annotated[int, typer.Option(min=1, max=100, help="runs of each point; 5 or more are recommended")]
MinSeconds = Annotated[
    float, typer.Option(min=1, help="how long each run has to be; a point with a shorter one is labelled SHORT")
]
Cold = Annotated[bool, typer.Option("--cold", help="drop what caches this process may drop, and say what stayed")]
FilerCache = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="what the filer itself can cache, such as 16GB; 0B: nothing  [default: EDBENCH_FILER_CACHE]",
    ),
]
NullMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="memory that null storage may hold, such as 8GB: larger corpora take several portions  [default: 60 % of"
        " what is free]",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="of the random order of the points  [default: a new one]")]
Copies = Annotated[bool, typer.Option("--source-copies", help="each job reads a copy of the source of its own")]
Bounds = Annotated[str, typer.Option("--max-p99", metavar="OP=TIME,…", help="bounds, such as read=20ms,write=40ms")]
MaxWorkers = Annotated[int, typer.Option(min=1, max=512, help="the highest load that is tried")]


# Of what may be asked of a discovery, what a study may vary nothing of.
ALIKE = ("single_pass", "index_streams", "fsync", "layout", "index_engine", "filer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What every study may be told."""

    slots: opt.Slots = None
    cluster: opt.Cluster = None
    site: SiteFile = None
    hosts: opt.Hosts = None
    listen: opt.Listen = None
    hosts_wait: opt.HostsWait = opt.HOSTS_WAIT_S
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = MIN_SECONDS
    filer_cache: FilerCache = None
    null_memory: NullMemory = None
    cold: Cold = False
    passwords: Passwords = None
    storage: opt.StorageRoot = None
    serve: opt.Serve = False
    serve_port: opt.ServePort = PORT


@taking(order=ALIKE)
def scale_up(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    workers: Numbers = "1,2,4,8",
    study: Study,
    seed: Seed = None,
    order: DiscoveryOrder,
) -> None:
    """Discover a corpus with more and more workers, and compare.

    Every run starts from fresh databases and an empty storage root, and has a pair on null storage (memory). The
    report's path is the last line printed. 5 repeats or more are recommended; points with runs of less than 10 minutes are no results.
    """
    settings = _settings(ctx, study, order)
    counts = numbers(workers, "--workers")

    from cli.experiments.conducting import carry_out, more_workers  # slow to come

    print(carry_out(ctx, settings, corpus, more_workers(settings, counts, study, given_seed(seed)), study, order)[1])


@taking(order=(*ALIKE, "shard"))
def scale_out(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    databases: Numbers = "1,2",
    workers: opt.Workers = DEFAULT_WORKERS,
    source_copies: Copies = False,
    study: Study,
    seed: Seed = None,
    order: DiscoveryOrder,
) -> None:
    """Discover a corpus with the same workers on more and more database servers, and compare.

    With several databases each has a job over the whole corpus, all at once, as in report R1; --shard spreads one
    corpus over them instead. The report's path is the last line printed.
    """
    if order.shard and source_copies:
        raise UsageError("--shard and --source-copies exclude each other: no two jobs of a shard read the same file")
    settings = _settings(ctx, study, order)
    counts = numbers(databases, "--databases")

    from cli.experiments.conducting import carry_out, more_databases  # slow to come

    plan = more_databases(settings, counts, workers, study, given_seed(seed))
    print(carry_out(ctx, settings, corpus, plan, study, order, copies=source_copies)[1])


@taking(order=ALIKE)
def knee(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    max_p99: Bounds,
    max_workers: MaxWorkers = DEFAULT_MOST,
    study: Study,
    order: DiscoveryOrder,
) -> None:
    """Raise the number of workers until a bound on an op's p99 latency is broken and no more is gained.

    Tells the peak, the knee (the highest load that keeps all bounds) and the curve of latency over load.
    Latencies are closed-loop. The report's path is the last line printed.
    """
    settings = _settings(ctx, study, order)

    from cli.experiments.conducting import carry_out, search  # slow to come

    print(carry_out(ctx, settings, corpus, search(settings, max_p99, max_workers, study), study, order)[1])


def _settings(ctx: typer.Context, study: Study, order: DiscoveryOrder) -> Settings:
    settings = shared(ctx).settings(study.cluster)
    engine, filer = order.index_engine, order.filer
    return with_options(settings, storage=study.storage, slots=study.slots, engine=engine, filer=filer, site=study.site)


def given_seed(seed: int | None) -> int:
    """That of the command line, or a new one."""
    return secrets.randbelow(1_000_000) if seed is None else seed

"""`edbench experiment scale-up|scale-out|knee`."""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.beside import PORT, site_shown
from cli.context import CommandContext, shared, with_options
from cli.jobs.live import progress_display
from cli.show.study import show_study, show_warnings
from cli.taking import taking
from controller.cluster.base import COMPOSE, chosen_cluster
from controller.jobs.jobs import prepare_source
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from core.operations import NullRecorder
from core.passwords import read_bank
from core.records import JobOptions
from core.settings import Settings, parse_bytes
from core.storage.layer import Storage
from experiments.kinds.kind import Kind
from experiments.kinds.knee import KneeSearch, parse_bounds
from experiments.kinds.scale_out import scale_out as scale_out_kind
from experiments.kinds.scale_up import scale_up as scale_up_kind
from experiments.package.finish import finish
from experiments.result.schema import Result
from experiments.result.steady import MIN_SECONDS
from experiments.study import conduct
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.embedded_site import EmbeddedSite
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.run_point import Load
from experiments.workloads.discovery.site import Site
from experiments.workloads.discovery.workload import Discovery

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
    site: opt.SiteFile = None
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = MIN_SECONDS
    filer_cache: FilerCache = None
    null_memory: NullMemory = None
    cold: Cold = False
    passwords: opt.Passwords = None
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
    base = PointSpec(1, 1, settings.slots)
    plan = scale_up_kind(base, numbers(workers, "--workers"), repeats=study.repeats, seed=given_seed(seed))
    print(carry_out(ctx, settings, corpus, plan, study, order)[1])


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
    base = PointSpec(1, workers, settings.slots)
    plan = scale_out_kind(base, numbers(databases, "--databases"), repeats=study.repeats, seed=given_seed(seed))
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
    bounds, base = parse_bounds(max_p99), PointSpec(1, 1, settings.slots)
    plan = KneeSearch(base, "workers", bounds, most=max_workers, repeats=study.repeats, rate=ABOUT.rate)
    print(carry_out(ctx, settings, corpus, plan, study, order)[1])


def _settings(ctx: typer.Context, study: Study, order: DiscoveryOrder) -> Settings:
    found = shared(ctx).settings(study.cluster)
    engine, filer = order.index_engine, order.filer
    return with_options(found, storage=study.storage, slots=study.slots, engine=engine, filer=filer, site=study.site)


def carry_out(
    ctx: typer.Context,
    settings: Settings,
    corpus: Path,
    plan: Kind,
    study: Study,
    order: DiscoveryOrder,
    copies: bool = False,
    options: JobOptions | None = None,
) -> tuple[Result, Path]:
    """Run it and show what was found; the result, and the path of its report. `options`: those that no order has. Raises what
    `conduct` does."""
    context = shared(ctx)
    bank = read_bank(study.passwords) if study.passwords else None
    cache = declared_cache(study.filer_cache, settings)
    cap = None if study.null_memory is None else parse_bytes(study.null_memory, "--null-memory")
    source = prepare_source(Storage(NullRecorder()), corpus)
    with progress_display(context.err) as display:
        load = Load(
            options=dataclasses.replace(
                options or JobOptions(),
                single_pass=order.single_pass,
                index_streams=order.index_streams,
                fsync=order.fsync,
                layout=order.layout,
            ),
            passwords=bank,
            shard=order.shard,
            copies=copies,
            cold=study.cold,
            env=context.env,
            clock=context.clock,
            show=display.show,
            say=lambda line: context.err.print(line, markup=False),
        )
        site, settings = _site(context, settings, corpus, load.say, study.cluster)
        with site_shown(context, site, settings, study.serve_port if study.serve else None) as shown:
            discovery = Discovery(settings, source, load, shown, filer_cache=cache, null_cap=cap)
            result, directory = conduct(discovery, plan, study.min_seconds)
    show_study(context.out, result)
    show_warnings(context.out, result)
    return result, finish(result, directory)


def _site(
    context: CommandContext, settings: Settings, corpus: Path, say: Callable[[str], None], cluster: str | None
) -> tuple[Site, Settings]:
    """Where the runs take place, and settings without services: a run gets its own."""
    if chosen_cluster(context.env, cluster) != COMPOSE or context.env.get("EDBENCH_DATABASES"):
        return EmbeddedSite(), settings

    from experiments.workloads.discovery.compose_site import ComposeSite  # brings the engine's client

    alone = dataclasses.replace(settings, databases=(), broker=None)
    return ComposeSite(settings, corpus, context.env, say), alone


def numbers(text: str, option: str, *, digits: int = 3) -> list[int]:
    """`1,2,4` as numbers of at most so many digits; raises UsageError."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(re.fullmatch(rf"[0-9]{{1,{digits}}}", part) for part in parts):
        raise UsageError(f"{option} is {text!r}; it must be whole numbers such as 1,2,4")
    return [int(part) for part in parts]


def declared_cache(text: str | None, settings: Settings) -> int | None:
    """Bytes of --filer-cache, else of EDBENCH_FILER_CACHE; None: nobody said. Raises UsageError."""
    return settings.filer_cache if text is None else parse_bytes(text, "--filer-cache")


def given_seed(seed: int | None) -> int:
    """That of the command line, or a new one."""
    return secrets.randbelow(1_000_000) if seed is None else seed

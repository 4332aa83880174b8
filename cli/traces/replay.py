"""`edbench replay`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared, with_options, writable_file
from cli.options import FilerCache, MinSeconds, declared_cache
from core.filer.load import profile_names
from experiments.kinds.load import LEAST_LEVELS, MOST_LEVELS
from experiments.result.steady import MIN_SECONDS
from replay.plan import MAX_CLIENTS

Trace = Annotated[Path, typer.Argument(metavar="TRACE", readable=False, help="what `discover --trace` wrote")]
Paths = Annotated[
    list[Path], typer.Option("--path", metavar="DIR", help="an empty directory on the storage under test; repeatable")
]
Clients = Annotated[
    str | None,
    typer.Option(
        "--clients", metavar="N,N,…", help="client processes, one number after another  [default: as recorded]"
    ),
]
PaceOption = Annotated[
    str,
    typer.Option(
        "--pace",
        metavar="PACE",
        help="job (a closed loop with the recorded think times), schedule (the recorded start times), max (no think"
        " time), or a schedule so many times as fast, such as x2",
    ),
]
ScalingOption = Annotated[
    str | None,
    typer.Option(
        "--scaling",
        metavar="SCALING",
        help="refuse numbers of clients that are not so: strong deals one data set out to them, weak gives each"
        " clone of the trace its own",
    ),
]
Shared = Annotated[
    bool, typer.Option("--shared/--private", help="whether clones of the trace read the same files or each its own")
]
Force = Annotated[bool, typer.Option("--force", help="also where a directory is not empty; what is there stays")]
Keep = Annotated[bool, typer.Option("--keep", help="leave the files that were made")]
Bounds = Annotated[
    str | None,
    typer.Option(
        "--max-p99", metavar="OP=TIME,…", help="search the largest load with response p99 within, as read=20ms"
    ),
]
Filers = Annotated[
    str | None,
    typer.Option(
        "--filer",
        metavar="NAME,NAME,…",
        help=f"emulated filer: {', '.join(profile_names())}, or a file in TOML; several are replayed on one after"
        " another  [default: EDBENCH_FILER or none]",
    ),
]
LevelCount = Annotated[
    int | None,
    typer.Option(
        "--levels",
        metavar="N",
        min=LEAST_LEVELS,
        max=MOST_LEVELS,
        help="offer N levels of load up to the peak, such as 10",
    ),
]
Peak = Annotated[
    int | None,
    typer.Option(min=1, metavar="CALLS/S", help="of --levels  [default: found as fast as it goes]"),
]
MaxClients = Annotated[int, typer.Option(min=1, max=MAX_CLIENTS, help="the highest load that is tried with --max-p99")]
Workers = Annotated[int, typer.Option(min=1, max=512, help="worker processes the clients are spread over (embedded)")]
JobName = Annotated[str, typer.Option(help="name of the job  [default: from the trace]")]
Repeats = Annotated[int, typer.Option(min=1, max=100, help="replays of each point; 5 or more are recommended")]
Seed = Annotated[int, typer.Option(min=0, help="of the files' contents, and of the random order of the points")]


def replay(
    ctx: typer.Context,
    trace: Trace,
    path: Paths,
    clients: Clients = None,
    pace: PaceOption = "schedule",
    scaling: ScalingOption = None,
    shared_files: Shared = False,
    max_p99: Bounds = None,
    max_clients: MaxClients = 32,
    levels: LevelCount = None,
    peak: Peak = None,
    repeats: Repeats = 1,
    min_seconds: MinSeconds = MIN_SECONDS,
    filer_cache: FilerCache = None,
    force: Force = False,
    keep: Keep = False,
    filer: Filers = None,
    workers: Workers = 1,
    seed: Seed = 0,
    hosts: opt.Hosts = None,
    listen: opt.Listen = None,
    hosts_wait: opt.HostsWait = opt.HOSTS_WAIT_S,
    storage: opt.StorageRoot = None,
    json_file: opt.JsonFile = None,
    name: JobName = "",
) -> None:
    """Make the storage calls of a trace again, from client processes, without the work between them.

    A tree of files of the same sizes and depths is prepared below each --path and removed afterwards. Intended start
    times are kept, so that response time includes waiting; --pace job tells how long the job would take there. Several
    numbers of clients, and several filers, run one after another in random order into one report, whose path is the last
    line printed.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    settings = dataclasses.replace(settings, filer_cache=declared_cache(filer_cache, settings))
    writable_file(json_file, "--json")

    from cli.traces import replaying  # slow to come

    asked = replaying.parse_pace(pace)
    order = replaying.ReplayOrder(
        trace=trace.absolute(),
        paths=tuple(one.absolute() for one in path),
        speed=asked.speed,
        closed=asked.closed,
        shared=shared_files,
        seed=seed,
        force=force,
        keep=keep,
        name=name,
    )
    wish = replaying.wish_of(
        order,
        clients,
        max_p99,
        max_clients,
        replaying.filers_of(filer, settings),
        repeats,
        replaying.parse_scaling(scaling),
    )
    wish = dataclasses.replace(
        replaying.with_levels(wish, levels, peak, order),
        min_seconds=min_seconds,
        hosts=opt.hosts_wanted(hosts, listen, hosts_wait),
    )
    replaying.carry_out(context, settings, order, wish, workers, json_file)

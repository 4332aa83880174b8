"""`edbench replay`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared, with_options, writable_file
from cli.options import declared_cache
from cli.taking import taking
from experiments.replay_orders import ReplayStudyOrder

Trace = Annotated[Path, typer.Argument(metavar="TRACE", readable=False, help="what `discover --trace` wrote")]
Paths = Annotated[
    list[Path], typer.Option("--path", metavar="DIR", help="an empty directory on the storage under test; repeatable")
]
Shared = Annotated[
    bool, typer.Option("--shared/--private", help="whether clones of the trace read the same files or each its own")
]
Force = Annotated[bool, typer.Option("--force", help="also where a directory is not empty; what is there stays")]
Keep = Annotated[bool, typer.Option("--keep", help="leave the files that were made")]
JobName = Annotated[str, typer.Option(help="name of the job  [default: from the trace]")]


@taking()
def replay(
    ctx: typer.Context,
    *,
    trace: Trace,
    path: Paths,
    order: ReplayStudyOrder,
    shared_files: Shared = False,
    force: Force = False,
    keep: Keep = False,
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
    settings = dataclasses.replace(settings, filer_cache=declared_cache(order.filer_cache, settings))
    writable_file(json_file, "--json")

    from cli.traces import replaying  # slow to come

    asked = replaying.parse_pace(order.pace)
    wanted = replaying.ReplayOrder(
        trace=trace.absolute(),
        paths=tuple(one.absolute() for one in path),
        speed=asked.speed,
        closed=asked.closed,
        shared=shared_files,
        seed=order.seed,
        force=force,
        keep=keep,
        name=name,
    )
    wish = replaying.wish_of(
        wanted,
        order.clients,
        order.max_p99,
        order.max_clients,
        replaying.filers_of(order.filer, settings),
        order.repeats,
        replaying.parse_scaling(order.scaling),
    )
    wish = dataclasses.replace(
        replaying.with_levels(wish, order.levels, order.peak, wanted),
        min_seconds=order.min_seconds,
        hosts=opt.hosts_wanted(hosts, listen, hosts_wait),
    )
    replaying.carry_out(context, settings, wanted, wish, order.workers, json_file)

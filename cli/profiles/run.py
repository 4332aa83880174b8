"""`edbench profile run`: what may be asked for. cli.profiles.running does it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.beside import PORT
from cli.context import shared, with_options, writable_file
from cli.experiments.studies import given_seed
from cli.options import declared_cache, numbers
from cli.profiles import ALL
from cli.taking import taking
from core.errors import UsageError
from core.options.bounds import MOST_SCALE
from experiments.orders import ProfileOrder

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="a profile of `edbench profile list` that is a workload, or all")
]
Paths = Annotated[
    list[Path] | None,
    typer.Option(
        "--path", metavar="DIR", help="an empty directory on the storage under test; repeatable: a volume each"
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option("--s3", metavar="URL", help="s3://BUCKET/PREFIX; endpoint and credentials from AWS_* variables"),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="a setting (`profile describe`); repeatable")
]
Package = Annotated[
    Path | None, typer.Option("--discovery", metavar="PACKAGE", help="of all: an experiment made before, not a new one")
]
Scale = Annotated[
    float | None,
    typer.Option(
        min=0.00001,
        max=MOST_SCALE,
        help="of all: of the corpus that is discovered  [default: 0.01, --small 0.0003]",
    ),
]
Workers = Annotated[
    str | None, typer.Option(metavar="N,N,…", help="of all: of the discovery  [default: 1,2,4, --small 1]")
]
Resume = Annotated[bool, typer.Option("--resume", help="go on with the same command where it was interrupted")]


@taking()
def run(
    ctx: typer.Context,
    *,
    name: Name,
    path: Paths = None,
    s3: Endpoint = None,
    setting: Settings = None,
    order: ProfileOrder,
    discovery: Package = None,
    scale: Scale = None,
    workers: Workers = None,
    resume: Resume = False,
    storage: opt.StorageRoot = None,
    serve: opt.Serve = False,
    serve_port: opt.ServePort = PORT,
    json_file: opt.JsonFile = None,
) -> None:
    """Put storage through a test of reports R2 to R5, with a report and their figures beside; `all`: through all of them
    and a discovery, to one page.

    Takes only empty directories, and removes what it wrote: also after Ctrl-C, and the next command after kill -9. The
    report's path is the last line printed.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None, filer=order.filer)
    settings = dataclasses.replace(settings, filer_cache=declared_cache(order.filer_cache, settings))
    writable_file(json_file, "--json")
    if resume and order.seed is not None:
        raise UsageError("--resume goes on in the order that was begun: --seed is of a new one")

    from cli.profiles import running  # slow to come

    targets = running.Targets(paths=tuple(one.absolute() for one in path or ()), s3=s3)
    wish = running.Wish(
        repeats=order.repeats,
        seed=given_seed(order.seed),
        min_seconds=order.min_seconds,
        yes=order.yes,
        resume=resume,
        json_file=json_file,
        serve_port=serve_port if serve else None,
    )
    if name == ALL:
        from cli.profiles import everything  # with a discovery: slower to come

        counts = tuple(numbers(workers or ("1" if order.small else "1,2,4"), "--workers"))
        discovering = everything.Discovering(
            package=discovery, scale=scale or (0.0003 if order.small else 0.01), workers=counts
        )
        everything.run_all(ctx, settings, targets, setting or [], wish, discovering, small=order.small)
        return
    if discovery or scale is not None or workers:
        raise UsageError(f"--discovery, --scale and --workers are of `profile run {ALL}`")
    running.carry_out(context, settings, running.made(name, targets, setting or [], small=order.small), wish)

"""`edbench experiment r1`: what may be asked for. cli.experiments.r1_rows does it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import options as opt
from cli.experiments.studies import MinSeconds, Repeats, Seed, given_seed
from cli.site_option import SiteFile

_LEAST_SECONDS = 1.0

Scale = Annotated[str, typer.Option(metavar="1/K", help="of the report's data: 1/500 are 90 MB")]
Streams = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=512,
        help="tasks of phase index at a time, of each job; 0: no limit  [default: as fitted, docs/site.md]",
    ),
]

TimeScale = Annotated[
    float,
    typer.Option(
        help="everything takes so many times as long as on the site as it was fitted: 0.5 is twice as fast, see docs/site.md"
    ),
]
Brief = Annotated[bool, typer.Option("--brief", help="print the tables and a few lines; the report has the rest")]


def r1(
    ctx: typer.Context,
    *,
    scale: Scale = "1/500",
    time_scale: TimeScale = 1.0,
    site: SiteFile = None,
    index_streams: Streams = None,
    repeats: Repeats = 5,
    min_seconds: MinSeconds = _LEAST_SECONDS,
    brief: Brief = False,
    storage: opt.StorageRoot = None,
    seed: Seed = None,
) -> None:
    """Run report R1's rows on an emulated site: 10 and 30 workers on one database, 30 on two.

    The corpus is made below the storage root the first time. What R1 says stands beside what came out, each with its
    tolerance, pass or fail; parameters from the report, assumed and fitted are three lists. The report's path is the
    last line printed.
    """
    from cli.experiments.r1_rows import R1Order, run_rows  # slow to come

    order = R1Order(
        scale=scale,
        time_scale=time_scale,
        site=site,
        index_streams=index_streams,
        repeats=repeats,
        min_seconds=min_seconds,
        storage=storage,
        seed=given_seed(seed),
        brief=brief,
    )
    run_rows(ctx, order)

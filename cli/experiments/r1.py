"""`edbench experiment r1`: what may be asked for. cli.experiments.r1_rows does it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import options as opt
from cli.site_option import SiteFile
from cli.taking import taking
from experiments.orders import R1Order

Brief = Annotated[bool, typer.Option("--brief", help="print the tables and a few lines; the report has the rest")]


@taking()
def r1(
    ctx: typer.Context,
    *,
    order: R1Order,
    site: SiteFile = None,
    brief: Brief = False,
    storage: opt.StorageRoot = None,
) -> None:
    """Run report R1's rows on an emulated site: 10 and 30 workers on one database, 30 on two.

    The corpus is made below the storage root the first time. What R1 says stands beside what came out, each with its
    tolerance, pass or fail; parameters from the report, assumed and fitted are three lists. The report's path is the
    last line printed.
    """
    from cli.experiments.r1_rows import run_rows  # slow to come

    run_rows(ctx, order, site=site, brief=brief, storage=storage)

"""`edbench experiment r1`: what may be asked for. cli.experiments.r1_rows does it, on hosts cli.experiments.r1_hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.jobs.cluster import given
from cli.site_option import SiteFile
from cli.taking import taking
from core.errors import UsageError
from experiments.orders import R1Order
from experiments.result.steady import MIN_SECONDS

Brief = Annotated[bool, typer.Option("--brief", help="print the tables and a few lines; the report has the rest")]
Corpus = Annotated[
    Path | None, typer.Option("--corpus", metavar="DIR", help="with --hosts: what is discovered, on their storage")
]
Workers = Annotated[str, typer.Option(metavar="N,N", help="with --hosts: of the first row, and of the others")]
Cold = Annotated[bool, typer.Option("--cold", help="with --hosts: drop what caches they may drop, and say what stayed")]

_OF_SITE = ("scale", "time_scale", "site", "brief")
_OF_HOSTS = ("corpus", "workers", "cold")


@taking()
def r1(
    ctx: typer.Context,
    *,
    order: R1Order,
    site: SiteFile = None,
    brief: Brief = False,
    hosts: opt.Hosts = None,
    listen: opt.Listen = None,
    hosts_wait: opt.HostsWait = opt.HOSTS_WAIT_S,
    corpus: Corpus = None,
    workers: Workers = "10,30",
    cold: Cold = False,
    storage: opt.StorageRoot = None,
) -> None:
    """Run report R1's rows on an emulated site: 10 and 30 workers on one database, 30 on two.

    The corpus is made below the storage root the first time. What R1 says stands beside what came out, each with its
    tolerance, pass or fail; parameters from the report, assumed and fitted are three lists. The report's path is the
    last line printed. With --hosts the same rows on real hosts and storage, R1's beside; index streams have no limit then
    unless one is said, and a run has to be of 600 s.
    """
    opt.hosts_wanted(hosts, listen, hosts_wait)
    wrong = next((name for name in (_OF_HOSTS if hosts is None else _OF_SITE) if given(ctx, name)), None)
    if wrong is not None:
        option, of = (
            f"--{wrong.replace('_', '-')}",
            "with --hosts" if hosts is None else "of the emulated site, not with --hosts",
        )
        raise UsageError(f"{option} is {of}", field=wrong)
    if hosts is None:
        from cli.experiments.r1_rows import run_rows  # slow to come

        run_rows(ctx, order, site=site, brief=brief, storage=storage)
        return
    if corpus is None:
        raise UsageError("--hosts needs --corpus: a corpus on the storage that the hosts see", field="corpus")

    from cli.experiments.r1_hosts import run_on_hosts  # as above
    from cli.experiments.studies import Study

    least = order.min_seconds if given(ctx, "min_seconds") else MIN_SECONDS
    study = Study(hosts=hosts, listen=listen, hosts_wait=hosts_wait, cold=cold, storage=storage, min_seconds=least)
    run_on_hosts(ctx, order, study, corpus, workers)

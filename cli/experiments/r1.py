"""`edbench experiment r1`: report R1's rows on an emulated site, with its tables and figures beside ours."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.console import Console

from cli import options as opt
from cli.context import shared, with_options
from cli.corpus.generate import reporter, usable_processors
from cli.experiments.studies import MinSeconds, Repeats, Seed, Study, carry_out, given_seed
from cli.show.table import table
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from core.filer.load import scaled_site
from dataset_gen.corpus import generate_corpus
from experiments.kinds.grid import Grid
from experiments.workloads.discovery.r1.checks import checks, verdict
from experiments.workloads.discovery.r1.parameters import (
    ASSUMED,
    FITTED,
    FROM_REPORT,
    INDEX_STREAMS,
    KIND,
    POINTS,
    SITE,
    SLOTS,
    scaled_tasks,
)
from experiments.workloads.discovery.r1.tables import TABLE, r1_tables
from experiments.workloads.discovery.result import PointSpec, Result, of_discovery

_SEED = 7
_LEAST_SECONDS = 1.0
_MOST_SCALE = 100_000

Scale = Annotated[str, typer.Option(metavar="1/K", help="of the report's data: 1/500 are 90 MB")]
Streams = Annotated[int, typer.Option(min=0, max=512, help="tasks of phase index at a time, of each job; 0: no limit")]


def r1(
    ctx: typer.Context,
    *,
    scale: Scale = "1/500",
    site: opt.SiteFile = None,
    index_streams: Streams = INDEX_STREAMS,
    repeats: Repeats = 5,
    min_seconds: MinSeconds = _LEAST_SECONDS,
    storage: opt.StorageRoot = None,
    seed: Seed = None,
) -> None:
    """Run report R1's rows on an emulated site: 10 and 30 workers on one database, 30 on two.

    The corpus is made below the storage root the first time. What R1 says stands beside what came out, each with its
    tolerance, pass or fail; parameters from the report, assumed and fitted are three lists. The report's path is the
    last line printed.
    """
    context = shared(ctx)
    times = _times(scale)
    settings = with_options(context.settings(None), storage=storage, slots=SLOTS, engine=None)
    source = scaled_site(site or SITE, times)
    settings = with_options(settings, storage=None, slots=None, engine=None, filer=source)
    corpus = settings.storage / "corpora" / f"r1-{times}"
    if not (corpus / "dataset.json").exists():
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, "reference", 1 / times, _SEED, usable_processors(), report)
    points = [PointSpec(databases, workers, SLOTS) for databases, workers in POINTS]
    plan = Grid(KIND, "workers", points, repeats=repeats, seed=given_seed(seed))
    order = DiscoveryOrder(index_streams=index_streams or None)
    result, path = carry_out(
        ctx, settings, corpus, plan, Study(min_seconds=min_seconds), order, options=scaled_tasks(times)
    )
    _show(context.out, of_discovery(result))
    print(path)


def _times(scale: str) -> int:
    found = re.fullmatch(r"1/([0-9]{1,6})", scale.strip())
    if found is None or not 1 <= int(found[1]) <= _MOST_SCALE:
        raise UsageError(f"--scale is {scale!r}; it must be 1/K, such as 1/500, K from 1 to {_MOST_SCALE:,}")
    return int(found[1])


def _show(console: Console, result: Result) -> None:
    """Both tables with R1's rows beside, the checks, the three lists."""
    for title, rows in r1_tables(result):
        console.print(f"\n{title}")
        console.print(table(TABLE, rows, right=range(1, len(TABLE))))
    console.print()
    header = ("what", "R1", "ours", "tolerance", "held")
    console.print(table(header, [(c.what, c.r1, c.ours, c.tolerance, verdict(c)) for c in checks(result)]))
    for title, lines in (("from the report", FROM_REPORT), ("assumed", ASSUMED), ("fitted", FITTED)):
        console.print(f"\n{title}:")
        for line in lines:
            console.print(f"  {line}", markup=False)

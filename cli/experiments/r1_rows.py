"""What `edbench experiment r1` does: the corpus, the rows on the site, R1's figures beside ours."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from rich.console import Console

from cli.answering import await_answer
from cli.context import shared, with_options
from cli.corpus.generate import reporter, usable_processors
from cli.experiments.conducting import carry_out
from cli.experiments.studies import Study, given_seed
from cli.show.table import table
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from core.filer.load import load_filer, scaled_site, site_names, site_source
from core.filer.machine import speed_at_work
from core.records import JobOptions
from dataset_gen.corpus import generate_corpus
from experiments.kinds.grid import Grid
from experiments.orders import R1Order
from experiments.processes import processors
from experiments.report import FIGURES
from experiments.workloads.discovery.r1.brief import brief as brief_lines
from experiments.workloads.discovery.r1.brief import speed_told
from experiments.workloads.discovery.r1.checks import checks, verdict, window_told
from experiments.workloads.discovery.r1.pace import AUTO, said_scale, time_scale
from experiments.workloads.discovery.r1.parameters import (
    INDEX_STREAMS,
    KIND,
    POINTS,
    SITE,
    SLOTS,
    parameters,
    scaled_tasks,
)
from experiments.workloads.discovery.r1.seen import seconds_told
from experiments.workloads.discovery.r1.tables import TABLE, r1_tables
from experiments.workloads.discovery.result import PointSpec, Result, of_discovery

_SEED = 16
_MOST_SCALE = 100_000


def run_rows(ctx: typer.Context, asked: R1Order, *, site: str | None, brief: bool, storage: Path | None) -> None:
    """Generate what is not there, run the rows, show. Raises UsageError for a scale that is none, and what `conduct` does."""
    context = shared(ctx)
    times = _times(asked.scale)
    settings = with_options(context.settings(None), storage=storage, slots=SLOTS, engine=None)
    source = _on_site(context.err, site or SITE, times, asked.time_scale)
    settings = with_options(settings, storage=None, slots=None, engine=None, filer=source)
    await_answer(settings.storage)
    corpus = settings.storage / "corpora" / f"r1-1in{times}-seed-{_SEED}"
    if not (corpus / "dataset.json").exists():
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, "r1", 1 / times, _SEED, usable_processors(), report)
    points = [PointSpec(databases, workers, SLOTS) for databases, workers in POINTS]
    plan = Grid(KIND, "workers", points, repeats=asked.repeats, seed=given_seed(asked.seed))
    options = order_options(times, asked.index_streams)
    order = DiscoveryOrder(index_streams=options.index_streams)
    study = Study(min_seconds=asked.min_seconds)
    result, path = carry_out(ctx, settings, corpus, plan, study, order, options=options, brief=brief)
    show_tables(context.out, of_discovery(result))
    if brief:
        _few_lines(context.out, of_discovery(result), times, path)
    else:
        _show(context.out, of_discovery(result))
    print(path)


def order_options(times: int, streams: int | None) -> JobOptions:
    """As `--index-streams` was said: not at all is as fitted, and 0 no limit."""
    return scaled_tasks(times, INDEX_STREAMS if streams is None else streams or None)


def _on_site(console: Console, site: str, times: int, asked: str) -> str:
    """The site, as slow as it was asked for; says how fast this machine is. A file says its time scale itself."""
    own = load_filer(site_source(site))
    if asked == AUTO and site not in site_names() and own is not None and own.site is not None:
        asked = repr(own.site.time_scale)
    scaled_site(site, times, said_scale(asked) or 1.0)  # what is wrong is said before seconds are spent on the speed
    usable = processors()
    speed = speed_at_work(usable)
    scale = time_scale(asked, speed, usable, times)
    said = (
        f"this machine: {usable} processors of {speed:.2f} of the speed that the site is stated for; time x {scale:g}"
    )
    console.print(said, markup=False, soft_wrap=True)
    return scaled_site(site, times, scale)


def _times(scale: str) -> int:
    found = re.fullmatch(r"1/([0-9]{1,6})", scale.strip())
    if found is None or not 1 <= int(found[1]) <= _MOST_SCALE:
        raise UsageError(f"--scale is {scale!r}; it must be 1/K, such as 1/500, K from 1 to {_MOST_SCALE:,}")
    return int(found[1])


def show_tables(console: Console, result: Result) -> None:
    """Both, with R1's rows beside."""
    for title, rows in r1_tables(result):
        console.print(f"\n{title}")
        console.print(table(TABLE, rows, right=range(1, len(TABLE))))
    if told := seconds_told(result):
        console.print(told, markup=False, soft_wrap=True)
    console.print()


def _few_lines(console: Console, result: Result, times: int, report: Path) -> None:
    """What held, and where the picture of the filer's ops over time is."""
    for line in brief_lines(result, checks(result), times):
        console.print(line, markup=False, soft_wrap=True)
    picture = report.parent / FIGURES / "filer-ops.png"
    if picture.exists():
        console.print(f"filer ops over time, R1's figure: {picture}", markup=False, soft_wrap=True)


def _show(console: Console, result: Result) -> None:
    """The checks, the three lists where it is the site that they are about."""
    header = ("what", "R1", "ours", "tolerance", "held")
    rows = [(c.what, c.r1, c.ours, c.tolerance, verdict(c, result)) for c in checks(result)]
    console.print(table(header, rows))
    for line in (window_told(result), *speed_told(result)):
        console.print(line, markup=False, soft_wrap=True)
    for title, lines in parameters(result):
        console.print(f"\n{title.lower()}:")
        for line in lines:
            console.print(f"  {line}", markup=False)

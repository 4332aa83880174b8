"""`edbench bench r1`: the rows of report R1 on an emulated site or on real storage."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.answering import await_answer
from cli.bench import Study, carry_out, print_result
from cli.context import shared, with_options
from cli.output import table
from cli.tree import Commands
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from experiments.orders import R1Order
from experiments.result.steady import MIN_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from core.records import JobOptions
    from experiments.workloads.discovery.result import Result

commands = Commands()

_SEED = 16
_MOST_SCALE = 100_000
_OF_SITE = ("scale", "time_scale", "site", "brief")
_OF_CREW = ("workers", "cold", "listen", "wait")


@commands.add("r1", "edbench bench r1 --scale 1/500 --repeats 5")
def r1(
    ctx: typer.Context,
    *,
    order: R1Order,
    site: opt.SiteFile = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print only the tables; the report has the rest.")] = False,
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus", metavar="DIR", help="Discover this corpus on real storage with the connected workers."
        ),
    ] = None,
    workers: Annotated[
        str,
        typer.Option("--workers", metavar="N,N", help="With --corpus: workers of the first row, and of the others."),
    ] = "10,30",
    cold: Annotated[
        bool, typer.Option("--cold", help="Drop the caches before each run and report those that cannot be dropped.")
    ] = False,
    listen: opt.Listen = None,
    wait: opt.Wait = None,
    storage: opt.StorageRoot = None,
    output: opt.TableOrJson = "table",
) -> None:
    """Run the rows of report R1 on an emulated site, or on the connected workers.

    These are 10 and 30 workers on one database, and 30 on two.

    The command emulates the site of the report and generates the corpus below the storage root once. It prints R1's figures next
    to those measured, each with its tolerance and whether it is met, and lists the parameters from the report, the assumed and
    the fitted ones. With --corpus it runs the same rows on the connected workers and real storage: without a limit on index streams unless one is
    given, and with runs of at least 600 s. The last line is the path of the report.
    """
    wrong = next((name for name in (_OF_CREW if corpus is None else _OF_SITE) if opt.given(ctx, name)), None)
    if wrong is not None:
        option = f"--{wrong.replace('_', '-')}"
        which = "requires --corpus" if corpus is None else "belongs to the emulated site: remove it, or --corpus"
        raise UsageError(f"{option} {which}", field=wrong)
    if corpus is None:
        _run_rows(ctx, order, site=site, brief=brief, storage=storage, output=output)
        return
    least = order.min_seconds if opt.given(ctx, "min_seconds") else MIN_SECONDS
    study = Study(cold=cold, listen=listen, wait=wait, storage=storage, min_seconds=least)
    _run_on_crew(ctx, order, study, corpus, workers, output)


def _run_rows(
    ctx: typer.Context, asked: R1Order, *, site: str | None, brief: bool, storage: Path | None, output: str
) -> None:
    """Generate what does not exist, run the rows, print. Raises UsageError for a bad scale, and what `conduct` does."""
    from cli.corpus import reporter, usable_cores
    from dataset_gen.corpus import generate_corpus
    from experiments.kinds.grid import Grid
    from experiments.workloads.discovery.r1.parameters import KIND, POINTS, SITE, SLOTS
    from experiments.workloads.discovery.result import PointSpec, of_discovery

    context = shared(ctx)
    times = _times(asked.scale)
    settings = with_options(context.settings(), storage=storage, slots=SLOTS, engine=None)
    source = _on_site(context.err, site or SITE, times, asked.time_scale)
    settings = with_options(settings, storage=None, slots=None, engine=None, filer=source)
    await_answer(settings.storage)
    corpus = settings.storage / "corpora" / f"r1-1in{times}-seed-{_SEED}"
    if not (corpus / "dataset.json").exists():
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, "r1", 1 / times, _SEED, usable_cores(), report)
    points = [PointSpec(databases, workers, SLOTS) for databases, workers in POINTS]
    plan = Grid(KIND, "workers", points, repeats=asked.repeats, seed=opt.given_seed(asked.seed))
    options = order_options(times, asked.index_streams)
    order = DiscoveryOrder(index_streams=options.index_streams)
    study = Study(min_seconds=asked.min_seconds)
    result, path = carry_out(ctx, settings, corpus, plan, study, order, options=options, brief=brief, people=output)
    console = context.people(output)
    show_tables(console, of_discovery(result))
    if brief:
        _few_lines(console, of_discovery(result), times, path)
    else:
        _show(console, of_discovery(result))
    print_result(context, result, path, output)


def order_options(times: int, streams: int | None) -> JobOptions:
    """As `--index-streams` sets them: not given, as fitted; 0, no limit."""
    from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS, scaled_tasks

    return scaled_tasks(times, INDEX_STREAMS if streams is None else streams or None)


def _on_site(console: Console, site: str, times: int, asked: str) -> str:
    """The site at the time scale asked for; prints the speed of this host. A file states its time scale itself."""
    from core.filer.load import load_filer, scaled_site, site_names, site_source
    from core.filer.machine import speed_at_work
    from experiments.workloads.discovery.r1.pace import AUTO, said_scale, time_scale
    from monitoring.processes import processors

    own = load_filer(site_source(site))
    if asked == AUTO and site not in site_names() and own is not None and own.site is not None:
        asked = repr(own.site.time_scale)
    scaled_site(
        site, times, said_scale(asked) or 1.0
    )  # errors are reported before seconds are spent on measuring the speed
    usable = processors()
    speed = speed_at_work(usable)
    scale = time_scale(asked, speed, usable, times)
    line = f"this host: {usable} cores at {speed:.2f} of the speed that the site assumes; time x {scale:g}"
    console.print(line, markup=False, soft_wrap=True)
    return scaled_site(site, times, scale)


def _times(scale: str) -> int:
    found = re.fullmatch(r"1/([0-9]{1,6})", scale.strip())
    if found is None or not 1 <= int(found[1]) <= _MOST_SCALE:
        raise UsageError(f"--scale is {scale!r}; it must be 1/K with K from 1 to {_MOST_SCALE:,}, such as 1/500")
    return int(found[1])


def show_tables(console: Console, result: Result) -> None:
    """Both tables, with the rows of R1."""
    from experiments.workloads.discovery.r1.seen import seconds_told
    from experiments.workloads.discovery.r1.tables import TABLE, r1_tables

    for title, rows in r1_tables(result):
        console.print(f"\n{title}")
        console.print(table(TABLE, rows, right=range(1, len(TABLE))))
    if told := seconds_told(result):
        console.print(told, markup=False, soft_wrap=True)
    console.print()


def _few_lines(console: Console, result: Result, times: int, report: Path) -> None:
    """The checks that passed, and the path of the chart of filer ops over time."""
    from experiments.report import FIGURES
    from experiments.workloads.discovery.r1.brief import brief as brief_lines
    from experiments.workloads.discovery.r1.checks import checks

    for line in brief_lines(result, checks(result), times):
        console.print(line, markup=False, soft_wrap=True)
    picture = report.parent / FIGURES / "filer-ops.png"
    if picture.exists():
        console.print(f"chart of filer ops over time, as in R1: {picture}", markup=False, soft_wrap=True)


def _show(console: Console, result: Result) -> None:
    """The checks, and the three lists of parameters."""
    from experiments.workloads.discovery.r1.brief import speed_told
    from experiments.workloads.discovery.r1.checks import checks, verdict, window_told
    from experiments.workloads.discovery.r1.parameters import parameters

    header = ("figure", "R1", "measured", "tolerance", "passed")
    rows = [(c.what, c.r1, c.ours, c.tolerance, verdict(c, result)) for c in checks(result)]
    console.print(table(header, rows))
    for line in (window_told(result), *speed_told(result)):
        console.print(line, markup=False, soft_wrap=True)
    for title, lines in parameters(result):
        console.print(f"\n{title.lower()}:")
        for line in lines:
            console.print(f"  {line}", markup=False)


def _run_on_crew(ctx: typer.Context, asked: R1Order, study: Study, corpus: Path, workers: str, output: str) -> None:
    """Few workers and many on one database, many on two; then the tables. Nothing is emulated, so the rows of R1 are shown without
    tolerances. Raises UsageError, and what `conduct` does."""
    from experiments.kinds.grid import Grid
    from experiments.workloads.discovery.r1.parameters import KIND, SLOTS
    from experiments.workloads.discovery.result import PointSpec, of_discovery

    context = shared(ctx)
    points = [PointSpec(databases, count, SLOTS) for databases, count in rows(workers)]
    settings = with_options(context.settings(), storage=study.storage, slots=SLOTS, engine=None)
    plan = Grid(KIND, "workers", points, repeats=asked.repeats, seed=opt.given_seed(asked.seed))
    order = DiscoveryOrder(index_streams=asked.index_streams or None)
    result, path = carry_out(ctx, settings, corpus, plan, study, order, people=output)
    show_tables(context.people(output), of_discovery(result))
    print_result(context, result, path, output)


def rows(workers: str) -> list[tuple[int, int]]:
    """Databases and workers of each row; raises UsageError."""
    counts = opt.numbers(workers, "--workers")
    if len(counts) != 2 or not 1 <= counts[0] < counts[1]:
        raise UsageError(
            f"--workers is {workers!r}; it must be two numbers, the smaller first, such as 10,30", field="workers"
        )
    few, many = counts
    return [(1, few), (1, many), (2, many)]

"""`edbench bench scale-up|scale-out|tune|sweep|r1|knee`: experiments. Its other commands: `storage_tests.commands`, `cli.day`, `cli.plan`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.console import Console

from cli import options as opt
from cli.automation import Automation
from cli.context import CommandContext, shared
from cli.experiment import Discovering, Experiment
from cli.output import await_answer, column_table, flush, print_lines
from cli.tree import Commands
from controller.jobs.orders import DiscoveryOrder, check_plan
from controller.labels.rules import advice_on
from core.errors import UsageError
from core.settings import Settings, parse_bytes
from experiments.orders import (
    ALIKE,
    TUNED_ALIKE,
    Axes,
    KneePoints,
    R1Points,
    ScaleOutPoints,
    ScaleUpPoints,
    StudyOrder,
    SweepPoints,
    TunePoints,
    fitting_rows,
    r1_rows,
)
from experiments.result.schema import Point, Result
from experiments.result.statistics import METHOD
from experiments.workloads import about

if TYPE_CHECKING:
    from experiments.kinds import Plan
    from experiments.workloads.discovery.result import PointSpec


def show_study(console: Console, result: Result) -> None:
    """Print verdict, advice on its labels, one line a point, limits of the points, notes."""
    workload = about(result.workload)
    print_lines(console, result.verdict, *(f"  {line}" for line in advice_on(result.labels)))
    print_lines(console, *(outcome.line for outcome in result.bounds))
    console.print()
    from experiments.report.sections import point_columns  # slow to import: it draws figures
    from experiments.report.words import gathered

    groups: dict[tuple[str, ...], list[Point]] = {}  # by the names in their load, such as a storage's
    for point in result.points:
        names = tuple(value for value in point.at.values().values() if isinstance(value, str))
        groups.setdefault(names, []).append(point)
    if len(groups) == len(result.points):  # each point has a name: the names are a column of one table
        groups = {(): list(result.points)}
    columns = [one for one in point_columns(result, workload) if not one.text or one.title == "labels" or () in groups]
    for names, points in groups.items():
        if names:
            console.print(", ".join(names))
        console.print(column_table(columns, points))
    limits = (f"GENERATOR-LIMITED at {point.at}: {reason}" for point in result.points for reason in point.limits)
    notes = (f"note: {warning}" for warning in gathered(result.warnings))
    print_lines(console, f"\nfigures: {METHOD}", *limits, *notes)


commands = Commands()
P = TypeVar("P", bound="PointSpec")


class Study(Discovering, Experiment, StudyOrder):
    """The options of these commands in addition to the points."""


@commands.add("scale-up", "edbench bench scale-up --corpus c --workers 1,2,4 --repeats 5", order=ALIKE)
def scale_up(
    ctx: typer.Context, corpus: opt.Corpus, points: ScaleUpPoints, study: Study, order: DiscoveryOrder
) -> None:
    """Discover a corpus with more and more workers and compare.

    --axis and --mount-options vary other things as well: every combination is measured with each number of workers. Every run starts with new databases and an empty storage root, and has a null baseline (null storage in memory). Use 5 repeats
    or more; a point whose runs take less than 10 minutes is labelled SHORT. The last line is the path of the report."""
    from experiments.kinds import in_stages, sweep
    from experiments.workloads.discovery.result import PointSpec

    settings = _settings(ctx, study, order)
    base = PointSpec(1, 1, settings.slots)
    if points.stages is not None:
        plan = in_stages(base, "workers", given_stages(ctx, "workers", points.stages, "axis", "mount_options"))
    else:
        counts, seed = opt.numbers(points.workers, "--workers"), opt.given_seed(points.seed)
        plan = sweep(varied(base, points), "workers", counts, repeats=study.repeats, seed=seed, name="scale-up")
    measured(shared(ctx), settings, corpus, plan, study, order)


@commands.add("scale-out", "edbench bench scale-out --corpus c --databases 1,2 --workers 4", order=(*ALIKE, "shard"))
def scale_out(
    ctx: typer.Context, corpus: opt.Corpus, points: ScaleOutPoints, study: Study, order: DiscoveryOrder
) -> None:
    """Discover a corpus with more and more databases and compare.

    With several databases, each has a job over the whole corpus, all at the same time, as in report R1; --shard
    distributes one corpus over them instead. The last line is the path of the report."""
    from experiments.kinds import sweep
    from experiments.workloads.discovery.result import PointSpec

    check_plan(shard=order.shard, source_copies=points.source_copies)
    settings = _settings(ctx, study, order)
    counts, seed = opt.numbers(points.databases, "--databases"), opt.given_seed(points.seed)
    bases = varied(PointSpec(1, points.workers, settings.slots), points)
    plan = sweep(bases, "databases", counts, repeats=study.repeats, seed=seed, name="scale-out")
    measured(shared(ctx), settings, corpus, plan, study, order, copies=points.source_copies)


@commands.add("tune", "edbench bench tune --corpus c --workers 2 --repeats 6", order=TUNED_ALIKE)
def tune(ctx: typer.Context, corpus: opt.Corpus, points: TunePoints, study: Study, order: DiscoveryOrder) -> None:
    """Find settings that distribute tasks better for so many workers.

    The command tries settings of batch and split sizes, window, order and index streams by successive halving: each round runs those
    that are left twice as often as the round before, and the better half stays. Then it runs the last one and the default
    --repeats times again, and reports the gain with its interval from these runs alone; use 5 repeats or more."""
    from controller.jobs.distribution import DEFAULT
    from experiments.kinds import planned
    from experiments.workloads.discovery.result import PointSpec
    from experiments.workloads.discovery.setting import drawn, named

    settings, seed = _settings(ctx, study, order), opt.given_seed(points.seed)
    found = named(points.setting) if points.setting else drawn(points.candidates, points.workers * settings.slots, seed)
    loads = [PointSpec(1, points.workers, settings.slots, setting=setting) for setting in (DEFAULT, *found)]
    plan = planned("tune", "setting", loads, repeats=study.repeats, seed=seed)
    measured(shared(ctx), settings, corpus, plan, study, order)


@commands.add("sweep", "edbench bench sweep --corpus c --axis 'fsync=none|file' --workers 2", order=ALIKE)
def sweep(ctx: typer.Context, corpus: opt.Corpus, points: SweepPoints, study: Study, order: DiscoveryOrder) -> None:
    """Compare settings: every combination of the axes.

    An axis is an option of the job (fsync, layout, single-pass, batch-mb and the others that distribute tasks), or a
    mount: the name of mount options that each worker's host configures for itself (EDBENCH_REMOUNT). The last line is
    the path of the report."""
    from experiments.kinds import planned
    from experiments.workloads.discovery.result import PointSpec
    from experiments.workloads.discovery.setting import crossed

    settings = _settings(ctx, study, order)
    found = crossed(points.axis or (), points.mount_options)
    loads = [PointSpec(1, points.workers, settings.slots, setting=setting) for setting in found]
    plan = planned("sweep", "setting", loads, repeats=study.repeats, seed=opt.given_seed(points.seed))
    measured(shared(ctx), settings, corpus, plan, study, order)


@commands.add("r1", "edbench bench r1 --corpus c --workers 10,30 --repeats 5", order=ALIKE)
def r1(ctx: typer.Context, corpus: opt.Corpus, points: R1Points, study: Study, order: DiscoveryOrder) -> None:
    """Run the three rows of report R1 and print its tables with ours.

    --axis and --mount-options vary other things as well: every combination has the three rows.

    With --workers N,M these are N and M workers on one database, and M on two databases with two simultaneous jobs. R1
    had 10 and 30 workers. The last line is the path of the report."""
    from experiments.kinds import planned
    from experiments.workloads.discovery.result import PointSpec
    from monitoring.machine import processors

    settings = _settings(ctx, study, order)
    few, many = r1_rows(points.workers) if points.workers else fitting_rows(processors())
    rows = [PointSpec(databases, workers, settings.slots) for databases, workers in ((1, few), (1, many), (2, many))]
    loads = [load for row in rows for load in varied(row, points)]
    plan = planned("r1", "workers", loads, repeats=study.repeats, seed=opt.given_seed(points.seed))
    context = shared(ctx)
    measured(context, settings, corpus, plan, study, order, copies=points.source_copies, more=_show_r1_tables)


def _show_r1_tables(console: Console, result: Result) -> None:
    from experiments.workloads.discovery.result import of_discovery
    from experiments.workloads.discovery.sections.r1 import COLUMNS, r1_tables

    for one in r1_tables(of_discovery(result)):
        console.print(f"\n{one.title}")
        short = [row._replace(whose=row.whose.partition(";")[0]) for row in one.rows]  # labels are in the verdict
        console.print(column_table(COLUMNS, short))


@commands.add("knee", "edbench bench knee --corpus c --max-p99 read=20ms,write=40ms --filer titan", order=ALIKE)
def knee(ctx: typer.Context, corpus: opt.Corpus, points: KneePoints, study: Study, order: DiscoveryOrder) -> None:
    """Find the highest load within bounds on p99 latency.

    --axis and --mount-options vary other things as well: every combination is searched.

    The command adds workers until a bound is exceeded and throughput no longer grows. It reports the peak, the knee
    (the highest load within all bounds) and the latency at each load. Latencies are closed-loop. The last line is the
    path of the report."""
    from experiments.kinds import knee as kind
    from experiments.kinds import parse_bounds
    from experiments.workloads.discovery.result import PointSpec

    settings = _settings(ctx, study, order)
    bounds, bases = parse_bounds(points.max_p99), varied(PointSpec(1, 1, settings.slots), points)
    plan = kind(bases, "workers", bounds, most=points.max_workers, repeats=study.repeats)
    measured(shared(ctx), settings, corpus, plan, study, order)


def varied(base: P, axes: Axes) -> list[P]:
    """The load with every combination of the axes, or unchanged. Raises UsageError."""
    from experiments.workloads.discovery.setting import crossed

    if axes.axis is None and axes.mount_options is None:
        return [base]
    return [dataclasses.replace(base, setting=setting) for setting in crossed(axes.axis or (), axes.mount_options)]


def given_stages(ctx: typer.Context, axis: str, text: str, *others: str) -> tuple[tuple[int, float], ...]:
    """Parse --stages. Raises UsageError for options that it replaces: the axis, repeats, `others`."""
    from experiments.kinds import parse_stages

    for name in (axis, "repeats", *others):
        if opt.given(ctx, name):
            option = name.replace("_", "-")
            raise UsageError(f"--stages and --{option} exclude each other: stages have loads and times", field="stages")
    return parse_stages(text)


def _settings(ctx: typer.Context, study: Study, order: DiscoveryOrder) -> Settings:
    engine, filer = order.index_engine, order.filer
    return shared(ctx).settings(storage=study.storage, slots=study.slots, engine=engine, filer=filer)


def measured(
    context: CommandContext,
    settings: Settings,
    corpus: Path,
    plan: Plan,
    study: Study,
    order: DiscoveryOrder,
    *,
    copies: bool = False,
    more: Callable[[Console, Result], None] | None = None,
) -> None:
    """Run the experiment and print its result; the path of the report is the last line. `more` prints other tables.
    Raises as `conduct`."""
    result, directory = carry_out(context, settings, corpus, plan, study, order, copies=copies)
    print_result(context, result, directory, study, more)


def print_result(
    context: CommandContext,
    result: Result,
    directory: Path,
    files: Automation,
    more: Callable[[Console, Result], None] | None = None,
) -> None:
    """Print an experiment's table, finish its package, and print the document if requested; the path of the report is
    the last line. Then write the files for automation. Raises BoundsBroken."""
    from experiments.package.check import finish
    from experiments.result.codec import to_json
    from experiments.workloads import about

    show_study(context.people, result)
    if more is not None:
        more(context.people, result)
    page = finish(result, directory)
    context.document(to_json(result))
    flush()
    context.last_line(str(page))
    seconds = sum(run.elapsed_s for point in result.points for run in point.repeats)
    files.settle(about(result.workload).titled(result.kind), result.verdict, result.bounds, seconds, context.env)


def carry_out(
    context: CommandContext,
    settings: Settings,
    corpus: Path,
    plan: Plan,
    study: Study,
    order: DiscoveryOrder,
    *,
    copies: bool = False,
) -> tuple[Result, Path]:
    """Run an experiment and show its progress; return the result, and the directory of its package, which is not
    finished. Raises as `conduct`."""
    from cli.progress import progress_display
    from cli.serve import site_page
    from controller.jobs.source import prepare_source
    from core.dates import checked_zone
    from core.passwords import read_bank
    from core.records import JobOptions
    from core.storage.layer import Storage
    from experiments.study import conduct
    from experiments.workloads.discovery.run_point import Load
    from experiments.workloads.discovery.site import Site
    from experiments.workloads.discovery.workload import Discovery

    study.begin(Discovery.about.titled(plan.kind))
    bank = read_bank(study.passwords) if study.passwords else None
    cache = opt.declared_cache(study.filer_cache, settings)
    cap = None if study.null_memory is None else parse_bytes(study.null_memory, "--null-memory")
    array = study.counters(context)
    await_answer(settings.storage, corpus)
    source = prepare_source(Storage(), corpus)
    with progress_display(context.err) as display:
        load = Load(
            options=dataclasses.replace(
                order.distributed(JobOptions()),
                single_pass=order.single_pass,
                time_zone=checked_zone(order.time_zone),
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
            say=lambda line: context.err.print(line),
        )
        site = Site(settings, corpus.absolute(), context.env, load.say, study.ways)
        with site_page(context, site, settings, study.page):
            discovery = Discovery(
                settings,
                source,
                load,
                site,
                filer_cache=cache,
                null_cap=cap,
                baseline=not study.no_baseline,
            )
            return conduct(discovery, plan, study.min_seconds, fail_if=study.fail_if or (), array=array)

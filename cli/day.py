"""`edbench bench day|job-types`: a business day of matters, and one matter at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.bench import print_result, varied
from cli.context import CommandContext, shared
from cli.experiment import Experiment
from cli.output import await_answer, print_lines, table
from cli.tree import Commands
from core import texts
from core.errors import UsageError
from core.extensions import extension_modules
from experiments.orders import DayOrder, JobTypesOrder, day_loads

if TYPE_CHECKING:
    from rich.console import Console

    from controller.jobs.source import PreparedSource
    from core.settings import Settings
    from experiments.kinds import Plan
    from experiments.workloads.day.result import DayResult, Prediction

commands = Commands()
_NO_BOUND = 1e9  # seconds a GB

From = Annotated[
    Path | None,
    typer.Option("--from", metavar="RESULT", help=f"{texts.FROM}  [default: no prediction]"),
]  # fmt: skip
ScheduleFile = Annotated[
    Path | None,
    typer.Option("--schedule", metavar="FILE", help="Take the matters from this TOML file.  [default: drawn from the seed]"),
]  # fmt: skip


@commands.add("day", "edbench bench day --corpus c --filer nas-1g --business-hours 8 --compress 60 --within 1800")
def day(
    ctx: typer.Context,
    *,
    corpus: opt.Corpus,
    order: DayOrder,
    schedule: ScheduleFile = None,
    from_: From = None,
    storage: opt.StorageRoot = None,
    experiment: Experiment,
) -> None:
    """Find how many matters a day the storage carries.

    Matters of several clients arrive at random times. Each is a discovery of one custodian's files, a search, tags, and then an
    extraction, page images and an export of the tagged items. The command raises the arrival rate until 95 % of discoveries no
    longer end within the bound. With --from and a result of `bench day --matters 0`, it first prints what the simulator predicts.
    --axis varies options of the discovery, --mount-options the mount of all jobs: every combination is searched, and has a score.
    The last line is the path of the report."""
    context = shared(ctx)
    settings = context.settings(storage=storage, slots=order.slots, filer=order.filer)
    loads = day_loads(order.matters)

    from experiments.workloads.day import searched
    from experiments.workloads.day.result import DayLoad
    from experiments.workloads.day.schedule import Schedule, read_schedule

    seed = opt.given_seed(order.seed)
    source, sources, steps = _taken(context, settings, corpus)
    listed = () if schedule is None else read_schedule(schedule, tuple(sources))
    drawn = Schedule(seconds=order.business_hours * 3600 / order.compress, seed=seed, clients=order.matter_clients, sources=tuple(sources),
                     steps=steps, listed=listed)  # fmt: skip
    bases = varied(DayLoad(1, order.workers, settings.slots, 0), order)
    plan = searched(bases, loads, order.within, repeats=order.repeats, seed=seed)
    predictions: list[Prediction] = []
    if from_ is not None:
        from core.filer import load_filer

        predictors = extension_modules("edbench.predictions")
        if not predictors:
            raise UsageError(
                "--from needs the package edbench-simulate, which is not installed here; omit it to measure only"
            )
        result, loaded = read_day(from_), tuple(load for load in loads if load)
        predictions = [
            predictors[0].predicted(result, load_filer(settings.filer), base, drawn, order.within, loaded, repeats=order.repeats, source=f"{from_}")
            for base in bases
        ]  # fmt: skip
        show_predictions(context.people, predictions)
    _measured(context, settings, corpus, source, order, plan, experiment, schedule=drawn,
              sources=sources, within=order.within, predicted=list(map(dataclasses.asdict, predictions)))  # fmt: skip


@commands.add("job-types", "edbench bench job-types --corpus c --workers 2 --repeats 5")
def job_types(
    ctx: typer.Context,
    *,
    corpus: opt.Corpus,
    order: JobTypesOrder,
    storage: opt.StorageRoot = None,
    experiment: Experiment,
) -> None:
    """Compare the load of the four types of jobs.

    These are discovery, extraction, processing and export.

    The command runs a job of each type over the same data, one after another, for each number of workers: a business
    day with one matter at a time, whose later jobs take all items. It reports calls and bytes per second, CPU time per
    item, and the storage share. --axis varies options of the discovery, --mount-options the mount of all jobs. The last
    line is the path of the report."""
    from experiments.kinds import along, planned
    from experiments.workloads.day.result import DayLoad
    from experiments.workloads.day.schedule import Schedule

    context = shared(ctx)
    settings = context.settings(storage=storage, slots=order.slots, filer=order.filer)
    bases, counts = varied(DayLoad(1, 1, settings.slots, 0), order), opt.numbers(order.workers, "--workers")
    points = [at for base in bases for at in along(base, "workers", counts)]
    seed = opt.given_seed(order.seed)
    source, sources, steps = _taken(context, settings, corpus)
    alone = Schedule(seconds=1.0, seed=seed, clients=1, sources=tuple(sources), steps=steps, alone=1.0)
    plan = planned("profile", "workers", points, repeats=order.repeats, seed=seed)
    _measured(context, settings, corpus, source, order, plan, experiment, schedule=alone,
              sources=sources, within=_NO_BOUND)  # fmt: skip


def _taken(
    context: CommandContext, settings: Settings, corpus: Path
) -> tuple[PreparedSource, Mapping[str, tuple[bytes, int]], tuple[str, ...]]:
    """The corpus, its custodians, and the job types that are installed."""
    from controller.jobs.source import prepare_source
    from core.storage.layer import Storage
    from experiments.workloads.day.workload import sources_of, steps_there

    await_answer(settings.storage, corpus)
    source = prepare_source(Storage(), corpus)
    steps, absent = steps_there()
    if absent:
        context.say(absent)
    return source, sources_of(source), steps


def _measured(
    context: CommandContext, settings: Settings, corpus: Path, source: PreparedSource, order: DayOrder | JobTypesOrder,
    plan: Plan, experiment: Experiment, **day: Any,
) -> None:  # fmt: skip
    """Run the days, write the report and print its tables. `day`: further arguments of `Day`."""
    from cli.progress import progress_display
    from core.dates import checked_zone
    from core.records import JobOptions
    from experiments.study import conduct
    from experiments.workloads.day.workload import Day
    from experiments.workloads.discovery.run_point import Load
    from experiments.workloads.discovery.site import Site

    options = JobOptions(time_zone=checked_zone(order.time_zone))
    with progress_display(context.err) as display:
        load = Load(options=options, shard=False, copies=False, cold=False, env=context.env, clock=context.clock,
                    show=display.show, say=context.say)  # fmt: skip
        site = Site(settings, corpus.absolute(), context.env, load.say, experiment.ways)
        cache = opt.declared_cache(order.filer_cache, settings)
        workload = Day(settings, source, load, site, filer_cache=cache, baseline=not order.no_baseline, **day)
        experiment.begin(workload.about.titled(plan.kind))
        array = experiment.counters(context)
        result, directory = conduct(workload, plan, order.min_seconds, fail_if=order.fail_if or (), array=array)
    print_result(context, result, directory, experiment, _show_tables)


def read_day(path: Path) -> DayResult:
    """Read a result of this experiment. Raises UsageError for another one."""
    from experiments.result.codec import read_result
    from experiments.workloads.day.result import DayResult

    result = read_result(path)
    if not isinstance(result, DayResult):
        raise UsageError(
            f"{path} is a result of workload {result.workload}; --from needs one of `bench day --matters 0`"
        )
    return result


def show_predictions(console: Console, predictions: Iterable[Prediction]) -> None:
    """Print the curve of each setting and the load that is carried."""
    for one in predictions:
        setting = "" if one.setting is None else f", {one.setting}"
        print_lines(console, f"SIMULATED from {one.source}{setting}: {one.carried:,} matters/day within the bound")
        rows = [(f"{load:,}", f"{s_per_gb:,.1f}") for load, s_per_gb in one.curve]
        console.print(table(("matters/day", "s/GB for 95 %"), rows, right=(0, 1)))


def _show_tables(console: Console, result: Any) -> None:
    from experiments.workloads.day.sections import printed

    for titles, lines in printed(result):
        console.print(table(titles, lines, right=range(2, len(titles))))

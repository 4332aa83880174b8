"""`edbench bench day`: a business day of matters."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.bench import print_result
from cli.context import shared, with_options
from cli.experiment import Experiment
from cli.output import await_answer, table
from cli.tree import Commands
from core import texts
from core.errors import UsageError
from experiments.orders import DayOrder, day_loads

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.workloads.day.result import DayResult, Prediction

commands = Commands()

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
    The last line is the path of the report.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=order.slots, engine=None, filer=order.filer)
    loads = day_loads(order.matters)

    from cli.progress import progress_display
    from controller.jobs.jobs import prepare_source
    from core.operations import NullRecorder
    from core.records import JobOptions
    from core.storage.layer import Storage
    from experiments.study import conduct
    from experiments.workloads.day import searched
    from experiments.workloads.day.result import DayLoad
    from experiments.workloads.day.schedule import Schedule, read_schedule
    from experiments.workloads.day.workload import Day, sources_of, steps_there
    from experiments.workloads.discovery.run_point import Load
    from experiments.workloads.discovery.site import Site

    cache, seed = opt.declared_cache(order.filer_cache, settings), opt.given_seed(order.seed)
    await_answer(settings.storage, corpus)
    source = prepare_source(Storage(NullRecorder()), corpus)
    sources = sources_of(source)
    steps, absent = steps_there()
    if absent:
        context.say(absent)
    listed = () if schedule is None else read_schedule(schedule, tuple(sources))
    drawn = Schedule(seconds=order.business_hours * 3600 / order.compress, seed=seed, clients=order.matter_clients, sources=tuple(sources),
                     steps=steps, listed=listed)  # fmt: skip
    at = DayLoad(1, order.workers, settings.slots, 0)
    plan = searched(at, loads, order.within, repeats=order.repeats, seed=seed)
    prediction = None
    if from_ is not None:
        from core.filer import load_filer
        from simulate.day import predicted

        prediction = predicted(read_day(from_), load_filer(settings.filer), at, drawn, order.within,
                               tuple(load for load in loads if load), repeats=order.repeats, source=f"{from_}")  # fmt: skip
        show_prediction(context.people, prediction)
    with progress_display(context.err) as display:
        load = Load(options=JobOptions(), shard=False, copies=False, cold=False, env=context.env, clock=context.clock,
                    show=display.show, say=context.say)  # fmt: skip
        site = Site(settings, corpus.absolute(), context.env, load.say, experiment.ways)
        workload = Day(
            *(settings, source, load, site), schedule=drawn, sources=sources, within=order.within, filer_cache=cache,
            predicted=None if prediction is None else dataclasses.asdict(prediction), baseline=not order.no_baseline,
        )  # fmt: skip
        experiment.begin(workload.about.titled(plan.name))
        array = experiment.counters(context)
        result, directory = conduct(workload, plan, order.min_seconds, fail_if=order.fail_if or (), array=array)
    print_result(context, result, directory, experiment, _show_tables)


def read_day(path: Path) -> DayResult:
    """A result of this experiment. Raises UsageError for another's."""
    from experiments.result.codec import read_result
    from experiments.workloads.day.result import DayResult

    result = read_result(path)
    if not isinstance(result, DayResult):
        raise UsageError(f"{path} is the result of a {result.workload}; --from takes one of `bench day --matters 0`")
    return result


def show_prediction(console: Console, prediction: Prediction) -> None:
    """Print the curve and the load that is carried."""
    console.print(
        f"SIMULATED from {prediction.source}: {prediction.carried:,} matters/day within the bound",
        markup=False,
        soft_wrap=True,
    )
    rows = [(f"{load:,}", f"{s_per_gb:,.1f}") for load, s_per_gb in prediction.curve]
    console.print(table(("matters/day", "s/GB for 95 %"), rows, right=(0, 1)))


def _show_tables(console: Console, result: Any) -> None:
    from experiments.workloads.day.sections import printed

    for titles, lines in printed(result):
        console.print(table(titles, lines, right=[n for n in range(len(titles)) if n != 1]))

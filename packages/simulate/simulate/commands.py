"""`edbench simulate`: a discovery on a described site, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from cli import options as opt
from cli.context import CommandContext, shared
from cli.output import column_table, print_lines
from cli.tree import Commands
from controller.jobs.orders import Metavar
from core import texts
from core.document import Order
from core.errors import UsageError
from core.filer.model import filer_help
from core.options import MOST_SCALE, MOST_SEED

if TYPE_CHECKING:
    from rich.console import Console

    from simulate.answer import Answer

commands = Commands()


class SimulationOrder(Order):
    """The options of a simulation and its output."""

    workers: Annotated[
        str | None,
        typer.Option("--workers", metavar="N,N,…", help=f"{texts.WORKERS}  [default: the site's]"),
    ] = None
    databases: Annotated[
        str | None, typer.Option("--databases", metavar="N,N,…", help=f"{texts.DATABASES}  [default: 1]")
    ] = None
    scale: Annotated[float, Field(ge=1e-4, le=MOST_SCALE, description=texts.SCALE)] = 1.0
    seed: Annotated[int, Field(ge=0, le=MOST_SEED, description=texts.SEED)] = 1
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="RESULT", help=f"{texts.FROM}  [default: the shipped calibration]"),
    ] = None
    shard: Annotated[bool, typer.Option("--shard", help=texts.SHARD)] = False
    filer: Annotated[str | None, typer.Option("--filer", metavar="NAME", help=filer_help("the result's"))] = None
    chunk: Annotated[
        float | None,
        Field(
            ge=1.0,
            le=1e6,
            description="Simulate this many items as one; 1: each alone.  [default: enough to keep a run short]",
        ),
        Metavar("ITEMS"),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write report.html, figures, series and simulation.json to DIR."),
    ] = None
    brief: Annotated[bool, typer.Option("--brief", help="Print the first line and the tables only.")] = False


@commands.add("simulate", "edbench simulate r1 --report r1-simulated")
def simulate(
    ctx: typer.Context,
    *,
    site: Annotated[
        str,
        typer.Argument(
            metavar="SITE",
            help="Simulate this site: r1, cluster, or a TOML file; day: the schedule of a result of `bench day`.",
        ),
    ],
    order: SimulationOrder,
) -> None:
    """No job runs and no storage is touched: the command plans the data set, takes what the pipeline demands from a
    calibration, and simulates hosts, databases, network and filer. Two runs give the same bytes. `edbench simulate r1`
    simulates the three rows of report R1 and prints its tables and facts next to the simulated ones (docs/simulate.md).
    `edbench simulate day --from RESULT` predicts how many matters a day a filer carries, on another filer with
    --filer."""
    context = shared(ctx)
    if site == "day":
        _refuse(order, ("databases", "scale", "seed", "chunk", "shard", "report", "brief"), site)
        _day(context, order)
        return
    _refuse(order, ("filer",), site)
    from simulate.answer import Wish, write_report
    from simulate.answer import simulate as run
    from simulate.site import load_site

    wish = Wish(
        site=load_site(site),
        workers=_counts(order.workers, "--workers"),
        databases=_counts(order.databases, "--databases"),
        scale=order.scale,
        seed=order.seed,
        result=order.from_,
        chunk=order.chunk,
        shard=order.shard,
    )
    with context.err.status("") as status:  # on a terminal
        answer = run(wish, status.update)
    context.document(answer.document)
    show(context.people, answer, brief=order.brief)
    if order.report is not None:
        path = write_report(answer, order.report)
        print_lines(context.people, str(path))


def _refuse(order: SimulationOrder, options: Sequence[str], site: str) -> None:
    """Raise UsageError for an option that this simulation would ignore."""
    unset = SimulationOrder()
    for name in options:
        if getattr(order, name) != getattr(unset, name):
            raise UsageError(f"`edbench simulate {site}` has no option --{name}; remove it")


def _counts(text: str | None, option: str) -> Sequence[int]:
    from experiments.kinds import checked

    return () if text is None else checked(opt.numbers(text, option), option)


def _day(context: CommandContext, order: SimulationOrder) -> None:
    """Predict the curve of a business day. Raises UsageError."""
    import dataclasses

    from cli.day import read_day, show_predictions
    from core.filer import load_filer
    from simulate.day import predicted, schedule_of
    from simulate.documents import DayDocument, SimulationDocument

    if (path := order.from_) is None:
        raise UsageError("`simulate day` needs --from with a result of `bench day --matters 0`")
    result = read_day(path)
    schedule, within = schedule_of(result)
    bases = dict.fromkeys(dataclasses.replace(point.at, matters=0) for point in result.points)
    if order.workers is not None:
        workers, *others = opt.numbers(order.workers, "--workers")
        if others:
            raise UsageError("`edbench simulate day` predicts for one number of workers; run it for each")
        bases = dict.fromkeys(dataclasses.replace(base, workers=workers) for base in bases)
    model = load_filer(order.filer or str(result.conditions["filer"]))
    repeats = max(len(point.repeats) for point in result.points)
    found = [predicted(result, model, base, schedule, within, (), repeats=repeats, source=str(path)) for base in bases]
    days = [
        DayDocument(setting=one.setting, within_s_per_gb=within, carried=one.carried, curve=list(one.curve))
        for one in found
    ]
    carried = ", ".join(f"{one.setting or ''} {one.carried:,}".strip() for one in found)
    document = SimulationDocument(
        schema="edbench-simulation/1", verdict=f"SIMULATED: {carried} matters/day", site="day", profile="", scale=1.0,
        seed=schedule.seed, items=0, items_a_chunk=0.0, calibration=str(path), rows={}, facts=[], gains=[], days=days,
    )  # fmt: skip
    context.document(document)
    show_predictions(context.people, found)


def show(console: Console, answer: Answer, *, brief: bool) -> None:
    """Print the first line, tables, facts and the lines below them."""
    from experiments.workloads.discovery.sections.r1 import COLUMNS
    from simulate import report
    from simulate.answer import lines

    print_lines(console, answer.document.verdict)
    if answer.facts is None:
        console.print()
        console.print(column_table(report.POINTS, answer.document.rows.values()))
    else:
        for title, rows in report.r1_tables(answer.rows):
            console.print(f"\n{title}")
            console.print(column_table(COLUMNS, rows))
    if brief:
        return
    if answer.facts is not None:
        console.print("\nFacts of report R1")
        console.print(column_table(report.FACTS, answer.facts))
    print_lines(console, "", *lines(answer))

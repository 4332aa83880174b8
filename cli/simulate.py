"""`edbench simulate`: a discovery on a described site, in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import shared
from cli.output import print_json, table
from cli.tree import Commands

if TYPE_CHECKING:
    from rich.console import Console

    from simulate.answer import Answer

commands = Commands()

_MOST_SCALE = 1e6


@commands.add("simulate", "edbench simulate r1 --report r1-simulated")
def simulate(
    ctx: typer.Context,
    site: Annotated[str, typer.Argument(metavar="SITE", help="Simulate this site: r1, or a TOML file.")],
    workers: Annotated[
        str | None,
        typer.Option("--workers", metavar="N,N,...", help="Simulate these numbers of workers.  [default: the site's]"),
    ] = None,
    databases: Annotated[
        str | None, typer.Option("--databases", metavar="N,N,...", help="Simulate these numbers of databases.  [default: 1]")
    ] = None,
    scale: Annotated[
        float, typer.Option("--scale", min=1e-4, max=_MOST_SCALE, help="Simulate this part or multiple of the data set.")
    ] = 1.0,
    seed: Annotated[int, typer.Option("--seed", min=0, max=10**15, help="Draw the data set from this seed.")] = 1,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="RESULT", help="Take the demands from this result of a discovery.  [default: the shipped calibration]"),
    ] = None,
    shard: Annotated[
        bool, typer.Option("--shard", help="Distribute one data set over the databases.  [default: each has a copy]")
    ] = False,
    chunk: Annotated[
        float | None,
        typer.Option("--chunk", min=1.0, max=1e6, metavar="ITEMS", help="Serve so many items together; 1: each alone.  [default: as many as keep a run short]"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="Write report.html, figures, series and simulation.json to DIR.")
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print the first line and the tables only.")] = False,
    output: opt.TableOrJson = "table",
) -> None:  # fmt: skip
    """Simulate a discovery on a site in virtual time.

    No job runs and no storage is touched: the command plans the data set, takes what the pipeline demands from a calibration,
    and simulates hosts, databases, network and filer. Two runs give the same bytes. `edbench simulate r1` simulates the three rows
    of report R1 and prints its tables and facts next to the simulated ones (docs/simulate.md).
    """
    context = shared(ctx)
    from cli.progress import step_told
    from experiments.kinds import checked
    from simulate.answer import Wish, write_report
    from simulate.answer import simulate as run
    from simulate.site import load_site

    wish = Wish(
        site=load_site(site),
        workers=() if workers is None else checked(opt.numbers(workers, "--workers"), "--workers"),
        databases=() if databases is None else checked(opt.numbers(databases, "--databases"), "--databases"),
        scale=scale,
        seed=seed,
        result=from_,
        chunk=chunk,
        shard=shard,
    )
    with step_told(context.err) as say:
        answer = run(wish, say)
    if output == "json":
        print_json(answer.document.to_json())
    show(context.people(output), answer, brief=brief)
    if report is not None:
        path = write_report(answer, report)
        context.people(output).print(str(path), markup=False, soft_wrap=True)


def show(console: Console, answer: Answer, *, brief: bool) -> None:
    """Print the first line, tables, facts and the lines below them."""
    from simulate import report
    from simulate.answer import lines, point_rows

    console.print(answer.verdict, markup=False, soft_wrap=True)
    if answer.facts is None:
        console.print()
        console.print(table(report.POINTS, point_rows(answer), right=tuple(range(7))))
    else:
        for title, rows in report.r1_tables(answer.rows):
            console.print(f"\n{title}", markup=False)
            console.print(table(report.TABLE, rows, right=tuple(range(1, 8))))
    if brief:
        return
    if answer.facts is not None:
        console.print("\nFacts of report R1")
        console.print(table(report.FACTS, report.fact_rows(answer.facts)))
    console.print()
    for line in lines(answer):
        console.print(line, markup=False, soft_wrap=True)

"""`edbench chaos`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.context import CommandContext, shared, with_options, writable_file
from cli.options import JsonFile, StorageRoot
from cli.output import flush, write_json
from cli.show.table import table
from controller.chaos import kinds
from controller.chaos.campaign import Campaign, Order
from controller.chaos.faults import chosen
from controller.chaos.faults.base import Fault
from controller.chaos.journal import Journal, runs_in
from controller.chaos.needs import lacking, needs_of
from controller.chaos.plan import goes_with
from controller.chaos.servers import Servers
from controller.chaos.table import markdown
from controller.jobs.source import MANIFEST
from controller.versions import own_version
from core.errors import RunFailed, UsageError


def chaos(
    ctx: typer.Context,
    corpus: Annotated[
        Path | None, typer.Option(metavar="DIR", help="a corpus of `edbench generate`; a small one will do")
    ] = None,
    faults: Annotated[str, typer.Option(help="`all`, or families and names of faults, with commas")] = "all",
    kind: Annotated[str, typer.Option(help="`all`, or kinds of jobs, with commas")] = "all",
    runs: Annotated[int, typer.Option(min=1, help="how many the campaign has")] = 100,
    seed: Annotated[int, typer.Option(help="the same seed plans the same runs")] = 1,
    only_run: Annotated[int | None, typer.Option(min=0, help="do this run alone, again")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="begin no run after so many; the same command goes on")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="end at the first run that fails")] = False,
    kill_servers: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="kills the servers of the storage root's file system")
    ] = None,
    start_servers: Annotated[str | None, typer.Option(metavar="COMMAND", help="brings them back")] = None,
    of_journals: Annotated[
        list[Path] | None,
        typer.Option("--table", metavar="JOURNAL", help="only print the table of one or more campaigns, in Markdown"),
    ] = None,
    json_file: JsonFile = None,
    storage: StorageRoot = None,
) -> None:
    """Run jobs of every kind with faults at seeded moments, and check that nothing is lost.

    Services and workers are the campaign's own, in scratch. Each run has to end by itself or with one `resume`, verify
    with zero differences and leave nothing behind. Runs that are done are kept in a journal: the same command, with more
    --runs or after an interruption, goes on. Exit status 1 when a run failed; what it left is kept.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    writable_file(json_file, "--json")
    if of_journals:
        told = markdown(run for journal in of_journals for _, run in sorted(runs_in(journal).items()))
        context.out.print(told, markup=False, soft_wrap=True)
        return
    if corpus is None:
        raise UsageError("--corpus is missing; make one: edbench generate c --scale 0.00005")
    if not (corpus / MANIFEST).is_file():
        raise UsageError(f"--corpus {corpus} has no {MANIFEST}; make one: edbench generate {corpus} --scale 0.00005")
    jobs = kinds.chosen(kind, context.say)
    servers = _servers(settings.storage, kill_servers, start_servers)
    wanted = _wanted(context, faults, jobs, servers)
    order = Order(
        corpus=corpus.absolute(),
        faults=wanted,
        kinds=jobs,
        faults_said=faults,
        kinds_said=kind,
        runs=runs,
        seed=seed,
        only=only_run,
        stop=stop,
        seconds=seconds,
        servers=servers,
    )
    journal = Journal(
        settings.scratch / "chaos",
        seed=seed,
        corpus=str(order.corpus),
        version=own_version(),
        faults=[*(fault.name for fault in wanted), *(one.name for one in order.kinds)],
    )
    summary = Campaign(settings, context.env, order, journal, context.say).run()
    if json_file is not None:
        write_json(json_file, summary)
    _show(context, summary)


def _servers(storage: Path, killing: str | None, starting: str | None) -> Servers | None:
    if killing is None and starting is None:
        return None
    if killing is None or starting is None:
        raise UsageError("--kill-servers and --start-servers go together")
    return Servers(mount=storage, killing=killing, starting=starting)


def _wanted(
    context: CommandContext, said: str, jobs: tuple[kinds.Kind, ...], servers: Servers | None
) -> tuple[Fault, ...]:
    """Faults that go with these jobs and can be had here; says which cannot. Raises UsageError where there are none."""
    fitting = [fault for fault in chosen(said) if any(goes_with(fault, one.course) for one in jobs)]
    lack = lacking(needs_of(fitting), servers)
    for fault in fitting:
        if fault.needs in lack:
            context.say(f"left out: {fault.name}: {lack[fault.needs]}")
    wanted = tuple(fault for fault in fitting if fault.needs not in lack)
    if not wanted:
        raise UsageError(f"--faults {said}: none of them can be had here")
    return wanted


def _show(context: CommandContext, summary: dict[str, Any]) -> None:
    _show_table(context, summary)
    missed = summary["missed"]
    context.out.print(
        f"seed {summary['seed']}: {summary['survived']} of {summary['runs']} runs survived"
        f" ({missed} were over before their fault's moment); {summary['seconds']:,.0f} s",
        markup=False,
    )
    for run in summary["failures"]:
        context.out.print(f"run {run['number']}: {'; '.join(run['faults'])[:300]}", markup=False)
        context.out.print(f"  again: {run['repeat']}", markup=False)
    flush()
    if summary["failures"]:
        raise RunFailed(f"{len(summary['failures'])} of {summary['runs']} runs failed")


def _show_table(context: CommandContext, summary: dict[str, Any]) -> None:
    rows = [
        (
            row["fault"],
            row["phase"],
            row["runs"],
            row["survived"],
            row["resumed"],
            f"{row['lost_median_s']:.1f}",
            f"{row['lost_worst_s']:.1f}",
        )
        for row in summary["table"]
    ]
    columns = ("fault", "phase", "runs", "survived", "with one resume", "s lost, median", "worst")
    context.out.print(table(columns, rows, right=(2, 3, 4, 5, 6), whole=(0,)))

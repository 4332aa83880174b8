"""`edbench chaos`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared, with_options, writable_file
from cli.options import JsonFile, StorageRoot
from controller.jobs.source import MANIFEST
from core.errors import UsageError
from core.options.bounds import MOST_SECONDS, MOST_SEED

_MOST_RUNS = 1_000_000


def chaos(
    ctx: typer.Context,
    corpus: Annotated[
        Path | None, typer.Option(metavar="DIR", help="a corpus of `edbench generate`; a small one will do")
    ] = None,
    faults: Annotated[str, typer.Option(help="`all`, or families and names of faults, with commas")] = "all",
    kind: Annotated[str, typer.Option(help="`all`, or kinds of jobs, with commas")] = "all",
    runs: Annotated[int, typer.Option(min=1, max=_MOST_RUNS, help="how many the campaign has")] = 100,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="the same seed plans the same runs")] = 1,
    only_run: Annotated[int | None, typer.Option(min=0, max=_MOST_RUNS, help="do this run alone, again")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, max=MOST_SECONDS, help="begin no run after so many; the same command goes on")
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

    from cli.experiments import campaign  # faults, jobs and servers are slow to come

    if of_journals:
        campaign.print_table(context, of_journals)
        return
    if corpus is None:
        raise UsageError("--corpus is missing; make one: edbench generate c --scale 0.00005")
    if not (corpus / MANIFEST).is_file():
        raise UsageError(f"--corpus {corpus} has no {MANIFEST}; make one: edbench generate {corpus} --scale 0.00005")
    campaign.carry_out(
        context,
        settings,
        corpus.absolute(),
        faults=faults,
        kind=kind,
        runs=runs,
        seed=seed,
        only_run=only_run,
        seconds=seconds,
        stop=stop,
        killing=kill_servers,
        starting=start_servers,
        json_file=json_file,
    )

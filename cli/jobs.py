"""`edbench jobs` and `edbench job`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import installation, shared
from cli.options import AsJson, JobArgument
from cli.output import print_json
from cli.show import jobs_table, show_counts
from controller.counts import count_job, counts_json, summary_json
from controller.databases import newest_jobs


def jobs(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="at most so many")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the jobs, newest first."""
    context = shared(ctx)
    with installation(context.settings()) as installed:
        found = [summary for _, summary in newest_jobs(installed.databases, limit)]
    if as_json:
        print_json([summary_json(summary) for summary in found])
    elif found:
        context.out.print(jobs_table(found))
    else:
        context.say("no job yet; `edbench discover DIR` makes one")


def job(
    ctx: typer.Context,
    job: JobArgument,
    as_json: AsJson = False,
) -> None:
    """Show one job: counts by phase, kind, media type and text state, exceptions by code, and children."""
    context = shared(ctx)
    with installation(context.settings()) as installed:
        counts = count_job(installed.find(job))
    if as_json:
        print_json(counts_json(counts))
    else:
        show_counts(context.out, counts)

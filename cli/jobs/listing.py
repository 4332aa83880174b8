"""`edbench jobs` and `edbench job`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import AsJson, JobArgument


def jobs(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="at most so many")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the jobs, newest first."""
    context = shared(ctx)
    with installation(context.settings(), broker=False, work="cli.jobs.listed", looks=False) as installed:
        from cli.jobs.listed import show_jobs

        show_jobs(context, installed, limit, as_json)


def job(
    ctx: typer.Context,
    job: JobArgument,
    as_json: AsJson = False,
) -> None:
    """Show one job: counts by phase, kind, media type and text state, exceptions by code, and children.

    Of a group each job is shown.
    """
    context = shared(ctx)
    with installation(context.settings(), broker=False, work="cli.jobs.shown") as installed:
        from cli.jobs.shown import show_job

        show_job(context, installed, job, as_json)

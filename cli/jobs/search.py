"""`edbench search`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import AsJson, JobArgument


def search(
    ctx: typer.Context,
    job: JobArgument,
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help='words, "a phrase", wor*, AND OR NOT, field:word (custodian, type, …)'),
    ],
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="at most so many items")] = 20,
    as_json: AsJson = False,
) -> None:
    """Search the text and fields of a job's items, best match first.

    Fields: body custodian type kind name path subject sender recipients title author.
    """
    context = shared(ctx)
    with installation(context.settings(), work="cli.jobs.found") as installed:
        from cli.jobs.found import show_found

        show_found(context, installed, job, query, limit, as_json)

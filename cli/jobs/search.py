"""`edbench search`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import AsJson, JobArgument
from core.errors import UsageError


def search(
    ctx: typer.Context,
    job: JobArgument,
    query: Annotated[
        str,
        typer.Argument(
            metavar="[QUERY]", help='words, "a phrase", wor*, wor~1, a w/5 b, AND OR NOT, field:word, date:>=2001'
        ),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="at most so many items")] = 20,
    custodian: Annotated[str | None, typer.Option(metavar="NAME", help="only this custodian's")] = None,
    families: Annotated[
        bool, typer.Option("--families", help="with everything in the families of what matches")
    ] = False,
    save: Annotated[
        str | None, typer.Option(metavar="NAME", help="keep the query; saved:NAME is it from then on")
    ] = None,
    forget: Annotated[str | None, typer.Option(metavar="NAME", help="forget a search that was kept")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the text and fields of a job's items, best match first.

    Without QUERY the searches that are kept are listed. docs/search.md has the whole language. Fields of the index: body
    custodian type kind name path subject sender recipients title author; of the ledger: size text_state exception
    custodian_is type_is tag saved and the metadata in docs/formats.md, as date and page_count.
    """
    if not query.strip() and (save or families or custodian):
        raise UsageError("a query is missing; give it in quotes behind the job")
    if query.strip() and forget:
        raise UsageError("--forget takes no query")
    context = shared(ctx)
    with installation(context.settings(), broker=False, work="cli.jobs.found") as installed:
        from cli.jobs.found import show_found, show_saved

        if not query.strip():
            show_saved(context, installed, job, forget, as_json)
            return
        show_found(
            context, installed, job, query, limit, custodian=custodian, families=families, save=save, as_json=as_json
        )

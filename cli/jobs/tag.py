"""`edbench tag`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.jobs.item import ITEM
from cli.options import AsJson, JobArgument
from core.errors import UsageError


def tag(
    ctx: typer.Context,
    job: JobArgument,
    name: Annotated[str, typer.Argument(metavar="[TAG]", help="letters, digits, blanks and _ . -")] = "",
    query: Annotated[str, typer.Argument(metavar="[QUERY]", help="which items, as `edbench search` takes it")] = "",
    items: Annotated[
        list[str] | None, typer.Option("--item", metavar="ITEM", help=f"instead of a query: {ITEM}; may come again")
    ] = None,
    families: Annotated[bool, typer.Option("--families", help="with everything in their families")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="take the tag away instead")] = False,
    history: Annotated[bool, typer.Option("--history", help="who tagged and saved what, and when")] = False,
    as_json: AsJson = False,
) -> None:
    """Tag the items that a query finds; without TAG list the tags, with --history who did what and when.

    `tag:NAME` finds them from then on. With --item it is these items, and no query.
    """
    if items and query.strip():
        raise UsageError("--item and a query exclude each other; give one")
    if bool(name) != bool(items or query.strip()):
        raise UsageError("a tag and a query go together: edbench tag JOB TAG QUERY, or --item ITEM instead of QUERY")
    if history and name:
        raise UsageError("--history takes no tag and no query")
    context = shared(ctx)
    with installation(context.settings(), work="cli.jobs.tagged", looks=bool(name)) as installed:
        from cli.jobs.tagged import change, show_history, show_tags

        if name:
            change(installed, job, name, items or query, families=families, remove=remove, as_json=as_json)
        elif history:
            show_history(context, installed, job, as_json)
        else:
            show_tags(context, installed, job, as_json)

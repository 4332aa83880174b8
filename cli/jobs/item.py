"""`edbench item`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import AsJson, JobArgument
from core.errors import UsageError

ITEM = "an item's id, or an unambiguous beginning of it, as `edbench search` and `edbench items --jsonl` print it"


def item(
    ctx: typer.Context,
    job: JobArgument,
    item: Annotated[str, typer.Argument(metavar="ITEM", help=ITEM)],
    text: Annotated[
        bool, typer.Option("--text", help="print the text that was indexed of it, and nothing else")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show one item: what is known of it, its family, its duplicates and near-duplicates, its thread; or its text.

    Duplicates, near-duplicates and thread are those that the latest `dedupe`, `near` and `threads` of the job found.
    """
    if text and as_json:
        raise UsageError("--text and --json exclude each other; give one")
    context = shared(ctx)
    with installation(context.settings(), broker=False, work="cli.jobs.looked") as installed:
        from cli.jobs.looked import show_item, show_text

        if text:
            show_text(installed, job, item)
        else:
            show_item(context, installed, job, item, as_json)

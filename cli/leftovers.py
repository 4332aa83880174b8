"""`edbench storage`: unused directories on the storage root."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared
from cli.installation import installation
from cli.output import table
from cli.tree import Commands
from core import texts
from core.errors import UsageError

commands = Commands()


@commands.add("clean", "edbench storage clean --remove")
def clean(
    ctx: typer.Context,
    remove: Annotated[bool, typer.Option("--remove", help=texts.REMOVE)] = False,
    yes: Annotated[bool, typer.Option("--yes", help=texts.YES)] = False,
    storage: opt.StorageRoot = None,
) -> None:
    """List the directories of jobs that no database knows, and remove them.

    They remain when databases are removed and the filer is not, as by `docker compose down -v`. Directories that
    changed within the last hour are listed, not removed. If another installation uses the same storage root, its jobs
    are listed too."""
    context = shared(ctx)
    settings = context.settings(storage=storage)
    with installation(settings, broker=False, work=("controller.jobs.leftovers", "rich.table")) as installed:
        from controller.jobs.leftovers import leftovers, rests
        from controller.jobs.leftovers import remove as remove_one

        root, now = installed.settings.storage, datetime.now(UTC)
        found = leftovers(root, installed.databases)
        going = {row.job for row in found if remove and rests(row, now)}
        if going and not yes:
            names = ", ".join(database.name for database in installed.databases)
            confirm(
                f"Remove {len(going)} directories below {root} that are in none of the databases {names}? Jobs of "
                "another installation on this storage root would lose their files. [y/N] "
            )
        for row in found:
            if row.job in going:
                remove_one(root, row)
    rows = [row.model_copy(update={"removed": row.job in going}) for row in found]
    if not context.document(rows) and rows:
        columns = ("directory", "last change (UTC)", "removed")
        lines = [(row.path, f"{row.changed:%Y-%m-%d %H:%M}", "yes" if row.removed else "no") for row in rows]
        context.out.print(table(columns, lines, whole=(0,)))
    if not rows:
        context.say(f"the databases have every job below {root}")
    elif kept := len(rows) - len(going):
        context.say(
            f"{kept} changed within the last hour and were kept"
            if remove
            else "remove them with `edbench storage clean --remove`"
        )


def confirm(question: str) -> None:
    """Raise UsageError for any answer but yes, and if no user can answer."""
    if not sys.stdin.isatty():
        raise UsageError(f"{question.removesuffix(' [y/N] ')} Standard input is not a terminal: confirm with --yes")
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was removed")

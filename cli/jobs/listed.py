"""What `edbench jobs` shows; imported while the services start."""

from __future__ import annotations

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import print_json
from cli.show.jobs import jobs_table
from controller.databases import newest_jobs
from controller.jobs.groups.find import list_groups


def show_jobs(context: CommandContext, installed: Installation, limit: int, as_json: bool) -> None:
    """The newest jobs of all databases."""
    pairs = newest_jobs(installed.databases, limit)
    if as_json:
        from controller.jobs.documents import line_of  # a table is drawn from rows

        print_json([line_of(summary, database.name).to_json() for database, summary in pairs])
    elif pairs:
        groups = {row.id: row for row in list_groups(installed.databases)}
        context.out.print(jobs_table(pairs, groups))
    else:
        context.say("no job yet; `edbench discover DIR` makes one")

"""What `edbench jobs` and `edbench job` show; imported while the services start."""

from __future__ import annotations

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import print_json
from cli.show.jobs import group_line, jobs_table, show_counts
from cli.show.played import show_played
from cli.show.wire import show_wire
from controller.browse.counts import JobCounts, count_job
from controller.databases import newest_jobs
from controller.jobs.documents import document_of, group_document, holds_of, line_of
from controller.jobs.groups.find import list_groups
from controller.observe.wire import WireShares, wire_shares
from controller.replay.outcome import Played, played
from sql.groups import GroupRow


def show_jobs(context: CommandContext, installed: Installation, limit: int, as_json: bool) -> None:
    """The newest jobs of all databases."""
    pairs = newest_jobs(installed.databases, limit)
    groups = {row.id: row for row in list_groups(installed.databases)}
    if as_json:
        print_json([line_of(summary, database.name).to_json() for database, summary in pairs])
    elif pairs:
        context.out.print(jobs_table(pairs, groups))
    else:
        context.say("no job yet; `edbench discover DIR` makes one")


def show_job(context: CommandContext, installed: Installation, job: str, as_json: bool) -> None:
    """One job, or each of a group."""
    selected = installed.find(job)
    counts = [(handle.database.name, count_job(handle)) for handle in selected.each]
    wire = wire_shares(selected.each)
    replayed = None if selected.group else played(selected.each[0])
    if selected.group is not None:
        _show_group(context, selected.group, counts, wire, as_json)
    elif as_json:
        print_json(document_of(counts[0][1], wire, replayed).to_json())
    else:
        _show_job(context, counts[0][1], wire, replayed)


def _show_job(context: CommandContext, counts: JobCounts, wire: WireShares | None, replayed: Played | None) -> None:
    show_counts(context.out, counts)
    if replayed is not None:
        show_played(context.out, replayed)
    show_wire(context.out, wire)


def _show_group(
    context: CommandContext,
    group: GroupRow,
    counts: list[tuple[str, JobCounts]],
    wire: WireShares | None,
    as_json: bool,
) -> None:
    if as_json:
        print_json(group_document(group, wire, [holds_of(count, name) for name, count in counts]).to_json())
        return
    context.out.print(group_line(group), markup=False)
    for _, count in counts:
        context.out.print()
        show_counts(context.out, count)
    show_wire(context.out, wire)

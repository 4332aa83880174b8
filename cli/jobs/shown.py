"""What `edbench job` shows; imported while the services start. What counts comes first, and is there to be read while the
rest is looked for."""

from __future__ import annotations

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import flush, print_json
from cli.show.jobs import group_line, show_counts
from controller.browse.counts import count_job
from controller.databases import JobHandle, Jobs


def show_job(context: CommandContext, installed: Installation, job: str, as_json: bool) -> None:
    """One job, or each of a group."""
    selected = installed.find(job)
    if as_json:
        _print_documents(selected)
        return
    if selected.group is not None:
        context.out.print(group_line(selected.group), markup=False)
    for handle in selected.each:
        if selected.group is not None:
            context.out.print()
        show_counts(context.out, count_job(handle))
        _show_production(context, handle)
        flush()
    if selected.group is None:
        _show_replay(context, selected.each[0])
    from controller.observe.wire import wire_shares  # brings documents

    if (wire := wire_shares(selected.each)) is not None:
        from cli.show.wire import show_wire

        show_wire(context.out, wire)


def _show_production(context: CommandContext, handle: JobHandle) -> None:
    """What it left out and why, and what it does not know, where it takes the items of others."""
    if not handle.job.options.production.asked:
        return
    from controller.production.figures import production_lines, production_told  # brings documents

    if (made := production_told(handle)) is not None:
        for name, line in production_lines(made):
            context.out.print(f"{name}: {line}", markup=False, soft_wrap=True)


def _show_replay(context: CommandContext, handle: JobHandle) -> None:
    """What its clients found, where it is one."""
    if not handle.job.options.replay.asked:
        return
    from cli.show.played import show_played  # brings what replays are told by
    from controller.replay.outcome import played

    if (found := played(handle)) is not None:
        show_played(context.out, found)


def _print_documents(selected: Jobs) -> None:
    from controller.jobs.documents import document_of, group_document, holds_of  # a table is drawn from rows
    from controller.observe.wire import wire_shares
    from controller.production.figures import production_told
    from controller.replay.outcome import played

    wire = wire_shares(selected.each)
    if selected.group is None:
        (handle,) = selected.each
        print_json(document_of(count_job(handle), wire, played(handle), production_told(handle)).to_json())
    else:
        holds = [holds_of(count_job(handle), handle.database.name) for handle in selected.each]
        print_json(group_document(selected.group, wire, holds).to_json())

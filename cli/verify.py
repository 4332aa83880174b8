"""`edbench verify`: compare a completed job with its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import shared
from cli.output import flush, table
from cli.tree import Commands
from core.errors import RunFailed
from core.records import GroupKind
from core.texts import many

if TYPE_CHECKING:
    from rich.console import Console

    from controller.verify.group import GroupVerified
    from controller.verify.job import Verification
    from sql.custody import Count, Example

commands = Commands()


@commands.add("verify", "edbench verify last")
def verify(
    ctx: typer.Context,
    job: opt.JobArgument,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with this manifest.  [default: the one next to the source]"),
    ] = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Without a manifest: check only that the job is consistent.")
    ] = False,
    examples: Annotated[
        int, typer.Option(min=0, max=10_000, help="Show at most N differences of each kind.", metavar="N")
    ] = 10,
    storage: opt.StorageRoot = None,
) -> None:
    """The command compares the database, the index and the files on the filer. For an extraction, a processing or an
    export, it reads every file again, compares it with its row, and compares the load files with each other as `edbench
    produce check` does.

    Each of the simultaneous jobs of a group is compared with the whole manifest, the jobs of a shard together. The exit
    status is 0 only if nothing is missing, extra or wrong, else 1."""
    from cli.installation import installation
    from controller.verify.group import GroupVerified, note_verified, verification
    from core.job_types import types_of

    context = shared(ctx)
    settings = context.settings(storage=storage)
    with installation(settings) as installed:
        target = installed.find(job)
        more = {"progress": context.say} if context.err.is_terminal else {}
        work = verification(target, installed.settings, manifest, internal=internal, examples=examples, **more)
        outcome = work()
        context.document(outcome)
        produced = bool(target.each) and target.each[0].job.options.type.produces
        if produced:
            types_of(target.each[0].job.options.of_type).print_verified(context.people, outcome)
        elif isinstance(outcome, GroupVerified):
            show_group(context.people, outcome)
        else:
            show(context.people, outcome)
        flush()
        note_verified(target.each, outcome)  # last: the result is printed even if this fails
    if outcome.differences:
        what = "its output or its load files" if produced else "its manifest"
        listed = "" if produced else ", listed above"
        raise RunFailed(f"job {target.id} differs from {what}: {many(outcome.differences, 'difference')}{listed}")


def show_group(console: Console, group: GroupVerified) -> None:
    """Print the report on each job, and on all jobs of a shard together."""
    for one in group.jobs:
        console.print(f"{one.database}, job {one.job_id}")
        show(console, one)
    if group.kind is GroupKind.SHARDED and any(one.manifest for one in group.jobs):
        _show_differences(console, group.counts, group.examples)
        console.print(
            f"together: {many(group.items, 'item')}, {group.missing - sum(one.missing for one in group.jobs):,} in no job,"
            f" {group.doubled:,} in several"
        )


def _show_differences(console: Console, counts: Sequence[Count], differing: Sequence[Example]) -> None:
    if not counts:
        return
    rows = [(count.what, count.kind, count.items) for count in counts]
    console.print(table(("difference", "kind", "number"), rows, right=(2,)))
    console.print()
    examples = [(e.what, " / ".join(e.container_path), e.expected, e.found) for e in differing]
    console.print(table(("difference", "container path", "expected", "found"), examples))
    console.print()


def _left(ghosts: int) -> str:
    """A remark on documents that tasks published before an outage of the database; they were done again."""
    return f" ({ghosts:,} of them left by repeated tasks; no search returns these)" if ghosts else ""


def show(console: Console, done: Verification) -> None:
    """Print the report for people."""
    _show_differences(console, done.counts, done.examples)
    against = f"against {done.manifest_items:,} in {done.manifest}" if done.manifest else "(without a manifest)"
    console.print(
        f"{many(done.items, 'item')} {against}: {done.missing:,} missing, {done.extra:,} extra, {done.wrong:,} wrong;"
        f" {many(done.documents, 'index document')}{_left(done.ghosts)}, {many(done.terms, 'planted term')}, {many(done.files, 'file')} on the filer"
    )
    if done.records:
        console.print(f"expected as loose files: {many(done.records, 'record')} of a load file")

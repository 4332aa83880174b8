"""`edbench verify`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from cli.context import CommandContext, shared, with_options, writable_file
from cli.options import JobArgument, JsonFile, StorageRoot
from cli.output import flush, write_json
from cli.show.table import table
from core.errors import RunFailed
from core.operations import NullRecorder
from core.records import GroupKind
from core.storage.layer import Storage

if TYPE_CHECKING:
    from controller.databases import JobHandle
    from controller.verify.group import GroupVerification
    from controller.verify.job import Count, Example, Verification
    from controller.verify.production import ProductionVerification


def verify(
    ctx: typer.Context,
    job: JobArgument,
    manifest: Annotated[
        Path | None, typer.Option(metavar="FILE", help="manifest of the corpus  [default: beside the source]")
    ] = None,
    json_file: JsonFile = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="without a manifest: check only the job's own promises")
    ] = False,
    examples: Annotated[int, typer.Option(min=0, max=10_000, help="differences of each sort to show")] = 10,
    storage: StorageRoot = None,
) -> None:
    """Compare a completed job with its manifest: database, index and filer.

    Of an extraction, a processing or an export every file is read again and compared with its row, and the load files are
    compared with each other, as `edbench production check` does.

    Simultaneous jobs of a group are each compared with all of it, the jobs of a shard together. Exit status 0 only if nothing is missing, extra or wrong, 1 if anything is.
    """
    from cli.installation import installation  # the tables that are compared are slow to come, too
    from controller.verify.group import GroupVerification, verify_group
    from controller.verify.job import choose_manifest, verify_job
    from controller.verify.noted import note_verified

    context = shared(ctx)
    writable_file(json_file, "--json")
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings) as installed:
        target = installed.find(job)
        if target.each and target.each[0].job.options.production.asked:
            _verify_production(context, target.each[0], examples, json_file)
            return
        chosen = choose_manifest(target.source, manifest, internal=internal)
        progress = context.say if context.err.is_terminal else _quiet
        filer = Storage(NullRecorder())
        outcome: Verification | GroupVerification
        if target.group is not None:
            outcome = verify_group(target, installed.settings, filer, chosen, examples=examples, progress=progress)
        else:
            outcome = verify_job(
                target.each[0], installed.settings, filer, chosen, examples=examples, progress=progress
            )
        if json_file is not None:
            write_json(json_file, outcome.to_json())
        if isinstance(outcome, GroupVerification):
            show_group(context.out, outcome)
        else:
            show(context.out, outcome)
        flush()
        note_verified(target.each, outcome)  # last: what was found is told whatever becomes of the note
    if outcome.differences:
        raise RunFailed(f"job {target.id} differs from what it should be in {outcome.differences:,} places")


def _verify_production(context: CommandContext, handle: JobHandle, examples: int, json_file: Path | None) -> None:
    """The files that the job wrote, against its rows."""
    from controller.verify.noted import note_verified
    from controller.verify.production import verify_production

    progress = context.say if context.err.is_terminal else _quiet
    done = verify_production(handle, Storage(NullRecorder()), examples=examples, progress=progress)
    if json_file is not None:
        write_json(json_file, done.to_json())
    if done.examples:
        rows = [(each.what, each.path, each.expected, each.found) for each in done.examples]
        context.out.print(table(("difference", "file", "expected", "found"), rows))
    context.out.print(
        f"{done.type} job {done.job_id}: {done.items:,} items, {done.files:,} files in {done.out}: {done.missing:,} missing,"
        f" {done.extra:,} extra, {done.wrong:,} wrong",
        markup=False,
    )
    for said in _pages(done):
        context.out.print(said, markup=False)
    for line in done.load_file_examples:
        context.out.print(line, markup=False, soft_wrap=True)
    context.out.print(f"{' '.join(done.load_files) or 'load files'}: {done.load_file_faults:,} faults", markup=False)
    flush()
    note_verified([handle], done)  # last, as above
    if done.differences:
        raise RunFailed(
            f"job {done.job_id} differs from what it wrote, or in its load files, in {done.differences:,} places"
        )


def _pages(done: ProductionVerification) -> Iterator[str]:
    """A line for what has to agree with the discovery, and one for each other type that does not."""
    if exact := [each for each in done.pages if each.exact]:
        items, pages = sum(each.items for each in exact), sum(each.pages for each in exact)
        yield f"{items:,} PDF and TIFF items have {pages:,} pages, {done.pages_wrong:,} of them others than were found"
    for each in done.pages:
        if each.differing and not each.exact:
            yield (
                f"{each.media_type}: {each.pages:,} pages were made of {each.items:,} items, {each.found_pages:,} were found"
                f" ({each.differing:,} items differ)"
            )


def _quiet(_line: str) -> None:
    return None


def show_group(console: Console, group: GroupVerification) -> None:
    """The report on each job, and on what the jobs of a shard have together."""
    for database, one in group.jobs:
        console.print(f"{database}, job {one.job_id}", markup=False)
        show(console, one)
    if group.kind is GroupKind.SHARDED and any(one.manifest for _, one in group.jobs):
        whole = {count.what: count.items for count in group.counts}
        _show_differences(console, group.counts, group.examples)
        console.print(
            f"together: {sum(one.items for _, one in group.jobs):,} items, {whole.get('missing', 0):,} in no job,"
            f" {whole.get('doubled', 0):,} in several",
            markup=False,
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
    """An outage of the database leaves such documents: a task had published them, and was done again."""
    return f" ({ghosts:,} of them left by tasks that were done again; no search returns these)" if ghosts else ""


def show(console: Console, done: Verification) -> None:
    """The report for people."""
    _show_differences(console, done.counts, done.examples)
    against = f"against {done.manifest_items:,} in {done.manifest}" if done.manifest else "(there was no manifest)"
    console.print(
        f"{done.items:,} items {against}: {done.missing:,} missing, {done.extra:,} extra, {done.wrong:,} wrong;"
        f" {done.documents:,} index documents{_left(done.ghosts)}, {done.terms:,} planted terms, {done.files:,} files on the filer",
        markup=False,
    )
    if done.records:
        console.print(f"{done.records:,} records of a load file were to be loose files", markup=False)

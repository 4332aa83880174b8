"""`edbench verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli.context import installation, shared, with_options, writable_file
from cli.options import JobArgument, JsonFile, StorageRoot
from cli.output import flush, write_json
from cli.show import table
from controller.verify import Verification, choose_manifest, verify_job
from core.errors import RunFailed
from core.operations import NullRecorder
from core.storage import Storage


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

    Exit status 0 only if nothing is missing, extra or wrong, 1 if anything is.
    """
    context = shared(ctx)
    writable_file(json_file, "--json")
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings) as installed:
        handle = installed.find(job)
        chosen = choose_manifest(handle, manifest, internal=internal)
        found = verify_job(
            handle,
            installed.settings,
            Storage(NullRecorder()),
            chosen,
            examples=examples,
            progress=context.say if context.err.is_terminal else _quiet,
        )
    if json_file is not None:
        write_json(json_file, found.to_json())
    show(context.out, found)
    flush()
    if found.differences:
        raise RunFailed(f"job {found.job_id} differs from what it should be in {found.differences:,} places")


def _quiet(_line: str) -> None:
    return None


def show(console: Console, found: Verification) -> None:
    """The report for people."""
    if found.counts:
        rows = [(count.what, count.kind, count.items) for count in found.counts]
        console.print(table(("difference", "kind", "number"), rows, right=(2,)))
        console.print()
        examples = [(e.what, " / ".join(e.container_path), e.expected, e.found) for e in found.examples]
        console.print(table(("difference", "container path", "expected", "found"), examples))
        console.print()
    against = f"against {found.truth:,} in {found.manifest}" if found.manifest else "(there was no manifest)"
    console.print(
        f"{found.items:,} items {against}: {found.of('missing'):,} missing, {found.of('extra'):,} extra,"
        f" {found.differences - found.of('missing') - found.of('extra'):,} wrong; {found.documents:,} index documents"
        f" ({found.ghosts:,} ghosts), {found.terms:,} planted terms, {found.files:,} files on the filer",
        markup=False,
    )

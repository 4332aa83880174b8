"""`edbench dedupe`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared, writable_file
from cli.installation import installation
from cli.options import JsonFile
from cli.review.options import AsCsv, AsJsonl, CsvRaw, JobArguments, detail
from review.kinds import By, Scope


def dedupe(
    ctx: typer.Context,
    jobs: JobArguments,
    scope: Annotated[Scope, typer.Option(help="within which items are compared")] = Scope.JOB,
    by: Annotated[By, typer.Option(help="what is compared")] = By.FAMILY,
    json_file: JsonFile = None,
    as_csv: AsCsv = False,
    csv_raw: CsvRaw = False,
    as_jsonl: AsJsonl = False,
) -> None:
    """Find the duplicates among the items of finished jobs, and of each group of equals the original.

    What an earlier `dedupe` said of these jobs is forgotten; nothing is deleted. The original is the first by job (in the
    order given), custodian and path; it lists the custodians of all that are equal to it. `edbench items JOB --duplicates no`
    leaves the duplicates out. docs/review.md says what is compared and how.
    """
    how = detail(as_jsonl, as_csv, csv_raw)
    context = shared(ctx)
    writable_file(json_file, "--json")
    with installation(context.settings(), work="cli.review.deduped", looks=False) as installed:
        from cli.review.deduped import show_dedupe

        show_dedupe(context, installed, jobs, scope, by, json_file, how)

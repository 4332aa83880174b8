"""`edbench near`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared, writable_file
from cli.installation import installation
from cli.options import JsonFile
from cli.review.options import AsCsv, AsJsonl, CsvRaw, JobArguments, detail
from review.kinds import LOWEST, USUAL, Scope


def near(
    ctx: typer.Context,
    jobs: JobArguments,
    threshold: Annotated[
        float,
        typer.Option(min=LOWEST, max=1.0, metavar="SHARE", help="how much of two texts has to be the same, 0.5 to 1"),
    ] = USUAL,
    scope: Annotated[Scope, typer.Option(help="within which items are compared")] = Scope.JOB,
    json_file: JsonFile = None,
    as_csv: AsCsv = False,
    csv_raw: CsvRaw = False,
    as_jsonl: AsJsonl = False,
) -> None:
    """Find items of finished jobs whose texts are nearly the same, and of each group its principal.

    Compared is the text in the index, by its shingles (five words that follow each other): those that both texts have over
    those that either has. The principal is the first by job, custodian and path; every other member was held against it. What
    an earlier `near` said of these jobs is forgotten. `edbench items JOB --near no` leaves all but the principals out.
    """
    how = detail(as_jsonl, as_csv, csv_raw)
    context = shared(ctx)
    writable_file(json_file, "--json")
    with installation(context.settings(), work="cli.review.nearly") as installed:
        from cli.review.nearly import show_near

        show_near(context, installed, jobs, scope, threshold, json_file, how)

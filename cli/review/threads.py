"""`edbench threads`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared, writable_file
from cli.installation import installation
from cli.options import JsonFile
from cli.review.options import AsCsv, AsJsonl, CsvRaw, JobArguments, detail


def threads(
    ctx: typer.Context,
    jobs: JobArguments,
    subjects: Annotated[
        bool,
        typer.Option("--subjects", help="place answers that refer to nothing below the first message of their subject"),
    ] = False,
    json_file: JsonFile = None,
    as_csv: AsCsv = False,
    csv_raw: CsvRaw = False,
    as_jsonl: AsJsonl = False,
) -> None:
    """Put the messages of finished jobs into threads: which one answers which.

    By Message-ID, References, In-Reply-To and Outlook's conversation index; messages of all jobs that are named together.
    What an earlier `threads` said of these jobs is forgotten. docs/review.md says how.
    """
    how = detail(as_jsonl, as_csv, csv_raw)
    context = shared(ctx)
    writable_file(json_file, "--json")
    with installation(context.settings(), work="cli.review.threaded", looks=False) as installed:
        from cli.review.threaded import show_threads

        show_threads(context, installed, jobs, subjects, json_file, how)

"""`edbench denist`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared, writable_file
from cli.installation import installation
from cli.options import JsonFile
from cli.review.options import AsCsv, AsJsonl, CsvRaw, JobArguments, detail


def denist(
    ctx: typer.Context,
    jobs: JobArguments,
    lists: Annotated[
        list[Path],
        typer.Option("--list", metavar="FILE", help="a list of hashes, text or NSRL's SQLite; may come again"),
    ],
    json_file: JsonFile = None,
    as_csv: AsCsv = False,
    csv_raw: CsvRaw = False,
    as_jsonl: AsJsonl = False,
) -> None:
    """Flag the items of finished jobs whose hash is on a list of known software files.

    What an earlier `denist` flagged in these jobs is forgotten; nothing is dropped. `edbench items JOB --system no` leaves
    the flagged items out. A list has SHA-256, SHA-1 or MD5; for one without SHA-256 the items are read once more.
    docs/review.md says which files are taken as lists.
    """
    how = detail(as_jsonl, as_csv, csv_raw)
    context = shared(ctx)
    writable_file(json_file, "--json")
    with installation(context.settings(), work="cli.review.denisted") as installed:
        from cli.review.denisted import show_denist

        show_denist(context, installed, jobs, lists, json_file, how)

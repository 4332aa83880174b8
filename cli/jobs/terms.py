"""`edbench terms`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import AsJson, JobArgument
from core.errors import UsageError


def terms(
    ctx: typer.Context,
    job: JobArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", readable=False, help="search terms, one a line, each a query")
    ],
    charset: Annotated[
        str | None, typer.Option(metavar="NAME", help="charset of FILE  [default: as its bytes show]")
    ] = None,
    custodian: Annotated[str | None, typer.Option(metavar="NAME", help="only this custodian's items")] = None,
    custodians: Annotated[bool, typer.Option("--custodians", help="in the table, each term by custodian too")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header, by custodian too")] = False,
    csv_raw: Annotated[bool, typer.Option("--csv-raw", help="the same, formulas and all")] = False,
    as_json: AsJson = False,
) -> None:
    """Report what each search term of a list finds: items, with their families, families, and what it alone finds.

    In CSV what a spreadsheet would run as a formula has an apostrophe in front.
    """
    if as_csv + csv_raw + as_json > 1:
        raise UsageError("--csv, --csv-raw and --json exclude each other; give one")
    from controller.search.term_lists import read_terms

    listed = read_terms(file, charset)
    context = shared(ctx)
    with installation(context.settings(), work="cli.jobs.hits") as installed:
        from cli.jobs.hits import print_report, report_on

        report = report_on(installed, job, listed.terms, custodian)
        print_report(context, report, as_csv=as_csv or csv_raw, raw=csv_raw, as_json=as_json, custodians=custodians)
    if charset is None and not listed.charset.startswith("utf-8"):
        context.say(f"{file} was read as {listed.charset}; --charset says otherwise")

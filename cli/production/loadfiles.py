"""`edbench production`: productions checked by what their load files say, and taken as sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared
from cli.output import flush
from core.errors import RunFailed


def check(
    ctx: typer.Context,
    production: Annotated[
        Path, typer.Argument(metavar="DIR", help="what `edbench export`, `process` or `extract` wrote")
    ],
    records: Annotated[
        int | None,
        typer.Option(
            "--records",
            metavar="N",
            min=0,
            max=1_000_000_000,
            help="how many there are to be, which load files do not say",
        ),
    ] = None,
) -> None:
    """Read every file of a production again and compare it, and all its load files, with each other.

    A line for each fault: files that are missing, differ or are named nowhere, paths that lead out of DIR, gaps between
    numbers, families that are not whole, pages that are missing, doubled or miscounted, load files (DAT, Opticon, EDRM
    XML, CSV) that say different things. Exit status 1 where there is one. Needs no database.
    """
    from production.loadfiles.check import check as check_production  # slow to come

    out = shared(ctx).out
    done = check_production(production, lambda line: out.print(line, markup=False, soft_wrap=True), records=records)
    out.print(
        f"{done.records:,} records, {done.files:,} files, {' '.join(done.load_files)}: {done.faults:,} faults",
        markup=False,
    )
    flush()
    if done.faults:
        raise RunFailed(f"{production} is not what its load files say, in {done.faults:,} places")


def take(
    ctx: typer.Context,
    load_file: Annotated[Path, typer.Argument(metavar="DAT", help="load file of a production of whatever program")],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="a new or empty directory: the source")],
    topmost: Annotated[
        bool, typer.Option("--topmost", help="leave out what is attached: the native of its family's first holds it")
    ] = False,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", metavar="DIR", help="where the paths in DAT begin, if that is not the directory that DAT lies in"
        ),
    ] = None,
) -> None:
    """Make a source out of what a load file names, for `edbench discover DIR`.

    DIR has a directory for each custodian and in it the natives under their numbers, texts of records without one, and
    files of no bytes for those with neither: hard links where that can be, else copies. A discovery has each with the
    load file's fields (`load_begdoc` …). A native that is missing, has another hash than the load file says or lies
    outside is an exception there: a line each, and exit status 1. The second record of a number is a line, and not taken.
    """
    from production.loadfiles.taking import take as take_natives  # slow to come

    out = shared(ctx).out
    done = take_natives(
        load_file, to, lambda line: out.print(line, markup=False, soft_wrap=True), topmost=topmost, root=root
    )
    out.print(
        f"{done.records:,} records: {done.items:,} taken ({done.natives:,} natives, {done.texts:,} texts,"
        f" {done.bare:,} with neither), {done.attached:,} attached and left out, {done.faults:,} not taken;"
        f" {done.wrong:,} not as the load file says",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    flush()
    if done.faults or done.wrong:
        raise RunFailed(f"{load_file}: {done.faults:,} records were not taken, {done.wrong:,} are not as it says")


# Every command with an example of its use.
PRODUCTIONS = (
    ("check", check, "edbench production check production"),
    ("import", take, "edbench production import theirs/loadfile.dat --to source"),
)


def production_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(
        rich_markup_mode=None, help="Check that a production is what its load files say, or take another's as a source."
    )
    for name, function, example in PRODUCTIONS:
        app.command(name, epilog=f"Example: {example}")(function)
    return app

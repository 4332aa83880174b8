"""`edbench result`: packages of results checked, described and signed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from cli.context import shared
from cli.output import flush
from core.errors import RunFailed, UsageError

if TYPE_CHECKING:
    from experiments.package.check import Checked

Package = Annotated[Path, typer.Argument(metavar="PACKAGE", help="the directory of a result")]


def check(
    ctx: typer.Context,
    package: Package,
    signers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="allowed signers (ssh-keygen(1)); the package must be signed by one of them"),
    ] = None,
) -> None:
    """Tell every figure, label and verdict of a result again from what was observed; exit status 1 on any difference.

    One line for each difference. What cannot be told again is listed as taken on trust.
    """
    from experiments.summary.package import check as check_package  # slow to come

    console = shared(ctx).out
    outcome = check_package(package, signers)
    _show(console, outcome)
    flush()
    if outcome.differences:
        raise RunFailed(f"{package} differs from what was observed in {len(outcome.differences):,} places")


def _show(console: Console, checked: Checked) -> None:
    for line in checked.differences:
        console.print(line, markup=False, soft_wrap=True)
    if checked.made_by is not None:
        by = checked.made_by
        said = f"note: made by edbench {by}: another version may tell other figures from the same observations"
        console.print(said, markup=False, soft_wrap=True)
    if not checked.differences:
        console.print("every figure, label and verdict is what was observed", markup=False)
    console.print(checked.signed or "signed by nobody", markup=False, soft_wrap=True)
    for line in checked.trusted:
        console.print(f"taken on trust: {line}", markup=False, soft_wrap=True)


def sign(
    ctx: typer.Context,
    package: Package,
    key: Annotated[Path, typer.Option(metavar="FILE", help="private key of ssh, or a public one whose agent has it")],
) -> None:
    """Sign a package that checks, with a key of ssh (ssh-keygen -Y sign, namespace edbench-result)."""
    from experiments.package.signature import sign as sign_package
    from experiments.summary.package import check as check_package  # slow to come

    outcome = check_package(package)
    if outcome.differences:
        raise UsageError(f"{package} does not check, so it is not signed: {outcome.differences[0]}")
    shared(ctx).out.print(str(sign_package(package, key)), markup=False, soft_wrap=True)


def describe(
    ctx: typer.Context,
    package: Package,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the sheet, filled in; without it an empty one is printed")
    ] = None,
) -> None:
    """Say what filer was measured and what it costs: printed in the report, with figures for the price.

    Without --sheet the package's sheet is printed, or an empty one to fill in. The report and the manifest are written
    anew; a signature of before is removed.
    """
    from experiments.package.describe import describe as describe_package  # slow to come
    from experiments.report.sheet import FILE as SHEET
    from experiments.report.sheet import TEMPLATE

    there = package / SHEET
    if sheet is None:
        print(there.read_text(encoding="utf-8") if there.is_file() else TEMPLATE, end="")
        return
    try:
        text = sheet.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{sheet} cannot be read: {error}") from error
    shared(ctx).out.print(str(describe_package(package, text, str(sheet))), markup=False, soft_wrap=True)


# Every command with an example of its use.
RESULTS = (
    ("check", check, "edbench result check edbench-storage/results/scale-up-20260101-120000-0a1b2c"),
    ("describe", describe, "edbench result describe results/a > filer.toml"),
    ("sign", sign, "edbench result sign results/a --key ~/.ssh/id_ed25519"),
)


def result_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(rich_markup_mode=None, help="Check result packages, sign them, say what was measured.")
    for name, function, example in RESULTS:
        app.command(name, epilog=f"Example: {example}")(function)
    return app

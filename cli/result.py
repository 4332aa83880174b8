"""`edbench result`: check, describe, sign and compare result packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import CommandContext, shared
from cli.output import flush, print_lines, table
from cli.tree import Commands
from core.errors import RunFailed, UsageError, read_problem
from core.texts import many
from experiments.result.compare import GROUNDS, parse_grounds

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.package.check import Checked
    from experiments.result.compare import Cell, Comparison, Overall
    from experiments.result.schema import Result
    from experiments.workload import Figure

commands = Commands()

Package = Annotated[Path, typer.Argument(metavar="PACKAGE", help="directory of a result")]


@commands.add("check", "edbench result check results/scale-up-20260101-120000-0a1b2c")
def check(
    ctx: typer.Context,
    package: Package,
    signers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Require a signature by one of these signers (ssh-keygen(1)).")
    ] = None,
) -> None:
    """Recompute a result from its raw observations and compare.

    Each difference is one line, and the exit status is 1. What cannot be recomputed is listed as taken on trust."""
    from experiments.summary import check as check_package  # slow to import

    context = shared(ctx)
    outcome = check_package(package, signers)
    if not context.document(outcome):
        _show_checked(context.out, outcome)
    flush()
    if outcome.differences:
        raise RunFailed(
            f"{package} differs from its raw observations: {many(len(outcome.differences), 'difference')}, listed above"
        )


def _show_checked(console: Console, checked: Checked) -> None:
    print_lines(console, *checked.differences)
    if (by := checked.made_by) is not None:
        note = f"note: made by edbench {by}: another version may compute other figures from the same observations"
        print_lines(console, note)
    if not checked.differences:
        console.print("every figure, label and verdict follows from the observations")
    print_lines(console, checked.signed or "not signed", *(f"taken on trust: {line}" for line in checked.trusted))


@commands.add("describe", "edbench result describe results/a --sheet filer.toml")
def describe(
    ctx: typer.Context,
    package: Package,
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add this filled-in sheet.  [default: print the sheet to fill in]"),
    ] = None,
) -> None:
    """Add a description and the price of the measured filer.

    Without --sheet, the package's sheet is printed, or an empty one. The report and the manifest are written again; an
    existing signature is removed."""
    from experiments.package.check import describe as describe_package  # slow to import
    from experiments.report.sheet import FILE as SHEET
    from experiments.report.sheet import TEMPLATE

    context, there = shared(ctx), package / SHEET
    if sheet is None:
        text = there.read_text(encoding="utf-8") if there.is_file() else TEMPLATE
        if not context.document({"sheet": text}):
            print(text, end="")
        return
    try:
        text = sheet.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(sheet, error)) from error
    _print_path(context, describe_package(package, text, str(sheet)))


def _print_path(context: CommandContext, path: Path) -> None:
    if not context.document({"path": str(path)}):
        context.last_line(str(path))


@commands.add("sign", "edbench result sign results/a --key ~/.ssh/id_ed25519")
def sign(
    ctx: typer.Context,
    package: Package,
    key: Annotated[
        Path, typer.Option(metavar="FILE", help="Sign with this private SSH key, or public key of an SSH agent.")
    ],
) -> None:
    """Sign a package with an SSH key.

    The package must pass its check. The signature is of ssh-keygen -Y sign, namespace edbench-result."""
    from experiments.package.manifest import sign as sign_package
    from experiments.summary import check as check_package  # slow to import

    outcome = check_package(package)
    if outcome.differences:
        raise UsageError(f"{package} is not signed, because its check fails: {outcome.differences[0]}")
    _print_path(shared(ctx), sign_package(package, key))


@commands.add("compare", "edbench result compare results/a results/b")
def compare(
    ctx: typer.Context,
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT RESULT...", help="result.json files, or their directories")
    ],
    force: Annotated[bool, typer.Option("--force", help="Compare results that are refused and label them.")] = False,
    allow: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help=f"Allow these differences and disclose them: {', '.join(GROUNDS)}."),
    ] = None,
) -> None:
    """Compare results of experiments or replays with their intervals.

    The first result is the baseline. Results of another workload, or with another configuration, corpus, expansion or
    trace, are refused, and so is what `edbench result check` refuses. Results with other mount options, another
    placement of the databases or another state of caches require --allow."""
    from experiments.package.check import doubt
    from experiments.result.codec import read_result
    from experiments.result.compare import compare as compare_results
    from experiments.result.documents import comparison_document

    context, grounds = shared(ctx), parse_grounds(allow)
    comparison = compare_results(
        [read_result(path) for path in results], [doubt(path) for path in results], force=force, allow=grounds
    )
    if not context.document(comparison_document(comparison)):
        show_comparison(context.out, comparison)


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Print each result's verdict under its number, then the points next to each other."""
    from experiments.result.statistics import DIFFERENCES, METHOD

    print_lines(
        console,
        *(f"{number}  {result.run_id}: {result.verdict}" for number, result in enumerate(comparison.results, 1)),
        *(f"NOT COMPARABLE  {line}" for line in comparison.differences),
        *(f"note: {line}" for line in comparison.disclosed),
        "",
        *(f"{number}  {_overall(one)}" for number, one in enumerate(comparison.overall, 1)),
    )
    columns = list(comparison.rows[0].at)
    for figure in comparison.about.headlines:
        for number, result in enumerate(comparison.results, 1):
            columns.append(f"{number}: {figure.title}{' (emulated)' if _emulated(result) else ''}")
            if number > 1:
                columns.append(f"{number} against 1")
    rows = []
    for row in comparison.rows:
        values: list[object] = list(row.at.values())
        for figure in comparison.about.headlines:
            for number, cell in enumerate(row.cells, 1):
                values += [_cell(cell, figure), *([_against(cell, figure, comparison)] if number > 1 else [])]
        rows.append(tuple(values))
    console.print(table(columns, rows, right=range(len(comparison.rows[0].at))))
    print_lines(console, f"\nfigures: {METHOD}\n{DIFFERENCES}")


def _cell(cell: Cell | None, figure: Figure) -> str:
    from experiments.result.statistics import interval_text

    estimate = cell.figures.get(figure.name) if cell is not None else None
    if cell is None or estimate is None:
        return "-"
    return " ".join([interval_text(estimate, figure.write), *cell.marks])


def _against(cell: Cell | None, figure: Figure, comparison: Comparison) -> str:
    ratio = cell.against_first.get(figure.name) if cell is not None else None
    if not ratio:
        return "-"
    return f"{ratio}{' (not comparable)' if comparison.differences else ''}"


def _overall(one: Overall | None) -> str:
    from experiments.report import words
    from experiments.result.statistics import interval_text

    if one is None:
        return "no overall response time: the lowest level was not reached"
    against = f"; compared with 1: {one.against_first}" if one.against_first else ""
    time = interval_text(one.response_us, words.microseconds)
    return f"overall response time {time} up to {one.up_to} % of a peak of {words.count(one.peak)} calls/s{against}"


def _emulated(result: Result) -> bool:
    return bool(result.conditions.get("emulated_filer"))

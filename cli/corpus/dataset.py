"""`edbench dataset`: corpora that were made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from cli.context import shared
from cli.corpus.generate import reporter, usable_processors
from cli.options import AsJson
from cli.output import bytes_text, flush, print_json
from cli.show.table import table
from core.errors import RunFailed, UsageError

if TYPE_CHECKING:
    from dataset_gen.truth.check import Checked

_SHOWN = 20
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="a corpus that `edbench generate` made")]


def check(
    ctx: typer.Context,
    directory: Directory,
    processes: Annotated[
        int | None, typer.Option(min=1, max=256, help="processes that read  [default: one a processor]")
    ] = None,
) -> None:
    """Hash every file of a corpus again and say whether it is whole and genuine.

    Exit status 0 only if no file is missing, extra or changed, dataset.json says what the manifest says, and the hash
    is the published one where there is one.
    """
    from dataset_gen.truth.check import check_corpus  # slow to come

    context = shared(ctx)
    with reporter(context.err, context.clock, "checking") as report:
        outcome = check_corpus(directory, processes or usable_processors(), report)
    _show(context.out, directory, outcome)
    flush()
    if outcome.differences:
        raise RunFailed(f"{directory} differs from what it should be in {len(outcome.differences):,} places")


def _show(console: Console, directory: Path, checked: Checked) -> None:
    if checked.differences:
        rows = [(d.what, d.where, d.why) for d in checked.differences[:_SHOWN]]
        console.print(table(("difference", "where", "what"), rows))
        if len(checked.differences) > _SHOWN:
            console.print(f"… and {len(checked.differences) - _SHOWN:,} more", markup=False)
        return
    said = checked.description
    name = f"{said['profile']} version {said['profile_version']}, scale {said['scale']:g}, seed {said['seed']}"
    genuine = "genuine: this is the published hash" if checked.published else "no hash was published for it"
    console.print(f"{directory}: {name}", markup=False)
    console.print(f"whole: {checked.files:,} files, {bytes_text(checked.read)}; {genuine}", markup=False)
    console.print(f"hash {said['hash']}", markup=False)


def describe(
    ctx: typer.Context,
    directory: Directory,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="draw the distributions there, as SVG files")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what a corpus is: totals and distributions as they came out, beside what the profile wants."""
    from dataset_gen.corpus import DESCRIPTION, read_json  # slow to come

    if not (directory / DESCRIPTION).is_file():
        raise UsageError(f"{directory} holds no corpus: there is no {DESCRIPTION} in it")
    said = read_json(directory / DESCRIPTION)
    console = shared(ctx).out
    if figures is not None:
        from dataset_gen.truth.figures import draw  # imports matplotlib

        for file in draw(said, directory, figures):
            console.print(str(file), markup=False)
        return
    if as_json:
        print_json(said)
        return
    wanted = said["wanted"]
    rows = [
        ("raw bytes", f"{said['raw_bytes']:,}", f"{wanted['raw_bytes']:,}"),
        ("items a raw GB", f"{said['items_per_raw_gb']:,.0f}", f"{wanted['items_per_raw_gb']:,.0f}"),
        ("pages an item", f"{said['pages_per_item']:.2f}", f"{wanted['pages_per_item']:.2f}"),
        ("expansion", f"{said['expansion']:.3f}", f"{wanted['expansion']:.3f}"),
    ]
    console.print(table(("total", "came out", "wanted (0: left to chance)"), rows, right=(1, 2)))
    console.print()
    sizes, types = said["distributions"]["sizes_by_type"], wanted["types"]
    shown = [
        (name, s["items"], f"{s['items'] / said['items']:.2%}", f"{types[name]:.2%}" if name in types else "", s["p50"])
        for name, s in sorted(sizes.items(), key=lambda pair: -pair[1]["items"])
    ]
    console.print(table(("media type", "items", "share", "wanted", "median bytes"), shown, right=(1, 2, 3, 4)))
    flush()


def dataset_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(rich_markup_mode=None, help="Check a corpus, or show what it is.")
    app.command("check", epilog="Example: edbench dataset check c")(check)
    app.command("describe", epilog="Example: edbench dataset describe c --figures docs/corpus")(describe)
    return app

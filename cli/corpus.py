"""`edbench corpus`: generate, check and describe corpora, and the profiles that they are generated from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.context import shared
from cli.output import bytes_text, flush, print_lines, table
from cli.tree import Commands
from core import texts
from core.errors import Interrupted, RunFailed, UsageError
from core.options import MOST_SCALE
from core.texts import many

if TYPE_CHECKING:
    from rich.console import Console

    from core.clock import Clock
    from dataset_gen.orders import CorpusOrder
    from dataset_gen.truth.check import Checked

commands = Commands()

_SHOWN = 20
_PLAIN_SECONDS = 5.0
Report = Callable[[int, int], None]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="a corpus created by `edbench corpus generate`")]


@commands.add(
    "generate",
    "edbench corpus generate c --profile reference --scale 0.002 --seed 7",
    "dataset_gen.orders:CorpusOrder",
)
def generate(
    ctx: typer.Context,
    *,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="a new or empty directory")],
    order: CorpusOrder,
) -> None:
    """Generate a corpus with its manifest and dataset.json.

    The same profile, scale and seed give the same bytes on every host. Run the same command again to continue after an
    interruption. DIR/data is the source for a job; DIR/manifest.parquet is the ground truth for `edbench verify`."""
    from controller.observe.place_kind import refuse_off_storage
    from core.settings import read_settings
    from dataset_gen.corpus import generate_corpus  # imports every writer of formats

    context = shared(ctx)
    refuse_off_storage(directory, read_settings(context.env))
    started = context.clock.monotonic_ns()
    try:
        with reporter(context.err, context.clock, "generating") as report:
            writers = order.processes or usable_cores()
            made = generate_corpus(directory, order.profile, order.scale, order.seed, writers, report)
    except KeyboardInterrupt as error:
        raise Interrupted(f"the finished part stays in {directory}; run the same command to continue") from error
    seconds = (context.clock.monotonic_ns() - started) / 1e9
    if context.document(made):
        return
    print_lines(
        context.out,
        f"{directory}: {many(made['items'], 'item')}, {bytes_text(made['raw_bytes'])} raw, "
        f"{bytes_text(made['discovered_bytes'])} discovered (expansion {made['expansion']:.2f})",
        f"{made['items_per_raw_gb']:,.0f} items per raw GB, {many(made['loose_files'], 'loose file')}, "
        f"{many(sum(made['faults'].values()), 'faulty item')}, {seconds:.1f} s",
        f"hash {made['hash']}",
    )


@commands.add("check", "edbench corpus check c")
def check(
    ctx: typer.Context,
    directory: Directory,
    processes: opt.Processes = None,
) -> None:
    """Hash every file of a corpus and compare it with the manifest.

    The exit status is 0 only if no file is missing, extra or changed, dataset.json agrees with the manifest, and the
    hash is the published one where one is published."""
    from dataset_gen.truth.check import check_corpus  # slow to import

    context = shared(ctx)
    with reporter(context.err, context.clock, "checking") as report:
        outcome = check_corpus(directory, processes or usable_cores(), report)
    if not context.document(outcome):
        _show_checked(context.out, directory, outcome)
    flush()
    if outcome.differences:
        raise RunFailed(
            f"{directory} is damaged or changed: {many(len(outcome.differences), 'difference')}, listed above"
        )


def _show_checked(console: Console, directory: Path, checked: Checked) -> None:
    if checked.differences:
        rows = [(d.what, d.where, d.why) for d in checked.differences[:_SHOWN]]
        console.print(table(("difference", "where", "what"), rows))
        if len(checked.differences) > _SHOWN:
            console.print(f"… and {len(checked.differences) - _SHOWN:,} more")
        return
    of = checked.description
    name = f"{of['profile']} version {of['profile_version']}, scale {of['scale']:g}, seed {of['seed']}"
    genuine = "genuine: the hash is the published one" if checked.published else "no hash is published for it"
    console.print(f"{directory}: {name}")
    console.print(f"complete: {many(checked.files, 'file')}, {bytes_text(checked.read)}; {genuine}")
    console.print(f"hash {of['hash']}")


@commands.add("describe", "edbench corpus describe c --figures figures")
def describe(
    ctx: typer.Context,
    directory: Directory,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the distributions as SVG files in DIR.")
    ] = None,
) -> None:
    """Print the totals and distributions of a corpus.

    They are shown next to those that the profile specifies."""
    from dataset_gen.corpus import DESCRIPTION, read_json  # slow to import

    if not (directory / DESCRIPTION).is_file():
        raise UsageError(
            f"{directory} is not a corpus: it has no {DESCRIPTION}; create one with `edbench corpus generate`"
        )
    of = read_json(directory / DESCRIPTION)
    context = shared(ctx)
    if figures is not None:
        from dataset_gen.truth.figures import draw  # imports matplotlib

        for file in draw(of, directory, figures):
            context.people.print(str(file))
    if context.document(of) or figures is not None:
        return
    console = context.out
    wanted = of["wanted"]
    rows = [
        ("raw bytes", f"{of['raw_bytes']:,}", f"{wanted['raw_bytes']:,}"),
        ("items per raw GB", f"{of['items_per_raw_gb']:,.0f}", f"{wanted['items_per_raw_gb']:,.0f}"),
        ("pages per item", f"{of['pages_per_item']:.2f}", f"{wanted['pages_per_item']:.2f}"),
        ("expansion", f"{of['expansion']:.3f}", f"{wanted['expansion']:.3f}"),
    ]
    console.print(table(("total", "generated", "profile (0: not specified)"), rows, right=(1, 2)))
    console.print()
    sizes, types = of["distributions"]["sizes_by_type"], wanted["types"]
    shown = [
        (name, s["items"], f"{s['items'] / of['items']:.2%}", f"{types[name]:.2%}" if name in types else "", s["p50"])
        for name, s in sorted(sizes.items(), key=lambda one: -one[1]["items"])
    ]
    console.print(table(("media type", "items", "share", "profile", "median bytes"), shown, right=(1, 2, 3, 4)))
    flush()


@commands.add("profiles", "edbench corpus profiles reference --scale 0.01")
def profiles(
    ctx: typer.Context,
    profile: Annotated[
        str, typer.Argument(metavar="[NAME|FILE]", help="a corpus profile, or a TOML file with your own")
    ] = "",
    scale: Annotated[float, typer.Option(min=0.0, max=MOST_SCALE, help=texts.SCALE)] = 1.0,
) -> None:
    """List the corpus profiles, or describe what one generates at a scale."""
    from dataset_gen.profile import load_profile, profile_names

    context = shared(ctx)
    console = context.out
    if not profile:
        found = [load_profile(name) for name in profile_names()]
        if context.document([{"name": one.name, "raw_bytes": one.raw_bytes, "about": one.about} for one in found]):
            return
        rows = [(one.name, bytes_text(one.raw_bytes), one.about) for one in found]
        console.print(table(("profile", "raw at scale 1", "about"), rows, right=(1,), whole=(0,)))
        flush()
        return
    from dataset_gen.planning.files import outline  # imports the writers of formats, which name the faults

    of = outline(load_profile(profile), scale)
    if context.document(of):
        return
    console.print(f"{of['name']}, version {of['version']}: {of['about']}")
    console.print(f"at scale {scale:g}: {_totals(of)}")
    for title, columns, described in _sections(of):
        if described:
            console.print()
            console.print(title)
            console.print(table(columns, described, right=tuple(range(1, len(columns)))))
    flush()


def _totals(of: dict[str, Any]) -> str:
    """One line of totals; what the profile does not specify is omitted."""
    parts = [f"{bytes_text(of['raw_bytes'])} raw"]
    if of["items"]:
        parts.append(many(of["items"], "item"))
    if of["pages"]:
        parts.append(many(of["pages"], "page"))
    if of["discovered_bytes"]:
        parts.append(f"{bytes_text(of['discovered_bytes'])} discovered")
    return ", ".join(parts)


def _sections(of: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...], list[tuple[object, ...]]]]:
    yield "custodians", ("custodian", "raw", "mail", "mail stored as"), [
        (c["name"], bytes_text(c["raw_bytes"]), bytes_text(c["mail_bytes"]), c["mail"]) for c in of["custodians"]
    ]  # fmt: skip
    yield "shares of the raw bytes", ("part", "share", "raw"), [
        (name, f"{s['share']:.2%}", bytes_text(s["raw_bytes"])) for name, s in of["shares"].items()
    ]  # fmt: skip
    yield "shares of all items", ("media type", "share", "items"), [
        (name, f"{t['share']:.2%}", t["items"]) for name, t in of["types"].items()
    ]  # fmt: skip
    yield "loose documents", ("format", "share", "median"), [
        (name, f"{f['share']:.2%}", bytes_text(f["median"])) for name, f in of["loose"].items()
    ]  # fmt: skip
    yield "faults, at least", ("fault", "files"), list(of["faults"].items())


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0))


@contextmanager
def reporter(console: Console, clock: Clock, doing: str) -> Iterator[Report]:
    """A bar on a terminal, one plain line every five seconds elsewhere."""
    if not console.is_terminal:
        yield _plain(console, clock, doing)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(doing), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(doing, total=None)

        def report(done: int, total: int) -> None:
            # These bytes do not count the last step, joining the manifest: never show 100 % while it runs.
            bar.update(task, completed=min(done, total - 1), total=total)

        yield report


def _plain(console: Console, clock: Clock, doing: str) -> Report:
    due = clock.monotonic_ns() + int(_PLAIN_SECONDS * 1e9)

    def report(done: int, total: int) -> None:
        nonlocal due
        if clock.monotonic_ns() >= due:
            due = clock.monotonic_ns() + int(_PLAIN_SECONDS * 1e9)
            share = min(99.0, 100 * done / total) if total else 0.0
            console.print(f"{doing}: {bytes_text(done)} of about {bytes_text(max(done, total))} ({share:.0f} %)")

    return report

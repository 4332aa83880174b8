"""`edbench generate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from cli.context import shared
from cli.output import bytes_text
from cli.taking import taking
from controller.observe.place_kind import refuse_off_storage
from core.clock import Clock
from core.errors import Interrupted
from core.settings import read_settings
from dataset_gen.orders import CorpusOrder

_PLAIN_SECONDS = 5.0

Report = Callable[[int, int], None]


@taking()
def generate(
    ctx: typer.Context,
    *,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="where the corpus goes; new or empty")],
    order: CorpusOrder,
) -> None:
    """Write a corpus, its manifest and dataset.json.

    The same profile, scale and seed give the same bytes on every machine. An interrupted command goes on where it
    was when it is given again. DIR/data is the source of a job; DIR/manifest.parquet is the ground truth for
    `edbench verify`.
    """
    from dataset_gen.corpus import generate_corpus  # every writer of formats is slow to come

    context = shared(ctx)
    refuse_off_storage(directory, read_settings(context.env))
    started = context.clock.monotonic_ns()
    try:
        with reporter(context.err, context.clock, "generating") as report:
            writers = order.processes or usable_processors()
            made = generate_corpus(directory, order.profile, order.scale, order.seed, writers, report)
    except KeyboardInterrupt as error:
        raise Interrupted(f"what is done stays in {directory}; the same command goes on from there") from error
    seconds = (context.clock.monotonic_ns() - started) / 1e9
    for line in summary(directory, made, seconds):
        context.out.print(line, markup=False)


def usable_processors() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0))


def summary(directory: Path, made: dict[str, Any], seconds: float) -> list[str]:
    """What is said when it is done."""
    raw = made["raw_bytes"]
    return [
        f"{directory}: {made['items']:,} items, {bytes_text(raw)} raw, "
        f"{bytes_text(made['discovered_bytes'])} discovered (expansion {made['expansion']:.2f})",
        f"{made['items_per_raw_gb']:,.0f} items per raw GB, {made['loose_files']:,} loose files, "
        f"{sum(made['faults'].values()):,} faulty items, {seconds:.1f} s",
        f"hash {made['hash']}",
    ]


@contextmanager
def reporter(console: Console, clock: Clock, doing: str) -> Iterator[Report]:
    """A bar on a terminal, one plain line every five seconds elsewhere."""
    if not console.is_terminal:
        yield _plain(console, clock, doing)
        return
    columns = (TextColumn(doing), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(doing, total=None)

        def report(done: int, total: int) -> None:
            # The last step, joining the manifest, is not in these bytes: never stand at 100 % while it runs.
            bar.update(task, completed=min(done, total - 1), total=total)

        yield report


def _plain(console: Console, clock: Clock, doing: str) -> Report:
    due = clock.monotonic_ns() + int(_PLAIN_SECONDS * 1e9)

    def report(done: int, total: int) -> None:
        nonlocal due
        if clock.monotonic_ns() >= due:
            due = clock.monotonic_ns() + int(_PLAIN_SECONDS * 1e9)
            share = min(99.0, 100 * done / total) if total else 0.0
            console.print(f"{doing}: {bytes_text(done)} of about {bytes_text(total)} ({share:.0f} %)", markup=False)

    return report

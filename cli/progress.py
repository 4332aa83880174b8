"""Progress on standard error: a panel or a line that is redrawn on a terminal, one plain line every few seconds elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from cli.output import print_lines
from controller.jobs.progress import Snapshot, duration, items_text, left_text, one_line, percent

PLAIN_SECONDS, LIVE_SECONDS = 5.0, 0.5


class Display(Protocol):
    """Shows snapshots as they come."""

    every: float  # seconds between two that it can show

    def show(self, snapshot: Snapshot, at: float) -> None:
        """`at`: second of a monotonic clock."""


class PlainDisplay:
    """One line at most every `PLAIN_SECONDS`."""

    every = PLAIN_SECONDS

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next: float | None = None

    def show(self, snapshot: Snapshot, at: float) -> None:
        if self._next is None:
            self._next = at + PLAIN_SECONDS
        if at >= self._next:
            self._next = at + PLAIN_SECONDS
            self._console.print(one_line(snapshot))


class LiveDisplay:
    """Redraws one small table."""

    every = LIVE_SECONDS

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, snapshot: Snapshot, at: float) -> None:
        self._live.update(panel(snapshot))


@contextmanager
def progress_display(console: Console) -> Iterator[Display]:
    """The display that fits the console."""
    if not console.is_terminal:
        yield PlainDisplay(console)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield LiveDisplay(live)


def panel(snapshot: Snapshot) -> Table:
    """The snapshot as a table of names and values."""
    grid = Table.grid(padding=(0, 2))
    share = snapshot.share
    bar = ProgressBar(total=100, completed=0 if share is None else int(share * 100), width=40, pulse=share is None)
    grid.add_row(str(snapshot.phase), bar, "" if share is None else percent(share))
    grid.add_row("items", items_text(snapshot), f"{snapshot.tasks_done:,} of {snapshot.tasks_known:,} tasks")
    what = "written" if snapshot.producing else "discovered"
    grid.add_row(
        "GB/hour",
        f"{what} {snapshot.discovered_gb_per_hour_now:.1f} now, {snapshot.discovered_gb_per_hour:.1f} since start",
        ""
        if snapshot.producing
        else f"raw {snapshot.raw_gb_per_hour_now:.1f} now, {snapshot.raw_gb_per_hour:.1f} since start",
    )
    grid.add_row("calls/s", f"{snapshot.calls_per_second:,.0f}", f"{snapshot.exceptions:,} exceptions")
    grid.add_row("time", f"{duration(snapshot.elapsed_s)} elapsed", left_text(snapshot))
    return grid


FIRST_SECONDS = 1.0
EVERY_SECONDS = 5.0


@contextmanager
def step_told(
    console: Console, first: float = FIRST_SECONDS, every: float = EVERY_SECONDS
) -> Iterator[Callable[[str], None]]:
    """Call the yielded function with each step; in a pipe, what takes less than `first` seconds prints nothing."""
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
        return
    at, over = [""], threading.Event()

    def tick() -> None:
        """Repeat the line of a long step, to show that it is still running."""
        wait = first
        while not over.wait(wait):
            wait = every
            if at[0]:
                print_lines(console, at[0])

    ticker = threading.Thread(target=tick, name="step", daemon=True)
    ticker.start()
    try:
        yield lambda step: at.__setitem__(0, step)
    finally:
        over.set()
        ticker.join()


@contextmanager
def live_line(console: Console) -> Iterator[Callable[[str], None]]:
    """The current step and its time: one line that is redrawn on a terminal, one every five seconds elsewhere."""
    began, doing, said = time.monotonic(), "", 0.0

    def text() -> str:
        return f"{doing}, {duration(time.monotonic() - began)}"

    if console.is_terminal:
        with console.status("") as status:

            def live(line: str) -> None:
                nonlocal began, doing
                if line and line != doing:
                    began, doing = time.monotonic(), line
                status.update(text())

            yield live
        return

    def plain(line: str) -> None:
        nonlocal began, doing, said
        if line and line != doing:
            began, doing = time.monotonic(), line
        if time.monotonic() - max(said, began) >= PLAIN_SECONDS:
            said = time.monotonic()
            console.print(text())

    yield plain

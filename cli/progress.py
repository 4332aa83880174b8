"""Progress on standard error: a panel or a line that is redrawn on a terminal, one plain line every few seconds elsewhere."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from controller.jobs.progress import Snapshot, duration, items_text, left_text, one_line, percent, rates_text
from core.texts import many

PLAIN_SECONDS, LIVE_SECONDS = 5.0, 0.5
_DONE = re.compile(r"[\d.,]+( [kMGT]?B)? of ")  # the part of a line that changes while a step goes on


@dataclass(frozen=True, slots=True)
class Display:
    """Shows snapshots as they come."""

    show: Callable[[Snapshot, float], None]  # a snapshot, and the second of a monotonic clock
    every: float  # least seconds between two snapshots


@contextmanager
def progress_display(console: Console) -> Iterator[Display]:
    """The display that fits the console: one small table that is redrawn, or one line at most every PLAIN_SECONDS."""
    due: float | None = None

    def plain(snapshot: Snapshot, at: float) -> None:
        nonlocal due
        if due is not None and at >= due:
            console.print(one_line(snapshot))
        if due is None or at >= due:
            due = at + PLAIN_SECONDS

    if not console.is_terminal:
        yield Display(plain, PLAIN_SECONDS)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield Display(lambda snapshot, _: live.update(panel(snapshot)), LIVE_SECONDS)


def panel(snapshot: Snapshot) -> Table:
    """The snapshot as a table of names and values."""
    grid = Table.grid(padding=(0, 2))
    share = snapshot.share
    bar = ProgressBar(total=100, completed=0 if share is None else int(share * 100), width=40, pulse=share is None)
    grid.add_row(str(snapshot.phase), bar, "" if share is None else percent(share))
    grid.add_row("items", items_text(snapshot), f"{snapshot.tasks_done:,} of {many(snapshot.tasks_known, 'task')}")
    what = "written" if snapshot.producing else "discovered"
    grid.add_row(
        "GB/hour",
        f"{what} {rates_text(snapshot.discovered_gb_per_hour_now, snapshot.discovered_gb_per_hour)}",
        "" if snapshot.producing else f"raw {rates_text(snapshot.raw_gb_per_hour_now, snapshot.raw_gb_per_hour)}",
    )
    grid.add_row("calls/s", f"{snapshot.calls_per_second:,.0f}", many(snapshot.exceptions, "exception"))
    grid.add_row("time", f"{duration(snapshot.elapsed_s)} elapsed", left_text(snapshot))
    return grid


@contextmanager
def live_line(console: Console) -> Iterator[Callable[[str], None]]:
    """The current step and its time: one line that is redrawn on a terminal, one every five seconds elsewhere."""
    began, doing, printed = time.monotonic(), "", 0.0

    def show(line: str) -> None:
        nonlocal began, doing, printed
        now = time.monotonic()
        if line:
            if _DONE.sub("", line) != _DONE.sub("", doing):
                began = now
            doing = line
        text = f"{doing}, {duration(now - began)}"
        if status is not None:
            status.update(text)
        elif now - max(printed, began) >= PLAIN_SECONDS:
            printed = now
            console.print(text)

    with console.status("") if console.is_terminal else nullcontext() as status:
        yield show

"""What a command that only computes is at: a line that lives on a terminal, and elsewhere one every few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

FIRST_SECONDS = 1.0
EVERY_SECONDS = 5.0


@contextmanager
def step_told(
    console: Console, first: float = FIRST_SECONDS, every: float = EVERY_SECONDS
) -> Iterator[Callable[[str], None]]:
    """Tell the function that it gives of each step; what is over sooner than `first` seconds says nothing in a pipe."""
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
        return
    at, over = [""], threading.Event()

    def tick() -> None:
        """A step may take longer than that, so it is said again: whoever looks sees that it is not stuck elsewhere."""
        wait = first
        while not over.wait(wait):
            wait = every
            if at[0]:
                console.print(at[0], markup=False, soft_wrap=True)

    ticker = threading.Thread(target=tick, name="step", daemon=True)
    ticker.start()
    try:
        yield lambda step: at.__setitem__(0, step)
    finally:
        over.set()
        ticker.join()

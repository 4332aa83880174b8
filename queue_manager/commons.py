"""The slots are common to all databases: each takes a share of the window, for as long as it has work (design §3.2)."""

from __future__ import annotations

import threading
from collections.abc import Mapping


class Commons:
    """What the dispatchers of one queue manager, each in a thread, tell one another: how many tasks they want out.

    Where several queue managers are active, each for another database, they do not know of one another: then each
    database's window is what it would be alone, and more messages wait at the broker, which the slots empty in turn.
    """

    def __init__(self) -> None:
        self._wants: dict[str, int] = {}
        self._lock = threading.Lock()

    def share(self, database: str, want: int, window: int) -> int:
        """How many of a window of tasks this database may have out, when it wants `want`, those out included."""
        with self._lock:
            self._wants[database] = want
            return fair_share(database, self._wants, window)

    def forget(self, database: str) -> None:
        """Its dispatcher is gone; it wants nothing until it says so again."""
        with self._lock:
            self._wants.pop(database, None)


def fair_share(name: str, wants: Mapping[str, int], window: int) -> int:
    """The part of `window` that falls to `name`: nobody gets more than it wants, and what one leaves is divided
    among the others equally. Each that wants anything gets at least 1, and what does not divide goes by name."""
    left = window
    waiting = sorted((want, other) for other, want in wants.items() if want > 0)
    for number, (want, other) in enumerate(waiting):
        part = max(1, min(want, -(-left // (len(waiting) - number))))
        if other == name:
            return part if window > 0 else 0
        left = max(0, left - part)
    return 0

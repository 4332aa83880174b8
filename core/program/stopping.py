"""A flag that says stop, which a signal handler may set."""

from __future__ import annotations

import queue


class Stop:
    """What `threading.Event` is, for processes that signals end.

    A handler runs in the main thread between two of its instructions. Where that thread is inside `Event.wait` it may
    hold the event's lock, and `Event.set` would wait for it for ever: a process that does not end when it is asked to.
    `SimpleQueue.put` may be called at any point (Python's documentation of `queue`), so what ends a wait is an entry.
    """

    def __init__(self) -> None:
        self._entries: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._set = False

    def set(self) -> None:
        """Say stop; every wait ends, now and from now on."""
        self._set = True
        self._entries.put(None)

    def is_set(self) -> bool:
        """Whether somebody said stop."""
        return self._set

    def wait(self, seconds: float | None = None) -> bool:
        """Until somebody says stop, or for so many seconds; whether somebody did."""
        if not self._set:
            try:
                self._entries.get(timeout=None if seconds is None else max(0.0, seconds))
            except queue.Empty:
                return self._set
            self._entries.put(None)  # for whoever else waits
        return True

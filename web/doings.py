"""What requests are doing that no row of a job, and no errand, tells of yet: no measurement begins beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.errors import UsageError


class Doings:
    """Of one server: jobs that are being created, tags that are being given."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[str] = []

    @contextmanager
    def doing(self, what: str, refuse: Callable[[], None]) -> Iterator[None]:
        """Do it in the block; `refuse` raises where it may not begin, and is asked while nothing else can begin."""
        with self._lock:
            refuse()
            self._all.append(what)
        try:
            yield
        finally:
            with self._lock:
                self._all.remove(what)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing of it is being done, nor begins before the block is left. Raises UsageError where something is."""
        with self._lock:
            if self._all:
                raise UsageError(f"{self._all[0]}: what runs beside a measurement is in its figures; wait for it")
            yield

"""The stations of an emulated filer while a profile's clients use it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.filer.arbiter import Arbiter
from core.filer.emulation import open_arbiter
from core.settings import Settings
from monitoring.observations import EmulatedSampler

_EACH_NS = 1_000_000_000


class FilerMeter:
    """One run after another; use `metered`."""

    def __init__(self, arbiter: Arbiter) -> None:
        self._arbiter = arbiter
        self.begin()

    def begin(self) -> None:
        """A run begins."""
        self._sampler = EmulatedSampler(self._arbiter.snapshot, time.monotonic_ns)
        self._last = time.monotonic_ns()

    def look(self) -> None:
        """Once a second, however often it is called."""
        now = time.monotonic_ns()
        if now - self._last >= _EACH_NS:
            self._last = now
            self._sampler.sample()

    def busy_s(self) -> dict[str, float]:
        """Seconds that each station was busy since it was made, by its servers."""
        stations = self._arbiter.snapshot().stations
        return {name: counts.busy_ns / counts.servers / 1e9 for name, counts in stations.items()}

    def told(self) -> dict[str, Any]:
        """Of the run, at its end."""
        return self._sampler.to_json()


@contextmanager
def metered(settings: Settings) -> Iterator[FilerMeter]:
    """The filer that these settings name, its arbiter there for all clients; gone at the end. Raises UsageError, StorageFault."""
    arbiter = open_arbiter(settings)
    assert arbiter is not None  # the settings name one
    try:
        yield FilerMeter(arbiter)
    finally:
        arbiter.close_and_remove()

"""The emulated filer as the controller sees it: which workers can share it, and its stations' figures during a job."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import UsageError
from core.filer.arbiter import Arbiter
from core.filer.emulation import open_arbiter
from core.filer.model import filer_choice
from core.filer.use import no_common_arbiter
from core.settings import Settings
from monitoring.observations import EmulatedSampler
from sql.session import Database
from sql.workers import WORKERS

SAMPLE_SECONDS = 1.0


def refuse_no_common_arbiter(databases: Sequence[Database], settings: Settings, *, ours: bool) -> None:
    """Raise UsageError if the live workers have no arbiter in common; with `ours` there is nothing to check."""
    if ours or settings.filer == "none":
        return
    for database in databases:
        with database.transaction() as conn:
            hosts = WORKERS.live_hosts(conn)
        if reason := no_common_arbiter(database.name, hosts, settings.filer_arbiter):
            raise UsageError(f"--filer: {reason}", field="filer")


class FilerWatch:
    """Counts of the stations between the watch's start and its end."""

    def __init__(self, settings: Settings) -> None:
        self.began = time.time()
        self._choice = filer_choice(settings.filer)
        self._arbiter: Arbiter | None = open_arbiter(settings)
        self._over = threading.Event()
        self._sampler: EmulatedSampler | None = None
        self._thread: threading.Thread | None = None
        if self._arbiter is not None:
            self._sampler = EmulatedSampler(self._arbiter.snapshot, time.monotonic_ns)
            self._thread = threading.Thread(target=self._watch, args=(self._sampler,), name="filer", daemon=True)
            self._thread.start()

    def _watch(self, sampler: EmulatedSampler) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            sampler.sample()

    def figures(self) -> dict[str, Any]:
        """Return `filer` for a result, up to now: stations over the time in which there were calls, and the series."""
        if self._sampler is None:
            return {}
        return {"filer": {"name": self._choice.name, "scale": self._choice.scale} | self._sampler.to_json()}

    def close(self) -> None:
        """Stop watching; the arbiter is removed if no other process uses it."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._arbiter is not None:
            self._arbiter.close_and_remove()
            self._arbiter = None


@contextmanager
def watched_filer(settings: Settings) -> Iterator[FilerWatch]:
    """Watch the emulated filer of these settings, if any, while the block lasts. Raises UsageError, StorageFault."""
    watch = FilerWatch(settings)
    try:
        yield watch
    finally:
        watch.close()

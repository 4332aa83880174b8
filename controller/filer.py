"""The emulated filer as the controller sees it: which workers can share it, and its stations' figures during a job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import UsageError
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
        hosts = database.ask(WORKERS.live_hosts)
        if reason := no_common_arbiter(database.name, hosts, settings.filer_arbiter):
            raise UsageError(f"--filer: {reason}", field="filer")


@contextmanager
def watched_filer(settings: Settings) -> Iterator[Callable[[], dict[str, Any]]]:
    """Watch the emulated filer of these settings, if any, while the block lasts. Yield a function that returns `filer`
    for a result, up to now: stations over the time in which there were calls, and the series. The arbiter is removed
    if no other process uses it. Raises UsageError, StorageFault."""
    choice, arbiter = filer_choice(settings.filer), open_arbiter(settings)
    if arbiter is None:
        yield dict
        return
    over, sampler = threading.Event(), EmulatedSampler(arbiter.snapshot, time.monotonic_ns)

    def watch() -> None:
        while not over.wait(SAMPLE_SECONDS):
            sampler.sample()

    thread = threading.Thread(target=watch, name="filer", daemon=True)
    thread.start()
    try:
        yield lambda: {"filer": {"name": choice.name, "scale": choice.scale} | sampler.to_json()}
    finally:
        over.set()
        thread.join()
        arbiter.close_and_remove()

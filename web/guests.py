"""Runners of servers that start no workers."""

from __future__ import annotations

import logging
import threading
import uuid
from contextlib import AbstractContextManager, nullcontext

from controller.databases import Jobs
from controller.jobs.create import clean_copies
from controller.jobs.run import wait_all
from core.clock import Clock
from core.errors import EdbenchError, UsageError
from core.operations import NullRecorder
from core.settings import Settings
from core.storage.layer import Storage

log = logging.getLogger("web.guests")


class OthersWork:
    """Other processes run the workers (Compose), which take up every job."""

    creating = True

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def room(self) -> int:
        """0: no workers are started here."""
        return 0

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Nothing is reserved."""
        return nullcontext()

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Remove the copies of a group's source when its jobs have ended."""
        if jobs.copied:
            threading.Thread(target=self._clean, args=(jobs,), name=f"group {jobs.id}", daemon=True).start()

    def _clean(self, group: Jobs) -> None:
        try:
            for _ in wait_all(group.each, self._clock, check=lambda: None, say=log.warning):
                pass
            clean_copies(group, Storage(NullRecorder()), self._settings.storage)
        except EdbenchError as error:  # deleting the group removes the copies too
            log.warning("copies of group %s: %s", group.id, error)

    def tends(self, identity: uuid.UUID) -> bool:
        """True: no command owns the workers."""
        return True

    def problem(self, identity: uuid.UUID) -> str | None:
        """None: no workers are started here."""
        return None


class BesideCommand:
    """The web UI belongs to a command that runs its own job, and ends with it."""

    creating = False

    def room(self) -> int:
        """0."""
        return 0

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Raises UsageError always."""
        raise UsageError(
            "this web UI belongs to a running command and ends with it; use `edbench serve` to create and resume jobs"
        )

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Never called: `reserved` raises."""

    def tends(self, identity: uuid.UUID) -> bool:
        """True: the command runs the job."""
        return True

    def problem(self, identity: uuid.UUID) -> str | None:
        """None: the command prints its problems."""
        return None

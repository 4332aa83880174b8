"""Runners of servers that start no workers themselves."""

from __future__ import annotations

import logging
import threading
import uuid
from contextlib import AbstractContextManager, nullcontext

from controller.databases import Jobs
from controller.jobs.groups.create import clean_copies
from controller.jobs.monitor import wait_all
from core.clock import Clock
from core.errors import EdbenchError, UsageError
from core.operations import NullRecorder
from core.settings import Settings
from core.storage.layer import Storage

log = logging.getLogger("web.guests")


class OthersWork:
    """Workers are others' to run (Compose): a job that is there gets done."""

    creating = True

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def room(self) -> int:
        """None are started here."""
        return 0

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Nothing to refuse, and nothing to keep."""
        return nullcontext()

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Only see to the copies of a group's source, which go when its jobs are over."""
        if jobs.copied:
            threading.Thread(target=self._clean, args=(jobs,), name=f"group {jobs.id}", daemon=True).start()

    def _clean(self, group: Jobs) -> None:
        try:
            for _ in wait_all(group.each, self._clock, check=lambda: None, say=log.warning):
                pass
            clean_copies(group, Storage(NullRecorder()), self._settings.storage)
        except EdbenchError as error:  # deleting the group removes them too
            log.warning("copies of group %s: %s", group.id, error)

    def tends(self, identity: uuid.UUID) -> bool:
        """Nobody's command can be killed here."""
        return True

    def problem(self, identity: uuid.UUID) -> str | None:
        """Nothing is brought, so nothing goes wrong."""
        return None


class BesideCommand:
    """The page stands beside a command that has its own job, and ends with it."""

    creating = False

    def room(self) -> int:
        """None."""
        return 0

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Raises UsageError always."""
        raise UsageError("this page belongs to a command and ends with it; `edbench serve` creates and resumes jobs")

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Never reached: everything was refused."""

    def tends(self, identity: uuid.UUID) -> bool:
        """What runs is the command's."""
        return True

    def problem(self, identity: uuid.UUID) -> str | None:
        """The command says it on its terminal."""
        return None

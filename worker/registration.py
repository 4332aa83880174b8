"""A worker's entry in the table `worker`: it lives, and how hard it works (design §4, "Is it the storage?")."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from monitoring.filer.boot import boot_id
from sql import workers
from sql.session import Database
from worker.processes import RunQueueMeter, process_use

SEEN_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerIdentity:
    """Who this worker is; the same in every database."""

    name: str
    incarnation: uuid.UUID
    pid: int  # of the supervisor
    slots: int

    def register(self, database: Database) -> None:
        """Enter it. Raises DatabaseFault."""
        with database.transaction() as conn:
            workers.register(
                conn,
                incarnation=self.incarnation,
                name=self.name,
                host=socket.gethostname(),
                pid=self.pid,
                boot_id=boot_id(),
                slots=self.slots,
                version=_version(),
            )


def _version() -> str:
    try:
        return version("edbench")
    except PackageNotFoundError:
        return "unknown"  # run from a checkout that was not installed


@dataclass(frozen=True, slots=True)
class Used:
    """What a worker's processes have used so far, and hold."""

    cpu_s: float
    run_queue_s: float  # waiting for a processor
    rss_bytes: int  # pages that processes share count for each


class Effort:
    """What a worker's processes use: its supervisor, the caller, and the slots. Safe for several threads."""

    def __init__(self, supervisor: int) -> None:
        self._supervisor = supervisor
        self._waits = RunQueueMeter()
        self._lock = threading.Lock()
        self._latest = Used(0.0, 0.0, 0)
        self._at = float("-inf")

    def look(self, slots: Sequence[int], *, within: float = 0.0) -> Used:
        """What they use now, or what was found at most `within` seconds ago; the supervisor's count holds the slots
        that are gone."""
        us = os.getpid()
        with self._lock:
            now = time.monotonic()
            if now - self._at > within:
                supervisor = process_use(self._supervisor, with_children=True)
                found = [supervisor, *(process_use(pid) for pid in (us, *slots))]
                waits = self._waits.look((self._supervisor, us, *slots))
                self._latest = Used(sum(use.cpu_s for use in found), waits, sum(use.rss_bytes for use in found))
                self._at = now
            return self._latest

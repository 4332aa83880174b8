"""A worker's entry in the table `worker`: it lives, and how hard it works (design §4, "Is it the storage?")."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from monitoring.filer.boot import boot_id
from sql import workers
from sql.session import Database
from worker.processes import RunQueueMeter, children_of, process_use

SEEN_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerIdentity:
    """Who this worker is; the same in every database."""

    name: str
    incarnation: uuid.UUID
    pid: int  # of the supervisor
    slots: int
    box: str = ""  # what its boxes lack, for people (worker.box.probe); empty: nothing

    def register(self, database: Database) -> None:
        """Enter it, durably: it is done once, and a worker without its row gets no tasks. Raises DatabaseFault."""
        with database.transaction(durable=True) as conn:
            workers.register(
                conn,
                incarnation=self.incarnation,
                name=self.name,
                host=socket.gethostname(),
                pid=self.pid,
                boot_id=boot_id(),
                slots=self.slots,
                version=_version(),
                box=self.box,
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
    waits: Mapping[int, float] = field(default_factory=dict)  # of it `run_queue_s` by process


class Effort:
    """What a worker's processes use: its supervisor, the caller, the slots, and the nursery with their boxes
    (worker.box). Safe for several threads."""

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
                nurseries = [pid for pid in children_of(self._supervisor) if pid != us and pid not in slots]
                boxes = [box for pid in nurseries for box in children_of(pid)]
                parents, others = (self._supervisor, *nurseries), (us, *slots, *boxes)
                uses = [process_use(pid, with_children=True) for pid in parents]
                uses += [process_use(pid) for pid in others]
                waits = self._waits.look((*parents, *others))
                self._latest = Used(
                    sum(use.cpu_s for use in uses), waits, sum(use.rss_bytes for use in uses), self._waits.of
                )
                self._at = now
            return self._latest

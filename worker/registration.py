"""A worker's entry in the table `worker`: it lives, and how hard it works (design §4, "Is it the storage?")."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sql import workers
from sql.session import Database
from worker.processes import RunQueueMeter, cpu_seconds

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
                boot_id=_boot_id(),
                slots=self.slots,
                version=_version(),
            )


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _version() -> str:
    try:
        return version("edbench")
    except PackageNotFoundError:
        return "unknown"  # run from a checkout that was not installed


class Effort:
    """Processor and run-queue seconds of a worker's processes: its supervisor, the caller, and the slots."""

    def __init__(self, supervisor: int) -> None:
        self._supervisor = supervisor
        self._waits = RunQueueMeter()

    def look(self, slots: Sequence[int]) -> tuple[float, float]:
        """(processor, run-queue) seconds so far; the supervisor's count holds the slots that are gone."""
        us = os.getpid()
        cpu = cpu_seconds(self._supervisor, with_children=True) + sum(cpu_seconds(pid) for pid in (us, *slots))
        return cpu, self._waits.look((self._supervisor, us, *slots))

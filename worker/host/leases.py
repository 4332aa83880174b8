"""Leases: a task stays with its slot while the slot lives and is not stopped (design §3.8)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import UsageError
from core.records import JobOptions
from sql import ledger
from sql.jobs import get_job
from sql.session import Database
from worker.slots.table import SlotRow

_RENEWALS = 3  # in the time of one lease
_JOBS_REMEMBERED = 256


@dataclass(slots=True)
class _Held:
    job: uuid.UUID
    due: float  # monotonic seconds


class LeaseKeeper:
    """Renews the leases of one worker's slots in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[tuple[uuid.UUID, uuid.UUID], _Held] = {}
        self._seconds: dict[uuid.UUID, float] = {}

    def renew(self, rows: Iterable[SlotRow], now: float) -> set[tuple[uuid.UUID, uuid.UUID]]:
        """Renew what is due at monotonic `now`, given the rows of the slots that run; the (task, token) pairs of those
        that lost their task.

        A claim comes with a whole lease, so the first renewal is a third of it later. Raises DatabaseFault; what
        was due then stays due.
        """
        claims = {
            (row.at.task, row.at.token): row.at.job
            for row in rows
            if row.at is not None and not row.given_up and row.at.database == self._database.name
        }
        self._held = {pair: held for pair, held in self._held.items() if pair in claims}
        for pair, job in claims.items():
            if pair not in self._held:
                self._held[pair] = _Held(job, now + self._lease(job) / _RENEWALS)
        due = [pair for pair, held in self._held.items() if held.due <= now]
        if not due:
            return set()
        with self._database.transaction() as conn:
            ours = ledger.renew(conn, due)
        for pair in due:
            held = self._held[pair]
            held.due = now + self._lease(held.job) / _RENEWALS
        return set(due) - ours

    def _lease(self, job: uuid.UUID) -> float:
        seconds = self._seconds.get(job)
        if seconds is None:
            try:
                with self._database.transaction() as conn:
                    seconds = get_job(conn, job).options.lease_seconds
            except UsageError:
                seconds = JobOptions().lease_seconds  # deleted under our feet: nothing will be renewed
            if len(self._seconds) >= _JOBS_REMEMBERED:
                self._seconds.clear()
            self._seconds[job] = seconds
        return seconds

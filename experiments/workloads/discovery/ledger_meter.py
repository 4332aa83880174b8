"""Counters of workers that run elsewhere, from what they report to the ledger every two seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping

from monitoring.processes import host_seconds
from sql.faces.runs import RUNS
from sql.session import Database
from sql.workers import LIVE_SECONDS


class LedgerMeter:
    """A `Meter` over the table `worker` of one database, in which every worker of a run has its rows.

    The counters are as old as the workers' last reports, so the moment that goes with them is the mean of those.
    """

    def __init__(self, database: Database, *, same_host: bool) -> None:
        self._database = Database(database.name, database.url, application="edbench-sampler", pool_size=1)
        self._same_host = same_host
        self._last = (0.0, 0.0, 0.0)
        self._seen = 0.0

    def workers(self) -> tuple[float, float, float]:
        with self._database.transaction() as conn:
            row = RUNS.workers_effort(conn, seconds=LIVE_SECONDS)
        if row.seen > self._seen:  # else nobody has reported since
            self._seen = row.seen
            self._last = (max(self._last[0], time.time() - (row.now - row.seen)), row.cpu, row.waited)
        return self._last

    def host(self) -> tuple[float, float] | None:
        return host_seconds() if self._same_host else None

    def serving(self) -> Mapping[str, float]:
        """Servers report nothing to the ledger; what their containers used is known at the end."""
        return {}

    def close(self) -> None:
        self._database.dispose()

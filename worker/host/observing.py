"""The observation of a worker by itself: how busy its slots are, and what they take of the host."""

from __future__ import annotations

import os

from core.memory import client_memory
from monitoring.filer.boot import short_boot_id
from monitoring.metrics.buckets import WORDS
from monitoring.metrics.tally import BUSY, summed, transactions_at
from monitoring.observations import WORKER, Observation
from worker.host.registration import Effort
from worker.slots.table import SlotTable


class WorkerSampler:
    """All slots of the worker together."""

    def __init__(self, name: str, table: SlotTable, effort: Effort) -> None:
        self._name = name
        self._table = table
        self._effort = effort
        self._tallies = [table.tally(slot) for slot in range(table.slots)]
        self._host = {
            "host": short_boot_id(),
            "processors": len(os.sched_getaffinity(0)),
            "memory_bytes": client_memory(),
        }

    def sample(self) -> list[Observation]:
        """Seconds are cumulative: on a processor, waiting for one, of slots in a task, in transactions by database."""
        rows = self._table.read_all()
        used = self._effort.look([row.pid for row in rows if row.pid])
        words = summed(self._tallies)
        sums = {name: words[transactions_at(n) + WORDS - 1] / 1e9 for n, name in enumerate(self._table.databases)}
        values = {
            "cpu_s": round(used.cpu_s, 3),
            "run_queue_s": round(used.run_queue_s, 4),
            "rss_bytes": used.rss_bytes,
            "slots": self._table.slots,
            "busy_slots": sum(1 for row in rows if row.at is not None),
            "busy_s": round(sum(words[at] for at in BUSY.values()) / 1e9, 4),
            "database_s": {name: round(seconds, 4) for name, seconds in sums.items()},
        }
        return [Observation(WORKER, self._name, values | self._host)]

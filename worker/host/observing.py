"""The observation of a worker by itself: how busy its slots are, and what they take of the host."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence

from core.filer.emulation import OCTAVES
from core.memory import client_memory, machine_memory
from core.operations import Op
from monitoring.filer.boot import short_boot_id
from monitoring.metrics.buckets import WORDS
from monitoring.metrics.tally import BUSY, SERVED, added, transactions_at
from monitoring.observations import WORKER, Observation
from monitoring.processes import processors, usable_processors
from worker.host.registration import Effort
from worker.processes import cpu_time
from worker.slots.table import SlotTable


class WorkerSampler:
    """All slots of the worker together."""

    def __init__(self, name: str, table: SlotTable, effort: Effort, *, filer: bool = False) -> None:
        """`filer`: whether one is emulated."""
        self._filer = filer
        self._name = name
        self._table = table
        self._effort = effort
        self._waits = [
            (0, 0.0, 0.0)
        ] * table.slots  # of each slot: its process, what that waited, what those before did
        self._tallies = [table.tally(slot) for slot in range(table.slots)]
        self._cpus = os.sched_getaffinity(0)
        self._host = {
            "host": short_boot_id(),
            "host_name": socket.gethostname(),
            "processors": usable_processors(),
            "machine_processors": processors(),
            "memory_bytes": client_memory(),
            "machine_memory_bytes": machine_memory(),
        }

    def sample(self) -> list[Observation]:
        """Seconds are cumulative: on a CPU, waiting for one, of slots in a task, in transactions by database; of all programs
        on the CPUs that the worker may use (`host_used_s`, and `host_stolen_s` by the hypervisor); of each slot waiting for a
        CPU, and of its calls of an emulated filer in queues and beyond their booked end. Calls that were mostly beyond it
        are counted by op and octave (`core.filer.emulation.octave`)."""
        rows = self._table.read_all()
        used = self._effort.look([row.pid for row in rows if row.pid])
        by_slot = [tally.read() for tally in self._tallies]
        words = added(by_slot)
        sums = {name: words[transactions_at(n) + WORDS - 1] / 1e9 for n, name in enumerate(self._table.databases)}
        values = {
            "cpu_s": round(used.cpu_s, 3),
            "run_queue_s": round(used.run_queue_s, 4),
            "rss_bytes": used.rss_bytes,
            "slots": self._table.slots,
            "busy_slots": sum(1 for row in rows if row.at is not None),
            "busy_s": round(sum(words[at] for at in BUSY.values()) / 1e9, 4),
            "database_s": {name: round(seconds, 4) for name, seconds in sums.items()},
            "slot_wait_s": self._slot_waits([row.pid for row in rows], used.waits),
        }
        if (cpu := cpu_time(self._cpus)) is not None:
            values |= {"host_used_s": round(cpu.used_s, 2), "host_stolen_s": round(cpu.stolen_s, 2)}
        if self._filer:
            for place, name in enumerate(("slot_queued_s", "slot_over_s"), SERVED):
                values[name] = [round(of[place] / 1e9, 4) for of in by_slot]
            values["mostly_over"] = _mostly_over(words)
        return [Observation(WORKER, self._name, values | self._host)]

    def _slot_waits(self, pids: Sequence[int], waits: Mapping[int, float]) -> list[float]:
        """Of each slot, over all processes that it has had; what one waited after the last look at it is lost."""
        for slot, pid in enumerate(pids):
            before, waited, earlier = self._waits[slot]
            if pid != before:
                waited, earlier = 0.0, earlier + waited
            self._waits[slot] = (pid, max(waited, waits.get(pid, 0.0)), earlier)
        return [round(waited + earlier, 4) for _, waited, earlier in self._waits]


def _mostly_over(words: Sequence[int]) -> dict[str, dict[str, int]]:
    """Op label → octave → calls, where there are any."""
    out: dict[str, dict[str, int]] = {}
    for op in Op:
        begin = SERVED + 2 + op * OCTAVES
        counts = {str(octave): n for octave, n in enumerate(words[begin : begin + OCTAVES]) if n}
        if counts:
            out[op.label] = counts
    return out

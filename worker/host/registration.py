"""Entry of a worker in the table `worker`: that it is alive, and how busy it is (design §4, "Is it the storage?")."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping, Sequence

from core.errors import DatabaseFault, StorageFault, UsageError
from core.filer.emulation import mostly_over
from core.filer.use import no_common_arbiter
from core.services.shared_storage import Identity, identify
from core.settings import Settings
from monitoring.block import boot_id, short_boot_id
from monitoring.machine import client_memory, machine_memory, processors, usable_processors
from monitoring.metrics import WORDS
from monitoring.observations import WORKER, Observation
from monitoring.processes import RunQueueMeter, cpu_time, process_use
from monitoring.tally import BUSY, SERVED, CallCounters, added, transactions_at
from sql.migrate import schema_refusal
from sql.session import Database
from sql.workers import WORKERS
from worker.slots.table import SlotTable

log = logging.getLogger(__name__)


def refuse_strange_host(settings: Settings) -> None:
    """Raise UsageError if live workers of a database emulate a filer on another host than this one, StorageFault if the
    controller of the system noted another storage than this process has at the same path, and DatabaseFault or
    UsageError if a database does not have the schema of this version.

    Call it before anything is forked. A database that does not answer now is skipped: jobs check again when they are
    created."""
    own = (socket.gethostname(), boot_id())
    for address in settings.databases:
        database = Database(address.name, address.url)
        try:
            with database.transaction() as conn:
                if (refused := schema_refusal(conn, address.name)) is None:
                    hosts = WORKERS.live_hosts(conn) if settings.filer != "none" else []
                    noted = WORKERS.noted_storage(conn, path=str(settings.storage))
        except DatabaseFault as error:  # away
            log.warning(
                "cannot check whether the other workers of %s use the same storage and filer: %s", address.name, error
            )
            continue
        finally:
            database.dispose()
        if refused is not None:
            raise refused
        if noted is not None:
            _refuse_other_storage(settings, noted)
        if settings.filer != "none" and (
            reason := no_common_arbiter(address.name, {*hosts, own}, settings.filer_arbiter)
        ):
            raise UsageError(f"EDBENCH_FILER is {settings.filer}: {reason}")


def _refuse_other_storage(settings: Settings, controllers: Identity) -> None:
    ours = identify(settings.storage, mark=False)
    if differs := controllers.differs(ours):
        raise StorageFault(
            f"EDBENCH_STORAGE {settings.storage} is not the same storage here as on the controller: {differs}; "
            f"mount the controller's ({controllers.kind} from {controllers.source}) at this path, and start this "
            "worker again"
        )


SEEN_SECONDS = 2.0


class Effort:
    """CPU time, waits and memory of a worker's processes so far: its supervisor, the caller, the slots with the programs
    that they run, and their sandboxes (worker.sandbox), which are children of a fork server that several workers
    share."""

    def __init__(self, supervisor: int, tallies: Sequence[CallCounters]) -> None:
        self._supervisor = supervisor
        self._tallies = tallies
        self._cpu_s: dict[int, float] = {}  # of each process so far, those that have ended included
        self._queue = RunQueueMeter()
        self.rss_bytes = 0  # pages that processes share count for each
        self.run_queue_s = 0.0  # waiting for a CPU

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())

    @property
    def waits(self) -> Mapping[int, float]:
        """`run_queue_s` by process."""
        return self._queue.of

    def look(self, slots: Sequence[int]) -> None:
        """Read what the processes have used now. What a process used after the last look before its end is missed."""
        sandboxes = (pid for tally in self._tallies if (pid := tally.sandbox))
        processes = (self._supervisor, os.getpid(), *slots, *sandboxes)
        self.rss_bytes = 0
        for pid in processes:
            use = process_use(pid, with_children=pid != self._supervisor)  # whose children are the slots
            self._cpu_s[pid] = max(use.cpu_s, self._cpu_s.get(pid, 0.0))
            self.rss_bytes += use.rss_bytes
        self.run_queue_s = self._queue.look(processes)


class WorkerSampler:
    """Observes all slots of the worker together."""

    def __init__(self, name: str, supervisor: int, table: SlotTable, *, filer: bool = False) -> None:
        """`supervisor`: its process; `filer`: whether one is emulated."""
        self._filer = filer
        self._name = name
        self._table = table
        self._waits = [
            (0, 0.0, 0.0)
        ] * table.slots  # for each slot: its process, its waits, the waits of earlier processes
        self._tallies = [table.tally(slot) for slot in range(table.slots)]
        self._effort = Effort(supervisor, self._tallies)
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
        """Return the worker's observation. Seconds are cumulative: on a CPU, waiting for one, of slots in a task, in
        transactions by database; of all programs on the CPUs that the worker may use (`host_used_s`, and
        `host_stolen_s` by the hypervisor); of each slot waiting for a CPU, and of its calls of an emulated filer in
        queues and beyond their booked end. Calls that were mostly beyond it are counted by op and octave
        (`core.filer.emulation.octave`)."""
        rows = self._table.read_all()
        used = self._effort
        used.look([row.pid for row in rows if row.pid])
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
            values["mostly_over"] = mostly_over(words[SERVED:])
        return [Observation(WORKER, self._name, values | self._host)]

    def _slot_waits(self, pids: Sequence[int], waits: Mapping[int, float]) -> list[float]:
        """Return the seconds that each slot waited in all its processes; what one waited after the last look is
        lost."""
        for slot, pid in enumerate(pids):
            before, waited, earlier = self._waits[slot]
            if pid != before:
                waited, earlier = 0.0, earlier + waited
            self._waits[slot] = (pid, max(waited, waits.get(pid, 0.0)), earlier)
        return [round(waited + earlier, 4) for _, waited, earlier in self._waits]

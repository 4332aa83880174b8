"""What a member counts while its workers work for a run: CPU, memory, network, block I/O, and the NFS mount of the storage.

Where the member is the first process of its container, memory and block I/O are those of its control group, else those of its
processes; no engine is asked.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from core.crew.messages import Meters, Used
from monitoring.block_io import BlockIo, of_group, of_processes
from monitoring.filer.wire import WireSampler
from monitoring.processes import WorkerMeter, below, host_seconds, usable_processors

_LOOPBACK = "lo"
_MEMORY = (
    (Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory.stat")),
    (Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"), Path("/sys/fs/cgroup/memory/memory.stat")),
)


class MemberMeter:
    """From its making to `read`; `look` once a second in between, for peaks and for processes that end."""

    def __init__(self, storage: Path, crowd: int) -> None:
        """`crowd`: the process whose descendants the workers are."""
        self._crowd = crowd
        self._contained = crowd == 1
        self._wire = WireSampler(storage)
        self._workers = WorkerMeter(crowd, but=(os.getpid(),))
        self._began = time.monotonic()
        self._busy = host_seconds()[0]
        self._net, self._nfs, self._block = _network(), self._mounted(), self._block_io()
        self._least = psutil.virtual_memory().available
        self._peak = 0
        self._cpu = self._workers.read()
        self.used = Used(at=time.time())

    def look(self) -> None:
        """Costs some milliseconds."""
        self._least = min(self._least, psutil.virtual_memory().available)
        self._peak = max(self._peak, self._memory())
        cpu, waited = self._workers.read()
        self.used = Used(at=time.time(), cpu_s=cpu - self._cpu[0], waited_s=waited - self._cpu[1])

    def read(self) -> Meters:
        """Everything up to now."""
        self.look()
        received, sent = _network()
        block = self._block_io()
        moved = (None, None) if block is None or self._block is None else (
            block.read - self._block.read, block.written - self._block.written)  # fmt: skip
        return Meters(
            seconds=round(time.monotonic() - self._began, 3),
            processors=usable_processors(),
            busy_s=round(host_seconds()[0] - self._busy, 2),
            workers_cpu_s=round(self.used.cpu_s, 3),
            workers_waited_s=round(self.used.waited_s, 3),
            memory_peak_bytes=self._peak,
            least_available_bytes=self._least,
            received_bytes=received - self._net[0],
            sent_bytes=sent - self._net[1],
            block_read_bytes=moved[0],
            block_write_bytes=moved[1],
            block_source=None if block is None else block.source,
            nfs={name: count - self._nfs.get(name, 0) for name, count in self._mounted().items()},
        )

    def _pids(self) -> Sequence[int]:
        own = os.getpid()
        return [pid for pid in below(self._crowd) if pid != own]

    def _memory(self) -> int:
        if self._contained:
            for current, stat in _MEMORY:
                with contextlib.suppress(OSError, ValueError):
                    fields = dict(line.split() for line in stat.read_text().splitlines())
                    cache = int(fields.get("inactive_file") or fields.get("total_inactive_file") or 0)
                    return max(0, int(current.read_text()) - cache)
        total = 0
        for pid in self._pids():
            with contextlib.suppress(psutil.Error):
                memory = psutil.Process(pid).memory_info()
                total += memory.rss - memory.shared
        return total

    def _block_io(self) -> BlockIo | None:
        return (of_group() if self._contained else None) or of_processes([self._crowd, *self._pids()])

    def _mounted(self) -> dict[str, int]:
        seen: list[Mapping[str, Any]] = [one.values for one in self._wire.sample() if one.values["storage"]]
        if not seen:
            return {}
        ops = sum(int(counts["ops"]) for counts in seen[0]["ops"].values())
        return {"ops": ops, "read_bytes": seen[0]["read_bytes"], "write_bytes": seen[0]["write_bytes"]}


def _network() -> tuple[int, int]:
    counted = [one for name, one in psutil.net_io_counters(pernic=True).items() if name != _LOOPBACK]
    return sum(one.bytes_recv for one in counted), sum(one.bytes_sent for one in counted)

"""What a host's kernel counts while its workers work: processors, memory, network, and the NFS mount of the storage."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from experiments.hosts.messages import Meters
from monitoring.filer.wire import WireSampler
from monitoring.processes import WorkerMeter, host_seconds, processors

_LOOPBACK = "lo"


class HostMeter:
    """From its making to `read`; `look` in between, for what is a least and for workers that end."""

    def __init__(self, storage: Path) -> None:
        self._wire = WireSampler(storage)
        self._workers = WorkerMeter(os.getpid())
        self._began = time.monotonic()
        self._busy = host_seconds()[0]
        self._net, self._nfs = _network(), self._mounted()
        self._least = psutil.virtual_memory().available
        self._used = (0.0, 0.0)

    def look(self) -> None:
        """Costs some milliseconds."""
        self._least = min(self._least, psutil.virtual_memory().available)
        self._used = self._workers.read()

    def read(self) -> Meters:
        """Everything up to now."""
        self.look()
        received, sent = _network()
        mounted = self._mounted()
        return Meters(
            seconds=round(time.monotonic() - self._began, 3),
            processors=processors(),
            busy_s=round(host_seconds()[0] - self._busy, 2),
            workers_cpu_s=round(self._used[0], 3),
            workers_waited_s=round(self._used[1], 3),
            least_available_bytes=self._least,
            received_bytes=received - self._net[0],
            sent_bytes=sent - self._net[1],
            nfs={name: count - self._nfs.get(name, 0) for name, count in mounted.items()},
        )

    def _mounted(self) -> dict[str, int]:
        seen: list[Mapping[str, Any]] = [one.values for one in self._wire.sample() if one.values["storage"]]
        if not seen:
            return {}
        ops = sum(int(counts["ops"]) for counts in seen[0]["ops"].values())
        return {"ops": ops, "read_bytes": seen[0]["read_bytes"], "write_bytes": seen[0]["write_bytes"]}


def _network() -> tuple[int, int]:
    counted = [one for name, one in psutil.net_io_counters(pernic=True).items() if name != _LOOPBACK]
    return sum(one.bytes_recv for one in counted), sum(one.bytes_sent for one in counted)

"""What each container used while something ran: processor, memory, block I/O, network."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from docker.errors import DockerException
from docker.models.containers import Container
from requests import RequestException

from controller.cluster.block_io import block_io
from controller.cluster.containers import service_of
from core.errors import SystemFault

SAMPLE_SECONDS = 2.0
_PARALLEL = 8
COUNTERS = ("cpu_s", "block_read_bytes", "block_write_bytes", "network_received_bytes", "network_sent_bytes")

Reading = Mapping[str, float]


def reading_of(stats: Mapping[str, Any]) -> dict[str, float]:
    """The counters and the memory of one answer of the engine's `stats`; what it does not tell is 0."""
    block = {"read": 0, "write": 0}
    entries = (stats.get("blkio_stats") or {}).get("io_service_bytes_recursive") or ()
    for entry in entries:
        name = str(entry.get("op", "")).lower()
        if name in block:
            block[name] += int(entry["value"])
    memory = stats.get("memory_stats") or {}
    detail = memory.get("stats") or {}
    # As `docker stats` shows it: without the page cache that the kernel would give back at once.
    cache = detail.get("inactive_file", detail.get("total_inactive_file", 0))
    networks = (stats.get("networks") or {}).values()
    return {
        "cpu_s": ((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage", 0) / 1e9,
        "block_read_bytes": float(block["read"]),
        "block_write_bytes": float(block["write"]),
        "block_told": float(bool(entries)),
        "network_received_bytes": float(sum(n.get("rx_bytes", 0) for n in networks)),
        "network_sent_bytes": float(sum(n.get("tx_bytes", 0) for n in networks)),
        "memory_bytes": float(max(0, memory.get("usage", 0) - cache)),
    }


@dataclass(slots=True)
class ContainerUse:
    """One container's use since it was first looked at; a container that was started again counts on."""

    name: str
    service: str
    used: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0.0))
    memory_peak_bytes: float = 0.0  # of the samples
    block_source: str | None = None  # who told of block I/O; some kernels tell the engine nothing
    latest: Reading | None = None

    def add(self, reading: Reading, block_source: str | None = None) -> None:
        """One more sample; `block_source` where another than the engine told of block I/O."""
        for counter in COUNTERS:
            before = self.latest[counter] if self.latest is not None else reading[counter]
            # Less than before: the container was started again and counts from nothing.
            self.used[counter] += reading[counter] - before if reading[counter] >= before else reading[counter]
        self.memory_peak_bytes = max(self.memory_peak_bytes, reading["memory_bytes"])
        if reading["block_told"]:
            self.block_source = block_source or "engine"
        self.latest = reading

    def to_json(self) -> dict[str, Any]:
        """Plain data: seconds, and whole bytes."""
        whole: dict[str, int | None] = {name: int(value) for name, value in self.used.items() if name != "cpu_s"}
        if self.block_source is None:
            whole |= {"block_read_bytes": None, "block_write_bytes": None}
        return {
            "name": self.name,
            "service": self.service,
            "cpu_s": round(self.used["cpu_s"], 3),
            "memory_peak_bytes": int(self.memory_peak_bytes),
            **whole,
            "block_source": self.block_source,
        }


class StatsSampler:
    """Samples all containers every two seconds in a thread of its own, from `start` to `stop`."""

    def __init__(self, containers: Callable[[], Sequence[Container]]) -> None:
        self._containers = containers
        self._uses: dict[str, ContainerUse] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="container stats", daemon=True)

    def start(self) -> None:
        """Begin from nothing."""
        self.sample()
        self._thread.start()

    def stop(self) -> None:
        """End; what was counted stays."""
        self._stop.set()
        self._thread.join()

    def uses(self) -> list[dict[str, Any]]:
        """Every container's use up to now, by name."""
        self.sample()
        with self._lock:
            return [use.to_json() for _, use in sorted(self._uses.items())]

    def sample(self) -> None:
        """One look at every container that runs; an engine that does not answer is asked again the next time."""
        try:
            running = [c for c in self._containers() if c.status == "running"]
        except SystemFault:
            return
        with ThreadPoolExecutor(_PARALLEL) as pool:
            readings = list(pool.map(_read, running))
        with self._lock:
            for container, reading in zip(running, readings, strict=True):
                if reading is not None:
                    name = str(container.name)
                    self._uses.setdefault(name, ContainerUse(name, service_of(container))).add(*reading)

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self.sample()


def _read(container: Container) -> tuple[dict[str, float], str | None] | None:
    """One sample, and who told of block I/O if not the engine; None when the container went away."""
    with contextlib.suppress(DockerException, RequestException):
        reading = reading_of(container.stats(stream=False, one_shot=True))
        if reading["block_told"]:
            return reading, None
        block = block_io(int(container.attrs["State"]["Pid"]), str(container.id))
        if block is None:
            return reading, None
        counters = {"block_told": 1.0, "block_read_bytes": float(block.read), "block_write_bytes": float(block.written)}
        return reading | counters, block.source
    return None

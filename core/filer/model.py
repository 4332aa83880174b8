"""What an emulated filer is made of; plain numbers, already checked (`core.filer.load`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.operations import Op
from core.records import FilerChoice

STATIONS = ("metadata", "data", "link")
DATA_OPS = frozenset({Op.READ, Op.WRITE, Op.FSYNC})  # every other op is the metadata processor's
MAX_SERVERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """One station of `servers` equal servers with one queue."""

    servers: int
    service_us: Mapping[Op, float]  # of a call, unscaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What a miss of the filer's cache adds to a call; a delay, not a queue. Not divided by the scale factor."""

    read_ms: float = 0.0
    read_miss: float = 0.0  # share of read calls
    write_ms: float = 0.0
    write_miss: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilerModel:
    """One emulated filer. The scale factor k divides its ceilings: k times the service time, 1/k of the link."""

    name: str
    description: str
    scale: float
    metadata: Processor
    data: Processor
    link_bytes_per_s: float  # unscaled; 0: no link is modelled
    disk: Disk
    mix: Mapping[Op, float]  # share of each op in the calls that `ceiling_ops_per_s` is stated for; sums to 1
    source: str  # what a user gives to get it again: a profile's name, or the path of a file

    def service_ns(self, op: Op) -> int:
        """Scaled service time of a call at its processor."""
        processor = self.data if op in DATA_OPS else self.metadata
        return round(processor.service_us[op] * 1000 * self.scale)

    @property
    def link_ns_per_byte(self) -> float:
        """Scaled; 0 where no link is modelled."""
        return 1e9 * self.scale / self.link_bytes_per_s if self.link_bytes_per_s else 0.0

    @property
    def ceiling_ops_per_s(self) -> float:
        """Calls a second that the busier processor allows for calls of `mix`, scaled; infinite at no service time.

        The link is left out: it bounds bytes.
        """
        demand = {False: 0.0, True: 0.0}  # seconds of a server that a call of the mix asks for, on average
        for op, share in self.mix.items():
            demand[op in DATA_OPS] += share * self.service_ns(op) / 1e9
        busiest = max(demand[False] / self.metadata.servers, demand[True] / self.data.servers)
        return 1 / busiest if busiest else float("inf")

    @property
    def choice(self) -> FilerChoice:
        """How a job says that it runs on this one."""
        return FilerChoice(source=self.source, name=self.name, scale=self.scale, digest=self.digest)

    @property
    def digest(self) -> str:
        """Differs for filers that behave differently."""
        return hashlib.sha256(repr(self._numbers()).encode()).hexdigest()[:16]

    def _numbers(self) -> list[Any]:
        services = [self.service_ns(op) for op in Op]
        return [self.metadata.servers, self.data.servers, services, self.link_ns_per_byte, self.disk]

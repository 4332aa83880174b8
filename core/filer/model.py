"""What an emulated filer is made of; plain numbers, already checked (`core.filer.load`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from core.filer.protocol import Ops, Protocol
from core.operations import Op
from core.records import FilerChoice

STATIONS = ("metadata", "data", "link")
DATA_OPS = frozenset({Op.READ, Op.WRITE, Op.FSYNC})  # every other call is the metadata processor's, without a protocol
MAX_SERVERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """One station of `servers` equal servers with one queue."""

    servers: int
    service_us: Mapping[str, float]  # of a filer op by its name, without a protocol of a call by its op's; unscaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What a miss of the filer's cache adds to a call; a delay, not a queue. Not divided by the scale factor."""

    read_ms: float = 0.0
    read_miss: float = 0.0  # share of read calls
    write_ms: float = 0.0
    write_miss: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """What the size of a directory costs."""

    entry_us: float = 0.0  # of the metadata unit, unscaled, to make a name: for each that its directory has


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What lies between a call and the wire. Neither is divided by the scale factor."""

    cache_bytes: int = 0  # of what was read or written last, kept by each client; 0: every read reaches the filer
    reread_us: float = 0.0  # what a read that the cache answers costs
    round_trip_us: float = (
        0.0  # that each metadata op adds to its call, and all its data ops together; a delay, not a queue
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Of a call of the mix that a ceiling is stated for."""

    entries: float = 10.0  # of a listing
    read_bytes: float = 65_536.0
    write_bytes: float = 65_536.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a call asks of one unit: so much, and for each entry of a listing, and for each transfer begun."""

    each: float = 0.0
    entry: float = 0.0
    transfer: float = 0.0

    def of(self, entries: float, transfers: float) -> float:
        return self.each + self.entry * entries + self.transfer * transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """What a call costs at the filer's two units, in scaled nanoseconds of a server, and in filer ops."""

    metadata_ns: Demand
    data_ns: Demand
    metadata_ops: Demand
    data_ops: Demand


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
    mix: Mapping[Op, float]  # share of each op in the calls that ceilings are stated for; sums to 1
    source: str  # what a user gives to get it again: a profile's name, or the path of a file
    protocol: Protocol | None = None  # None: every call is one filer op
    client: Client = field(default_factory=Client)
    sizes: Sizes = field(default_factory=Sizes)
    directory: Directory = field(default_factory=Directory)

    @property
    def stations(self) -> tuple[tuple[str, int], ...]:
        """The name and the number of servers of each station."""
        return tuple(zip(STATIONS, (self.metadata.servers, self.data.servers, 1), strict=True))

    def cost(self, op: Op, *, indexing: bool = False) -> CallCost:
        """Of a call of that op, made in phase index or in any other."""
        if self.protocol is None:
            data = op in DATA_OPS
            one, none = Demand(each=1.0), Demand()
            service = Demand(each=float(self._service_ns(self.data if data else self.metadata, op.label)))
            if data:
                return CallCost(metadata_ns=none, data_ns=service, metadata_ops=none, data_ops=one)
            return CallCost(metadata_ns=service, data_ns=none, metadata_ops=one, data_ops=none)
        found, of_data = self.protocol.calls[op], self.protocol.data
        if indexing:
            found = self.protocol.index_calls.get(op, found)
        parts = (found.each, found.entry, found.transfer)
        return CallCost(
            metadata_ns=self._demand(parts, self.protocol.ops - of_data, self.metadata),
            data_ns=self._demand(parts, of_data, self.data),
            metadata_ops=self._demand(parts, self.protocol.ops - of_data, None),
            data_ops=self._demand(parts, of_data, None),
        )

    def _demand(self, parts: tuple[Ops, Ops, Ops], names: set[str] | frozenset[str], at: Processor | None) -> Demand:
        """Over the filer ops of these names: their nanoseconds `at` a unit, or their number."""
        each, entry, transfer = (
            sum(
                number * (1.0 if at is None else self._service_ns(at, name))
                for name, number in sorted(part.items())
                if name in names
            )
            for part in parts
        )
        return Demand(each=each, entry=entry, transfer=transfer)

    def _service_ns(self, processor: Processor, name: str) -> int:
        return round(processor.service_us[name] * 1000 * self.scale)

    def transfers(self, nbytes: int) -> int:
        """How many transfers a call of so many bytes begins."""
        return 0 if self.protocol is None else self.protocol.transfers(nbytes)

    @property
    def link_ns_per_byte(self) -> float:
        """Scaled; 0 where no link is modelled."""
        return 1e9 * self.scale / self.link_bytes_per_s if self.link_bytes_per_s else 0.0

    @property
    def filer_ops_per_call(self) -> float:
        """Of the mix."""
        return sum(
            share * (self._mean(op, "metadata_ops") + self._mean(op, "data_ops")) for op, share in self.mix.items()
        )

    @property
    def server_ops_per_call(self) -> float | None:
        """Of the mix, by what the server's own counters say of the protocol; None where they were not looked at."""
        if self.protocol is None or not self.protocol.server:
            return None
        every = self.protocol.server
        return sum(
            share * Demand(**{per: sum(getattr(every[op], per).values()) for per in _PARTS}).of(*self._usual(op))
            for op, share in self.mix.items()
        )

    @property
    def ceiling_calls_per_s(self) -> float:
        """Calls a second that the busier unit allows for calls of `mix`, scaled; infinite at no service time.

        The link is left out: it bounds bytes.
        """
        demand = [sum(share * self._mean(op, unit) for op, share in self.mix.items()) / 1e9 for unit in _UNITS]
        busiest = max(demand[0] / self.metadata.servers, demand[1] / self.data.servers)
        return 1 / busiest if busiest else float("inf")

    @property
    def ceiling_filer_ops_per_s(self) -> float:
        """The same in filer ops."""
        return self.ceiling_calls_per_s * self.filer_ops_per_call

    def _mean(self, op: Op, what: str) -> float:
        """Of a call of the mix's sizes."""
        demand: Demand = getattr(self.cost(op), what)
        return demand.of(*self._usual(op))

    def _usual(self, op: Op) -> tuple[float, float]:
        """Entries and transfers: a call begins half a transfer more than its bytes fill, on average."""
        moved = {Op.READ: self.sizes.read_bytes, Op.WRITE: self.sizes.write_bytes}.get(op, 0.0)
        begun = 0.0 if self.protocol is None or not moved else moved / self.protocol.transfer_bytes + 0.5
        return self.sizes.entries, begun

    @property
    def choice(self) -> FilerChoice:
        """How a job says that it runs on this one."""
        return FilerChoice(source=self.source, name=self.name, scale=self.scale, digest=self.digest)

    @property
    def digest(self) -> str:
        """Differs for filers that behave differently."""
        return hashlib.sha256(repr(self._numbers()).encode()).hexdigest()[:16]

    def _numbers(self) -> list[Any]:
        services: list[Any] = [round(sum(self._each(op))) for op in Op]
        found = [self.metadata.servers, self.data.servers, services, self.link_ns_per_byte, self.disk]
        if self.protocol is not None:
            found += [[asdict(self.cost(op)) for op in Op], self.protocol.transfer_bytes]
            found += [asdict(self.cost(op, indexing=True)) for op in sorted(self.protocol.index_calls)]
        more = (one for one, usual in ((self.client, Client()), (self.directory, Directory())) if one != usual)
        return [*found, *more]

    def _each(self, op: Op) -> tuple[float, float]:
        cost = self.cost(op)
        return cost.metadata_ns.each, cost.data_ns.each


_UNITS = ("metadata_ns", "data_ns")
_PARTS = ("each", "entry", "transfer")

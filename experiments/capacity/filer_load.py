"""What a phase's storage calls ask of a filer: seconds at each of its stations, from the filer's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.filer import FilerModel
from core.operations import Op
from core.records import Phase as PhaseName
from experiments.capacity.network import Kind, Station

METADATA, DATA, LINK, DISK = "filer metadata", "filer data", "filer link", "filer disk"
STORAGE = "storage"  # one delay for a filer of which nothing is known but how long its calls took


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """So many calls of one op; means may be broken numbers."""

    calls: float
    bytes: float


def demands(filer: FilerModel, calls: Mapping[Op, Calls], phase: str) -> dict[str, float]:
    """Server seconds by station of calls of a phase, without any waiting; stations that are asked for nothing are left out.

    Every byte is taken to go over the wire: what a client's cache answers depends on who reads what again. A call begins
    half a transfer more than its bytes fill, on average, and a listing has the entries that the filer states.
    """
    disk, protocol = filer.disk, filer.protocol
    out = {METADATA: 0.0, DATA: 0.0, LINK: 0.0, DISK: 0.0}
    for op, each in calls.items():
        cost, entries = filer.cost(op, indexing=phase == PhaseName.INDEX.value), each.calls * filer.sizes.entries
        begun = each.bytes / protocol.transfer_bytes + each.calls / 2 if protocol else 0.0
        metadata, data, metadata_ops, data_ops = (
            asked.each * each.calls + asked.entry * entries + asked.transfer * begun
            for asked in (cost.metadata_ns, cost.data_ns, cost.metadata_ops, cost.data_ops)
        )
        out[METADATA] += metadata / 1e9
        out[DATA] += data / 1e9
        out[LINK] += each.bytes * filer.link_ns_per_byte / 1e9
        out[DISK] += (metadata_ops + min(data_ops, each.calls)) * filer.client.round_trip_us / 1e6
    for op, share, delay_ms in (
        (Op.READ, disk.read_miss, disk.read_ms),
        (Op.WRITE, disk.write_miss, disk.write_ms),
    ):
        out[DISK] += calls[op].calls * share * delay_ms / 1e3 if op in calls else 0.0
    return {name: seconds for name, seconds in out.items() if seconds > 0}


def stations(filer: FilerModel, burst: float) -> tuple[Station, ...]:
    """The filer's own. Its processors serve every call of an op alike; the link has calls of a few bytes and of
    megabytes: `burst` is the squared coefficient of variation of what it is asked for."""
    return (
        Station(name=METADATA, servers=filer.metadata.servers, shape=0),
        Station(name=DATA, servers=filer.data.servers, shape=0),
        Station(name=LINK, shape=1.0 / burst if burst > 0 else 0),
        Station(name=DISK, kind=Kind.DELAY, shape=0),
    )

"""Block-device counters from /proc/diskstats: lines of 14, 18 (discards, since 4.18) or 20 fields (flushes, 5.5)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

SECTOR_BYTES = 512  # the unit of diskstats whatever the device's own sectors are

_FIELDS = 14  # major, minor, name, then eleven counters
_NUMBER = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCounts:
    """One device since the host started; `*_ms` are sums over requests, `busy_ms` is wall time with any in flight.

    `in_flight` is the queue depth at this instant; `weighted_ms` grows by it every millisecond, so that its growth
    over a time, divided by that time, is the mean queue depth.
    """

    reads: int
    read_bytes: int
    read_ms: int
    writes: int
    write_bytes: int
    write_ms: int
    in_flight: int
    busy_ms: int
    weighted_ms: int
    discards: int | None
    flushes: int | None


def parse_diskstats(text: str, devices: Collection[str]) -> dict[str, DiskCounts]:
    """The named devices' counters, by name. Lines that are damaged or too short are left out; raises nothing."""
    out: dict[str, DiskCounts] = {}
    for line in text.split("\n"):
        fields = line.split()
        if len(fields) < _FIELDS or fields[2] not in devices or not all(map(_NUMBER.fullmatch, fields[3:])):
            continue
        out[fields[2]] = _counts([int(field) for field in fields[3:]])
    return out


def _counts(values: list[int]) -> DiskCounts:
    return DiskCounts(
        reads=values[0],
        read_bytes=values[2] * SECTOR_BYTES,
        read_ms=values[3],
        writes=values[4],
        write_bytes=values[6] * SECTOR_BYTES,
        write_ms=values[7],
        in_flight=values[8],
        busy_ms=values[9],
        weighted_ms=values[10],
        discards=values[11] if len(values) >= 15 else None,
        flushes=values[15] if len(values) >= 17 else None,
    )

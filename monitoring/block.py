"""The block devices under the storage root and scratch, as observations once a second."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.mounts import MOUNTINFO, MountEntry, holding, read_mountinfo
from monitoring.observations import BLOCK, Observation

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_SHORT = 8  # characters of it in a source's name


def boot_id(path: Path = BOOT_ID) -> str:
    """The kernel's id since it was started, the same in all its containers; empty where it is not available."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def short_boot_id(path: Path = BOOT_ID) -> str:
    """The beginning of the boot id, as in sources of observations; `unknown` where it is not available."""
    return boot_id(path)[:_SHORT] or "unknown"


SECTOR_BYTES = 512  # the unit of diskstats whatever the device's own sectors are

_FIELDS = 14  # major, minor, name, then eleven counters
_NUMBER = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCounts:
    """One device since the host started; `*_ms` are sums over requests, `busy_ms` is wall time with any in flight.

    `in_flight` is the queue depth at this instant; `weighted_ms` grows by it every millisecond, so that its growth
    over a time, divided by that time, is the mean queue depth."""

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


DISKSTATS = Path("/proc/diskstats")
SYS = Path("/sys")


def device_under(path: str | os.PathLike[str], entries: Sequence[MountEntry], sys: Path = SYS) -> str | None:
    """Name of the whole disk (`sda`, `nvme0n1`, `dm-0`) that stores a path; None for NFS, tmpfs, overlay and the like.

    A partition gives its disk, because that is where the queue is. File systems over several devices (btrfs) have no
    device number of their own kind, so their mount's source counts."""
    mount = holding(os.path.realpath(path), entries)
    if mount is None:
        return None
    if not mount.device.startswith("0:"):
        return _disk(sys / "dev" / "block" / mount.device)
    if mount.source.startswith("/dev/"):
        return _disk(sys / "class" / "block" / os.path.basename(os.path.realpath(mount.source)))
    return None


def _disk(link: Path) -> str | None:
    """The disk behind a device's place in sysfs."""
    place = Path(os.path.realpath(link))
    if not (place / "stat").is_file():
        return None
    return place.parent.name if (place / "partition").is_file() else place.name


class BlockSampler:
    """Counters of the devices under some paths; which ones they are is found once, when it is made."""

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str]],
        *,
        boot: str | None = None,
        diskstats: Path = DISKSTATS,
        mountinfo: Path = MOUNTINFO,
        sys: Path = SYS,
    ) -> None:
        entries = read_mountinfo(mountinfo)
        devices = (device_under(path, entries, sys) for path in paths)
        self.devices = tuple(dict.fromkeys(device for device in devices if device is not None))
        self._boot = short_boot_id() if boot is None else boot
        self._diskstats = diskstats

    def sample(self) -> list[Observation]:
        """The counters now; empty where no block device stores the paths. Raises nothing."""
        if not self.devices:
            return []
        try:
            counters = parse_diskstats(self._diskstats.read_text(errors="replace"), self.devices)
        except OSError:
            return []
        return [
            Observation(BLOCK, f"{self._boot}:{name}", dataclasses.asdict(counters[name]))
            for name in self.devices
            if name in counters
        ]

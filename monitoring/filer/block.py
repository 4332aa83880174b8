"""The block devices under the storage root and scratch, as observations once a second."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.mounts import MOUNTINFO, MountEntry, holding, read_mountinfo
from monitoring.filer.boot import short_boot_id
from monitoring.filer.diskstats import parse_diskstats
from monitoring.observations import BLOCK, Observation

DISKSTATS = Path("/proc/diskstats")
SYS = Path("/sys")


def device_under(path: str | os.PathLike[str], entries: Sequence[MountEntry], sys: Path = SYS) -> str | None:
    """Name of the whole disk (`sda`, `nvme0n1`, `dm-0`) that a path lies on; None for NFS, tmpfs, overlay and the like.

    A partition gives its disk, because that is where the queue is. File systems over several devices (btrfs) have no
    device number of their own kind, so their mount's source counts.
    """
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
        """The counters now; empty where no block device lies under the paths. Raises nothing."""
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

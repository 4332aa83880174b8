"""Wire ops of this host's NFS mounts, as observations once a second.

The counters belong to the superblock, not to the mount point: ten containers that mount one volume, at ten different
places, all read the same numbers, and even the export's path is not the same where one of them mounts a
subdirectory. So the source's name is made of the boot id, the server and the superblock's device number, which the
kernel gives to one live superblock at a time and shows alike in every namespace: whoever reads the counters, it is
the same source, and a second of it is stored once. Mounted with `nosharecache`, one export has several superblocks
with counters of their own, and several sources. Reading touches /proc alone, so a filer that does not answer holds
up nothing.
"""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.mounts import holding, read_mountinfo
from core.names import display_name
from monitoring.filer.boot import short_boot_id
from monitoring.filer.mountstats import parse_mountstats
from monitoring.filer.nfs_mount import NfsMount, OpCounts, Transport
from monitoring.observations import WIRE, Observation

PROC_SELF = Path("/proc/self")
MOUNTS = 8  # sources of a host, at most; the storage root's always is one
POINTS = 8  # mount points named of each

_OP_FIELDS = tuple(field.name for field in dataclasses.fields(OpCounts))
_TRANSPORT_FIELDS = tuple(field.name for field in dataclasses.fields(Transport))

log = logging.getLogger(__name__)


class WireSampler:
    """NFS mounts of this mount namespace: the one that holds the storage root, and the busiest others."""

    def __init__(self, storage: Path, *, boot: str | None = None, proc_self: Path = PROC_SELF) -> None:
        self._storage = os.path.realpath(storage)
        self._boot = short_boot_id() if boot is None else boot
        self._proc = proc_self
        self._told: frozenset[str] = frozenset()
        self._ages: dict[tuple[str, str], int] = {}  # of the mounts that were looked up last
        self._devices: dict[tuple[str, str], str] = {}  # device numbers by mount point and export
        self._under: str | None = None  # the device that holds the storage root

    def sample(self) -> list[Observation]:
        """The counters now; empty where nothing is mounted over NFS. Raises nothing."""
        try:
            stats = parse_mountstats((self._proc / "mountstats").read_bytes())
        except OSError:
            return []
        self._tell(str(problem) for problem in stats.problems)
        if not stats.mounts:
            return []
        self._look_up(stats.mounts)
        under = self._under
        groups = sorted(
            _superblocks(stats.mounts, self._devices),
            key=lambda group: (group[0] == under, _moved(group[1][0])),
            reverse=True,
        )
        return [
            Observation(WIRE, f"{self._boot}:{_shown(_server(mounts[0]))}:{device}", _values(mounts, device == under))
            for device, mounts in groups[:MOUNTS]
        ]

    def _look_up(self, mounts: Sequence[NfsMount]) -> None:
        """Read the mount table anew where it may have changed: hosts with many containers have thousands of lines."""
        ages = {(mount.point, mount.export): mount.age_s for mount in mounts}
        same = ages.keys() == self._ages.keys() and all(ages[key] >= age for key, age in self._ages.items())
        self._ages = ages
        if same:
            return
        entries = read_mountinfo(self._proc / "mountinfo")
        ours = holding(self._storage, entries)
        self._under = None if ours is None else ours.device
        self._devices = {(entry.point, entry.source): entry.device for entry in entries}

    def _tell(self, problems: Iterable[str]) -> None:
        """Say each thing that is wrong once, not once a second."""
        new = frozenset(problems) - self._told
        for problem in sorted(new):
            log.warning("%s", problem)
        self._told |= new


def _superblocks(
    mounts: Sequence[NfsMount], devices: Mapping[tuple[str, str], str]
) -> Iterable[tuple[str, list[NfsMount]]]:
    """Mounts by device number; those that the mount table does not have go by `?` and their export."""
    groups: dict[tuple[str, str], list[NfsMount]] = {}
    for mount in mounts:
        device = devices.get((mount.point, mount.export), "?")
        groups.setdefault((device, mount.export if device == "?" else ""), []).append(mount)
    return ((device, group) for (device, _), group in groups.items())


def _server(mount: NfsMount) -> str:
    """Without its path. Docker's volumes have the address among the options and `:/path` here."""
    return mount.export.rpartition(":/")[0] or "nfs"


def _shown(name: str) -> str:
    return display_name(os.fsencode(name))


def _moved(mount: NfsMount) -> int:
    return mount.bytes.server_read + mount.bytes.server_written


def _plain(record: object, fields: Sequence[str]) -> dict[str, Any]:
    """What dataclasses.asdict gives, in a tenth of its time."""
    return {name: getattr(record, name) for name in fields}


def _values(mounts: Sequence[NfsMount], storage: bool) -> dict[str, Any]:
    """One superblock's observation; ops that were never sent are left out."""
    mount = mounts[0]
    return {
        "type": mount.kind,
        "version": mount.version,
        "storage": storage,  # whether the storage root lies here
        "exports": [_shown(m.export) for m in mounts[:POINTS]],
        "points": [_shown(m.point) for m in mounts[:POINTS]],
        "ops": {name: _plain(counts, _OP_FIELDS) for name, counts in mount.ops.items() if counts.ops},
        "read_bytes": mount.bytes.server_read,
        "write_bytes": mount.bytes.server_written,
        "transports": [_plain(transport, _TRANSPORT_FIELDS) for transport in mount.transports],
        "backlog": sum(transport.backlog for transport in mount.transports),
        "slots": sum(transport.slots or 0 for transport in mount.transports),
    }

"""What a machine is, and how a directory of it is mounted: for results, and for the members of a crew."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path
from typing import Any

from core.memory import client_memory, machine_memory
from core.mounts import mount_of, read_mounts, storage_label
from monitoring.processes import processors, usable_processors

_CPUINFO = Path("/proc/cpuinfo")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def host() -> dict[str, Any]:
    """Describe this machine, and what of it this process may use."""
    model = next((line.partition(":")[2].strip() for line in _lines(_CPUINFO) if line.startswith("model name")), "")
    return {
        "name": socket.gethostname(),
        "processors": usable_processors(),
        "machine_processors": processors(),
        "model": model or platform.machine(),
        "memory_bytes": client_memory(),
        "machine_memory_bytes": machine_memory(),
        "kernel": platform.release(),
        "boot_id": next(iter(_lines(_BOOT)), ""),
    }


def place(path: Path) -> dict[str, Any]:
    """A directory's file system: how it is mounted, and the room there is."""
    mount = mount_of(path)
    room = os.statvfs(path)
    return {
        "path": str(path),
        "label": storage_label(path, read_mounts()),
        "mount": None
        if mount is None
        else {"point": mount.point, "type": mount.kind, "source": mount.source, "options": list(mount.options)},
        "free_bytes": room.f_bavail * room.f_frsize,
        "total_bytes": room.f_blocks * room.f_frsize,
        "free_inodes": room.f_favail,
        "device": os.stat(path).st_dev,
    }


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []

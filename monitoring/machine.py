"""Descriptions of a machine and of how its directories are mounted: for results, and for the members of a crew."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from core.mounts import mount_of, read_mountinfo, storage_label
from monitoring.block import boot_id
from monitoring.control_groups import ControlGroups

_GROUPS = ControlGroups()
_QUOTA = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))  # of versions 2 and 1; no limit: "max", -1


def processors() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def usable_processors(groups: ControlGroups = _GROUPS) -> float:
    """Return the CPUs that this process may use, or its limit of CPU time: 1.5 with `docker run --cpus 1.5`."""
    usable: float = processors()
    for at, files in itertools.product(groups.of("cpu"), _QUOTA):
        with contextlib.suppress(OSError, ValueError):
            quota, period = (int(word) for name in files for word in (at / name).read_text().split())
            if quota > 0:
                usable = min(usable, quota / period)
    return usable


def capacities(parts: Iterable[Mapping[str, Any]], what: str, machine: str) -> dict[str, float]:
    """Return how much of each machine its processes may use together: no more than it has.

    `what`: processors, memory_bytes. Each part has its own share under that name, its machine's under the name with
    `machine_` in front if a limit may apply, and the machine's id under `machine`."""
    usable: dict[str, float] = {}
    whole: dict[str, float] = {}
    for part in parts:
        at = str(part.get(machine, ""))
        usable[at] = usable.get(at, 0) + part.get(what, 0)
        whole[at] = part.get(f"machine_{what}", part.get(what, 0))
    return {at: min(usable[at], whole[at]) for at in usable}


def host_seconds() -> tuple[float, float]:
    """CPU seconds that the whole host was busy, and those that passed, since it was started."""
    times = psutil.cpu_times()
    busy = sum(getattr(times, name, 0.0) for name in ("user", "system", "nice", "irq", "softirq", "steal"))
    return busy, busy + times.idle + getattr(times, "iowait", 0.0)


_CPUINFO = Path("/proc/cpuinfo")


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
        "boot_id": boot_id(),
    }


def place(path: Path) -> dict[str, Any]:
    """Describe a directory's file system: how it is mounted, and its free space."""
    mount = mount_of(path)
    room = os.statvfs(path)
    return {
        "path": str(path),
        "label": storage_label(path, read_mountinfo()),
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


def client_memory() -> int:
    """Bytes that may cache files here: the machine's, or the limit of a control group if that is less."""
    total, limit = machine_memory(), _GROUPS.memory_limit()
    return total if limit is None else min(total, limit)


def machine_memory() -> int:
    """Return the bytes of memory of this machine."""
    return int(psutil.virtual_memory().total)


def free_memory() -> int:
    """Return the bytes of memory that are available without swapping, within the limit of a control group."""
    available, left = int(psutil.virtual_memory().available), _GROUPS.memory_left()
    return available if left is None else min(available, left)

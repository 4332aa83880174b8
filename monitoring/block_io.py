"""Block I/O of a container or of processes, from the kernel's accounts of control groups and processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_V1 = ("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes")


@dataclass(frozen=True, slots=True)
class BlockIo:
    """Bytes since the group was made, or the processes began."""

    read: int
    written: int
    source: str  # who says so


def of_group(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> BlockIo | None:
    """Of this process's control group, since it was made; None where the kernel counts nothing there."""
    try:
        groups = [line.split(":", 2) for line in (proc / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in groups:
        for file in _files(controllers, path, cgroups):
            with contextlib.suppress(OSError, ValueError):
                moved = parse_cgroup(file.read_text())
                if moved is not None:
                    return BlockIo(*moved, "control group")
    return None


def _files(controllers: str, path: str, cgroups: Path) -> Iterator[Path]:
    """Inside a container the group is the root of what is mounted, whatever its path is outside."""
    inside = path.lstrip("/")
    if "blkio" in controllers.split(","):
        yield from (cgroups / "blkio" / within / name for within in (inside, "") for name in _V1)
    elif not controllers:
        yield from (cgroups / place / "io.stat" for place in (inside, f"unified/{inside}", ""))


def parse_cgroup(text: str) -> tuple[int, int] | None:
    """Bytes read and written over all devices, from `io.stat` or `blkio.throttle.io_service_bytes`; None without any."""
    read = written = 0
    devices = 0
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or ":" not in words[0]:
            continue  # "Total 0": the kernel counts nothing here
        devices += 1
        fields = dict(word.partition("=")[::2] for word in words[1:])
        if "rbytes" in fields:
            read, written = read + int(fields["rbytes"]), written + int(fields["wbytes"])
        elif words[1] == "Read":
            read += int(words[2])
        elif words[1] == "Write":
            written += int(words[2])
    return (read, written) if devices else None


def of_processes(pids: Iterable[int], proc: Path = _PROC) -> BlockIo | None:
    """What the kernel accounts to these processes (proc(5), io), whatever file system it went to; those that ended count with
    their parents. None where they may not be looked into, which takes their user or root."""
    read = written = 0
    for pid in pids:
        try:
            fields = dict(line.split(": ") for line in (proc / str(pid) / "io").read_text().splitlines())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        except (OSError, ValueError):
            return None
        read, written = read + int(fields["read_bytes"]), written + int(fields["write_bytes"])
    return BlockIo(read, written, "processes")

"""Block I/O of a container where the engine is told nothing of it: from this host's own control groups or processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_V1 = ("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes")


@dataclass(frozen=True, slots=True)
class BlockIo:
    """Bytes since the container began."""

    read: int
    written: int
    source: str  # who says so


def block_io(pid: int, container: str, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> BlockIo | None:
    """Of the container with that id, whose first process has the id `pid` on the engine's host.

    None when that is another host than this, or nothing may be read.
    """
    try:
        groups = [line.split(":", 2) for line in (proc / str(pid) / "cgroup").read_text().splitlines()]
    except OSError:
        return None
    if not pid or not any(container in path for _, _, path in groups):
        return None  # another host's process id
    for _, controllers, path in groups:
        for file in _files(controllers, path, cgroups):
            with contextlib.suppress(OSError, ValueError):
                moved = parse_cgroup(file.read_text())
                if moved is not None:
                    return BlockIo(*moved, "control group")
    return _of_processes(pid, proc)


def _files(controllers: str, path: str, cgroups: Path) -> Iterator[Path]:
    inside = path.lstrip("/")
    if "blkio" in controllers.split(","):
        yield from (cgroups / "blkio" / inside / name for name in _V1)
    elif not controllers:
        yield from (cgroups / inside / "io.stat", cgroups / "unified" / inside / "io.stat")


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


def _of_processes(pid: int, proc: Path) -> BlockIo | None:
    """What the kernel accounts to the container's processes (proc(5), io), whatever file system it went to; those that
    ended count with their parents.

    Needs the right to look into them, which root has.
    """
    try:
        below = [process.pid for process in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        below = []
    read = written = 0
    for one in (pid, *below):
        try:
            fields = dict(line.split(": ") for line in (proc / str(one) / "io").read_text().splitlines())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        except (OSError, ValueError):
            return None
        read, written = read + int(fields["read_bytes"]), written + int(fields["write_bytes"])
    return BlockIo(read, written, "processes")

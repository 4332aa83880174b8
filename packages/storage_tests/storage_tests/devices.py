"""Properties of the file systems and block devices under test: O_DIRECT, space in use, scheduler and read-ahead.

`direct_on` tries whether O_DIRECT is accepted and bypasses this host's page cache (open(2), mincore(2)). tmpfs accepts
it since Linux 6.6 and has only its cache; btrfs accepts it and reads compressed data through the cache. A file system
on a loop device accepts it, and the device then uses the cache for its file unless it was set up with direct I/O
(losetup(8), `--direct-io`). A loop device below a device mapper (LVM, dm-crypt) is not detected.

`tuned` sets scheduler and read-ahead for a while. They belong to the host and not to a directory: their values are
written to a file per device first, so that the next test on this host restores them after kill -9 (a restart of the
host restores them, too). A user who may not set them gets a warning."""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from core.errors import StorageFault, UsageError
from core.mounts import holding, mount_of, read_mountinfo
from core.plain import unambiguous
from core.residency import resident_bytes
from core.storage.sync import syncfs
from storage_tests.owner import Owner, this_process

_BYTES = 1 << 16
_NAME = "direct"
_DEVICES = Path("/sys/dev/block")  # in it: MAJOR:MINOR, a link to the device's folder


class Direct(StrEnum):
    """Result of trying O_DIRECT."""

    WORKS = "past this host's page cache"
    REFUSED = "not taken"
    CACHED = "taken, but through this host's page cache"


def direct_on(directory: Path) -> Direct:
    """Try O_DIRECT with a file of 64 KiB in an own directory, and remove the file. Raises StorageFault."""
    file = directory / _NAME
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_DIRECT, 0o600)
        try:
            return _tried(descriptor, file)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return Direct.REFUSED
        raise StorageFault(f"{file}: {error.strerror}", errno=error.errno or 0) from error
    finally:
        file.unlink(missing_ok=True)  # some file systems make it before they refuse


def _tried(descriptor: int, file: Path) -> Direct:
    """Write the file, and read it once nothing of it is in memory any more."""
    with mmap.mmap(-1, _BYTES) as aligned:
        aligned[:] = os.urandom(_BYTES)
        os.pwrite(descriptor, aligned, 0)
        os.fsync(descriptor)
        written = resident_bytes(file)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.preadv(descriptor, [aligned], 0)
    return Direct.CACHED if written or resident_bytes(file) or _through_loop(file.parent) else Direct.WORKS


def _through_loop(directory: Path) -> bool:
    """Return whether the directory is on a loop device whose file goes through this host's page cache."""
    mount = holding(directory.resolve(), read_mountinfo())
    try:
        device = os.stat(mount.source).st_rdev if mount is not None else 0
    except OSError:  # no device: a server, or a name
        return False
    return loops_through_cache(_DEVICES / f"{os.major(device)}:{os.minor(device)}")


def loops_through_cache(device: Path) -> bool:
    """Return whether a block device's or partition's folder in sysfs is that of a loop device without direct I/O."""
    there = device.resolve()
    for folder in (there, there.parent):
        try:
            return (folder / "loop" / "dio").read_text(encoding="ascii").strip() == "0"
        except OSError:
            continue
    return False


_LOOK_S, _PATIENCE_S = 0.25, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Use of all file systems under test together, by any program; statvfs(3)."""

    used_bytes: int
    used_inodes: int


def usage(roots: Sequence[Path]) -> Usage | None:
    """Return the use of all file systems together, each counted once; None without any."""
    there = {os.stat(root).st_dev: os.statvfs(root) for root in roots}
    if not there:
        return None
    return Usage(
        used_bytes=sum((one.f_blocks - one.f_bfree) * one.f_frsize for one in there.values()),
        used_inodes=sum(one.f_files - one.f_ffree for one in there.values()),
    )


def usage_at_rest(
    roots: Sequence[Path], still: float, look: Callable[[Sequence[Path]], Usage | None] = usage,
    now: Callable[[], float] = time.monotonic, wait: Callable[[float], None] = time.sleep,
) -> Usage | None:  # fmt: skip
    """Return the usage once the space has been the same for so many seconds: a storage may report it once a second, or
    write and free it later. Return None if it does not settle within a minute."""
    began = since = now()
    last = look(roots)
    while now() - since < still:
        if now() - began > _PATIENCE_S:
            return None
        wait(_LOOK_S)
        if (found := look(roots)) != last:
            last, since = found, now()
    return last


def synced(root: Path) -> None:
    """Write out the file system: unwritten data take no space yet. Raises OSError."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        syncfs(descriptor)
    finally:
        os.close(descriptor)


LEDGER = Path("/run/edbench-queues")  # one for the host: all users share a device's queue
_SYS = Path("/sys")
_BLOCK = "dev/block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """Queue of one path's device during a run."""

    path: int  # its number, 1 …
    device: str  # "vda"; empty: none that this host sees
    scheduler: str  # in force; empty: unknown
    read_ahead_kb: int | None
    refused: tuple[str, ...]  # settings that could not be set, and why


@contextlib.contextmanager
def tuned(
    paths: Sequence[Path], scheduler: str, read_ahead_kb: int | None, ledger: Path = LEDGER
) -> Iterator[tuple[Tuned, ...]]:
    """Set scheduler and read-ahead on every path's device (empty, None: unchanged), yield the values then in force, and
    restore the former ones at the end."""
    wanted = {"scheduler": scheduler, "read_ahead_kb": "" if read_ahead_kb is None else str(read_ahead_kb)}
    wanted = {name: value for name, value in wanted.items() if value}
    with contextlib.ExitStack() as back:
        refused: dict[Path, list[str]] = {}
        out = []
        for number, path in enumerate(paths, 1):
            queue = queue_of(path)
            if queue is None:
                why = (
                    [f"path {number} has no block device on this host; not set: {', '.join(wanted)}"] if wanted else []
                )
            else:
                if queue not in refused:
                    refused[queue] = [] if not wanted else list(_set(queue, wanted, ledger, back))
                why = refused[queue]
            out.append(_in_force(number, queue, why))
        yield tuple(out)


def queue_of(path: Path) -> Path | None:
    """Return the directory of its device's queue in /sys; None for network storage and memory."""
    device = os.stat(path).st_dev
    found = _SYS / _BLOCK / f"{os.major(device)}:{os.minor(device)}"
    if not found.exists():  # btrfs has devices of its own; the mount names the one below
        mount = mount_of(path)
        if mount is None or not mount.source.startswith("/dev/"):
            return None
        with contextlib.suppress(OSError):
            device = os.stat(mount.source).st_rdev
            found = _SYS / _BLOCK / f"{os.major(device)}:{os.minor(device)}"
    if not found.exists():
        return None
    block = found.resolve()
    queue = (block.parent if (block / "partition").exists() else block) / "queue"
    return queue if queue.is_dir() else None


def restore_dead(ledger: Path = LEDGER) -> None:
    """Restore the queues that killed commands left changed, but not those of running ones."""
    for file in sorted(ledger.glob("*.json")):
        with contextlib.suppress(UsageError, OSError, ValueError, TypeError, KeyError):  # not readable, or not ours
            kept = unambiguous(file.read_text(encoding="utf-8"))
            owner = Owner(**kept["owner"])
            if not owner.alive():
                _restore(Path(kept["queue"]), kept["values"])
                file.unlink(missing_ok=True)


def _set(queue: Path, wanted: dict[str, str], ledger: Path, back: contextlib.ExitStack) -> Iterator[str]:
    """Set the values and yield those that could not be set."""
    before = {name: value for name in wanted if (value := _read(queue, name))}
    file = ledger / f"{queue.parent.name}.json"
    try:
        ledger.mkdir(mode=0o755, exist_ok=True)  # another command may make it at the same time
        kept = json.dumps({"owner": asdict(this_process()), "queue": str(queue), "values": before})
        with file.open("x", encoding="utf-8") as out:
            out.write(kept + "\n")
    except OSError as error:
        if file.exists():
            yield f"{queue.parent.name}: another command changed its queue"
            return
        yield f"{queue.parent.name}: not changed, because the old value cannot be saved in {ledger} ({error.strerror})"
        return
    back.callback(file.unlink, missing_ok=True)
    back.callback(_restore, queue, before)
    for name, value in wanted.items():
        try:
            (queue / name).write_text(value)
        except OSError as error:
            yield f"{queue.parent.name}: {name} {value} is not set: {error.strerror}"


def _restore(queue: Path, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if name in ("scheduler", "read_ahead_kb"):
            with contextlib.suppress(OSError):  # the device is gone
                (queue / name).write_text(str(value))


def _read(queue: Path, name: str) -> str:
    """Return the value in force: for schedulers the one in brackets."""
    try:
        text = (queue / name).read_text().strip()
    except OSError:
        return ""
    return text.partition("[")[2].partition("]")[0] or text


def _in_force(number: int, queue: Path | None, refused: Sequence[str]) -> Tuned:
    ahead = "" if queue is None else _read(queue, "read_ahead_kb")
    return Tuned(
        path=number,
        device="" if queue is None else queue.parent.name,
        scheduler="" if queue is None else _read(queue, "scheduler"),
        read_ahead_kb=int(ahead) if ahead.isdigit() else None,
        refused=tuple(refused),
    )

"""Whether O_DIRECT is on a path what it says: taken, and past this host's page cache (open(2), mincore(2)).

tmpfs takes it since Linux 6.6 and has nothing but its cache; btrfs takes it and reads what is compressed through the cache. A
file system on a loop device takes it, and the device then reads and writes its file through the cache unless it was set up
with direct I/O itself (losetup(8), `--direct-io`); one below a device mapper (LVM, dm-crypt) is not seen.
"""

from __future__ import annotations

import errno
import mmap
import os
from enum import StrEnum
from pathlib import Path

from core.errors import StorageFault
from core.mounts import holding, read_mountinfo
from core.residency import resident_bytes

_BYTES = 1 << 16
_NAME = "direct"
_DEVICES = Path("/sys/dev/block")  # in it: MAJOR:MINOR, a link to the device's folder


class Direct(StrEnum):
    """What came of it."""

    WORKS = "past this host's page cache"
    REFUSED = "not taken"
    CACHED = "taken, but through this host's page cache"


def direct_on(directory: Path) -> Direct:
    """Tried with a file of 64 KiB in an own directory, which is removed. Raises StorageFault."""
    file = directory / _NAME
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_DIRECT, 0o600)
    except OSError as error:
        file.unlink(missing_ok=True)  # some file systems make it before they refuse
        if error.errno == errno.EINVAL:
            return Direct.REFUSED
        raise StorageFault(f"{file}: {error.strerror}", errno=error.errno or 0) from error
    try:
        return _tried(descriptor, file)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return Direct.REFUSED
        raise StorageFault(f"{file}: {error.strerror}", errno=error.errno or 0) from error
    finally:
        os.close(descriptor)
        file.unlink()


def _tried(descriptor: int, file: Path) -> Direct:
    """Written, and read once nothing of it is in memory any more."""
    with mmap.mmap(-1, _BYTES) as aligned:
        aligned[:] = os.urandom(_BYTES)
        os.pwrite(descriptor, aligned, 0)
        os.fsync(descriptor)
        written = resident_bytes(file)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.preadv(descriptor, [aligned], 0)
    return Direct.CACHED if written or resident_bytes(file) or _through_loop(file.parent) else Direct.WORKS


def _through_loop(directory: Path) -> bool:
    """Whether it lies on a loop device that has its file in this host's page cache."""
    mount = holding(directory.resolve(), read_mountinfo())
    try:
        device = os.stat(mount.source).st_rdev if mount is not None else 0
    except OSError:  # no device: a server, or a name
        return False
    return loops_through_cache(_DEVICES / f"{os.major(device)}:{os.minor(device)}")


def loops_through_cache(device: Path) -> bool:
    """Of a block device's folder in sysfs, or a partition's: whether it is a loop device without direct I/O."""
    there = device.resolve()
    for folder in (there, there.parent):
        try:
            return (folder / "loop" / "dio").read_text(encoding="ascii").strip() == "0"
        except OSError:
            continue
    return False

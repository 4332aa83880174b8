"""The part of a file that is in this machine's page cache, and requests to drop it (mincore(2), posix_fadvise(2))."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import StorageFault
from core.storage.layer import Storage

_PAGE = mmap.PAGESIZE
_DROP = Path("/proc/sys/vm/drop_caches")
_SAMPLE = 4_096  # files whose residency is read: to read that of a million would take minutes
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


@dataclass(frozen=True, slots=True)
class Residency:
    """Bytes of files, and of their part in a cache of this machine."""

    files: int  # that were sampled
    bytes: int
    resident: int
    unknown: int  # bytes of files whose residency the kernel does not report (not ours, or not readable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """The outcome of one attempt to drop caches. Bytes are those of the sampled files, before and after."""

    files: int  # to be dropped
    looked_at: int  # the sample of them
    bytes: int
    resident_before: int
    resident_after: int
    unknown: int  # bytes of files whose residency the kernel does not report
    refused: int  # files that could not be opened
    drop_caches: bool  # the caches of the whole machine were dropped, as root
    seconds: float


def drop_pages(paths: Sequence[Path], *, everything: bool) -> Dropped:
    """Write out and drop these files' pages; with `everything`, all of the machine's where permitted."""
    started = time.monotonic()
    sample = _spread(paths)
    before = residency(sample)
    _write_back(paths)  # a dirty page cannot be dropped
    all_gone = everything and _drop_everything()
    refused = 0 if all_gone else _advise_drop(paths)
    after = residency(sample)
    return Dropped(
        files=len(paths),
        looked_at=after.files,
        bytes=after.bytes,
        resident_before=before.resident,
        resident_after=after.resident,
        unknown=after.unknown,
        refused=refused,
        drop_caches=all_gone,
        seconds=time.monotonic() - started,
    )


def resident_bytes(path: Path) -> int | None:
    """Bytes of a file in the page cache, in whole pages; None when it cannot be determined.

    The kernel answers only to a user who owns the file or may write it (Linux 5.2 and later)."""
    if not os.access(path, os.W_OK):
        return None
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return 0
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as mapped:
            pages = (size + _PAGE - 1) // _PAGE
            seen = (ctypes.c_ubyte * pages)()
            first = ctypes.c_char.from_buffer(mapped)
            try:
                failed = _libc.mincore(ctypes.addressof(first), size, seen)
            finally:
                del first  # a mapping with a view cannot be closed
    return None if failed else min(size, sum(page & 1 for page in seen) * _PAGE)


def _write_back(paths: Iterable[Path]) -> None:
    """Sync the file systems of these files. Directories that vanish meanwhile, or are not readable, are skipped."""
    done: set[int] = set()
    for directory in {path.parent for path in paths}:
        with contextlib.suppress(OSError, StorageFault):
            if (device := directory.stat().st_dev) not in done:
                Storage().sync_tree(os.fsencode(directory))
                done.add(device)


def _spread(paths: Sequence[Path]) -> Sequence[Path]:
    """A sample of the paths at even distances; all of them if they are few."""
    return [paths[n * len(paths) // _SAMPLE] for n in range(_SAMPLE)] if len(paths) > _SAMPLE else paths


def residency(paths: Iterable[Path]) -> Residency:
    """The residency of many files; those that vanish meanwhile are skipped."""
    files = total = resident = unknown = 0
    for path in paths:
        try:
            size = path.stat().st_size
            held = resident_bytes(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):  # ValueError: truncated meanwhile
            size, held = 0, None
        files += 1
        total += size
        resident += held or 0
        unknown += size if held is None else 0
    return Residency(files, total, resident, unknown)


def _advise_drop(paths: Iterable[Path]) -> int:
    """Write out and drop each file's pages; return how many files could not be opened. Pages in use stay."""
    refused = 0
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError:
            refused += 1
            continue
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            refused += 1
        finally:
            os.close(descriptor)
    return refused


def _drop_everything() -> bool:
    """Drop all clean pages, directory entries and inodes of the machine; return False if not permitted (needs root)."""
    try:
        _DROP.write_text("3\n")
    except OSError:
        return False
    return True


def regular_files(directory: Path) -> Iterator[Path]:
    """Every regular file below a directory, in a fixed order. Links are not followed; files that vanish are skipped."""
    for parent, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path

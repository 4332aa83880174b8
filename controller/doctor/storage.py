"""What the file system under the storage root and under scratch can do. Probe files live in a temporary directory
that is removed again; they are no corpus, item or index files, so core.storage.layer does not record them."""

from __future__ import annotations

import enum
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.clock import Clock
from core.mounts import Mount, Reach, mount_of
from core.storage.sync import syncfs
from core.storage.whole import naming_of, parts_of


class Level(enum.StrEnum):
    """ok: as it should be. warn: works, but results or comfort suffer. bad: a job cannot run, or not safely."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `fix` is what to do, empty only when it is ok."""

    level: Level
    what: str
    fix: str = ""


def ok(what: str) -> Finding:
    """As it should be."""
    return Finding(Level.OK, what)


def warn(what: str, fix: str) -> Finding:
    """Works, but."""
    return Finding(Level.WARN, what, fix)


def bad(what: str, fix: str) -> Finding:
    """Does not work."""
    return Finding(Level.BAD, what, fix)


def judge_mount(mount: Mount | None, *, filer: bool) -> Finding:
    """What the mount means for the storage under test (`filer`) or for scratch."""
    role = "storage" if filer else "scratch"
    if mount is None:
        return warn(f"{role}: /proc has no entry for its mount", "run on Linux with /proc mounted")
    said = f"{role}: {mount.kind} from {mount.source} on {mount.point} ({','.join(mount.options)})"
    if "ro" in mount.options:
        return bad(said + ": read-only", "mount it read-write")
    if filer and mount.reach is Reach.MEMORY:
        return warn(
            said + ": memory, so results are not about storage", "set EDBENCH_STORAGE to the storage under test"
        )
    if filer and mount.kind == "overlay":
        return warn(said + ": a container's own layer", "mount the storage under test and set EDBENCH_STORAGE to it")
    if filer and "soft" in mount.options:
        return warn(said + ": soft NFS mounts lose writes silently", "mount it with hard")
    if not filer and mount.reach is Reach.NETWORK:
        return warn(said + ": scratch is on a filer", "set EDBENCH_SCRATCH to a local directory")
    return ok(said)


_NEEDED, _WANTED = 1_000_000_000, 10_000_000_000  # bytes
_FILES_NEEDED, _FILES_WANTED = 10_000, 1_000_000
_FSYNCS = 20
_SLOW_US = 50_000
_NOTHING_US = 10  # no device answers that fast


def existing(directory: Path) -> Path:
    """The directory, or the nearest one above it that exists already: what it will be made in."""
    return next(d for d in (directory, *directory.parents) if d.is_dir())


def place(directory: Path, *, filer: bool, clock: Clock) -> Iterator[Finding]:
    """All checks of the storage root (`filer`) or of scratch."""
    role = "storage" if filer else "scratch"
    variable = "EDBENCH_STORAGE" if filer else "EDBENCH_SCRATCH"
    if directory.exists() and not directory.is_dir():
        yield bad(f"{role}: {directory} is not a directory", f"set {variable} to a directory")
        return
    base = existing(directory)
    yield judge_mount(mount_of(base), filer=filer)
    yield free_space(role, base)
    yield free_files(role, base)
    try:
        probe = Path(tempfile.mkdtemp(prefix=".edbench-doctor-", dir=base))
    except OSError as error:
        yield bad(f"{role}: cannot write in {base}: {error.strerror}", f"make it writable or set {variable}")
        return
    try:
        yield rename_over(role, probe)
        if filer:
            yield names(probe)
            yield whole(base)
            yield fsync_latency(probe, clock)
            yield whole_sync(probe)
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def free_space(role: str, directory: Path) -> Finding:
    """Bytes that we may still write."""
    free = shutil.disk_usage(directory).free
    text, fix = f"{role}: {free / 1e9:.1f} GB free in {directory}", "free space, or choose a larger file system"
    if free < _NEEDED:
        return bad(text, fix)
    return warn(text, fix) if free < _WANTED else ok(text)


def free_files(role: str, directory: Path) -> Finding:
    """Files that may still be made; a job makes one for each extracted child."""
    stats = os.statvfs(directory)
    if stats.f_files == 0:
        return ok(f"{role}: no limit on the number of files")
    text, fix = f"{role}: {stats.f_favail:,} more files fit", "remove files, or create the file system with more inodes"
    if stats.f_favail < _FILES_NEEDED:
        return bad(text, fix)
    return warn(text, fix) if stats.f_favail < _FILES_WANTED else ok(text)


def whole(directory: Path) -> Finding:
    """Whether the client of a distributed file system misses some of it."""
    try:
        away = parts_of(directory.stat().st_dev).away
    except OSError as error:
        return bad(f"storage: its client cannot list the available parts: {error.strerror}", "see the log of the mount")
    if away:
        return bad(
            f"storage: incomplete, {', '.join(away)} is not available",
            "restore it: its files would be recorded as missing",
        )
    return ok("storage: all known parts are available")


def rename_over(role: str, probe: Path) -> Finding:
    """Whether a file can be put in another's place in one step: everything we publish relies on it."""
    old, new = probe / "old", probe / "new"
    fix = "use a file system that follows POSIX"
    try:
        old.write_bytes(b"old")
        new.write_bytes(b"new")
        new.rename(old)
        if old.read_bytes() != b"new" or new.exists():
            return bad(f"{role}: renaming a file over another keeps the wrong content", fix)
    except OSError as error:
        return bad(f"{role}: a file cannot be renamed over another: {error.strerror}", fix)
    return ok(f"{role}: a file can be renamed over another")


def names(probe: Path) -> Finding:
    """Whether a name stays what it was written as, and is another one in another case."""
    where = probe / "names"
    try:
        where.mkdir()
        naming = naming_of(where)
    except OSError as error:
        return bad(f"storage: cannot create a file: {error.strerror}", "check the mount")
    if naming.listed != naming.written:
        return bad(
            f"storage: a file created as {naming.written} is listed as {naming.listed}",
            "mount it so that it keeps names; otherwise item names differ from those in the evidence",
        )
    if not naming.case_matters:
        return warn(
            "storage: it ignores case: of two names that differ only in case it keeps one",
            "do not copy evidence there that has such names (edbench refuses to copy it)",
        )
    return ok("storage: names are kept as written, and case matters")


def fsync_latency(probe: Path, clock: Clock) -> Finding:
    """The median of some fsyncs of 4 KiB each."""
    took: list[int] = []
    try:
        with (probe / "fsync").open("wb", buffering=0) as file:
            for _ in range(_FSYNCS):
                file.write(bytes(4096))
                start = clock.monotonic_ns()
                os.fsync(file.fileno())
                took.append(clock.monotonic_ns() - start)
    except OSError as error:
        return bad(f"storage: fsync does not work: {error.strerror}", "use a file system that supports it")
    median = statistics.median(took) / 1000
    text = f"storage: fsync of 4 KiB takes {median:,.0f} µs (median of {_FSYNCS})"
    if median > _SLOW_US:
        return warn(text, "expect slow results with --fsync task or file; look at the filer's log device")
    if median < _NOTHING_US:
        return warn(text + ": fsync has no effect", "use only --fsync none for results on this storage")
    return ok(text)


def whole_sync(probe: Path) -> Finding:
    """syncfs(2), with which a job ends."""
    descriptor = os.open(probe, os.O_RDONLY | os.O_DIRECTORY)
    try:
        syncfs(descriptor)
    except OSError as error:
        return bad(f"storage: syncfs does not work: {error.strerror}", "check the kernel log for I/O errors")
    finally:
        os.close(descriptor)
    return ok("storage: syncfs works")


def apart(storage: Path, scratch: Path) -> Finding:
    """Whether the storage under test and scratch share a file system; then they share its bandwidth too."""
    if existing(storage).stat().st_dev == existing(scratch).stat().st_dev:
        return warn(
            "storage and scratch are on the same file system, so the writes of the database are part of the measurement",
            "for real results set EDBENCH_STORAGE to the storage under test and keep EDBENCH_SCRATCH local",
        )
    return ok("storage and scratch are on different file systems")

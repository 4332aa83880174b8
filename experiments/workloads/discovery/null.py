"""Null storage: memory (tmpfs) that holds one portion of the corpus at a time and what is extracted from it (decision
0049).

The corpus is cut into portions: each with its extracted children needs no more memory than null storage may hold. What
a loose file needs is not guessed: the run on the storage under test, which precedes its null baseline, has it in its
ledger. A portion is copied before its clock starts, so that no read of the run reaches the storage under test. What is
written and read again stays until the portion is done; what is never read again is discarded (`JobOptions.null`)."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from controller.databases import JobHandle
from controller.jobs.source import PreparedSource, prepare_source
from core.errors import StorageFault, system_errors
from core.mounts import in_memory
from core.names import display_name
from core.storage.layer import Storage
from monitoring.machine import free_memory
from sql.runs import RUNS


@dataclass(frozen=True, slots=True)
class Portion:
    """Loose files that are processed together, by their paths relative to the source, and the bytes they need."""

    files: tuple[bytes, ...]
    room: int


def needs_of(handles: Sequence[JobHandle], *, copies: bool) -> dict[bytes, int]:
    """Return the bytes that each loose file needs, by path: a copy of it, and what each job extracts from it and
    writes. `copies`: each job reads a copy of its own, made from that one. Takes some hundred bytes of memory a loose
    file. Raises DatabaseFault."""
    needs: dict[bytes, int] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for need in RUNS.loose_needs(conn, job=handle.id):
                path = bytes(need.path)
                own = need.inside + (need.itself if copies else 0)
                needs[path] = needs.get(path, need.itself) + own
    return needs


def portions_of(needs: Mapping[bytes, int], cap: int) -> tuple[Portion, ...]:
    """Cut the corpus into as few portions as neighbours allow, with files in the order of their paths. Raises
    StorageFault for one that needs more than `cap` bytes by itself."""
    return tuple(_cut(needs, cap))


def _cut(needs: Mapping[bytes, int], cap: int) -> Iterator[Portion]:
    files: list[bytes] = []
    room = 0
    for path in sorted(needs):
        need = needs[path]
        if need > cap:
            raise StorageFault(
                f"{display_name(path)} with its extracted children needs {need / 1e9:,.3f} GB, but null "
                f"storage may use {cap / 1e9:,.3f} GB"
            )
        if files and room + need > cap:
            yield Portion(tuple(files), room)
            files, room = [], 0
        files.append(path)
        room += need
    if files:
        yield Portion(tuple(files), room)


SHARE = 0.6  # of free memory that may be taken, unless the user gives an amount
_PREFIX = "edbench-null-"
_CHUNK = 1 << 20
_BLOCK = 512  # bytes in which stat(2) counts


@dataclass(slots=True)
class NullStorage:
    """Space for one portion and for the storage roots of its jobs."""

    directory: Path  # holds both
    origin: bytes  # the source that portions are copied from
    cap: int  # bytes that it may hold
    _staged: tuple[Portion, PreparedSource] | None = field(default=None)

    @property
    def storage(self) -> Path:
        """The directory for storage roots."""
        return self.directory / "storage"

    @property
    def source(self) -> Path:
        """The directory for the portion."""
        return self.directory / "source"

    def stage(self, portion: Portion, *, whole: bool) -> PreparedSource:
        """Put the portion in place of the previous one; nothing is copied if it is the same.

        `whole`: it is all there is. Of a larger corpus each file's pages leave the page cache once they are copied: the
        next run must not find those that happened to be copied last. Raises StorageFault."""
        if self._staged is not None and self._staged[0] == portion:
            return self._staged[1]
        self._staged = None
        try:
            if self.source.exists():
                shutil.rmtree(self.source)
            self.source.mkdir()
            for path in portion.files:
                _copy(os.path.join(self.origin, path), os.path.join(os.fsencode(self.source), path), forget=not whole)
        except OSError as error:
            raise StorageFault(f"the corpus cannot be copied to {self.source}: {str(error)[:300]}") from error
        prepared = prepare_source(Storage(), self.source)
        self._staged = (portion, prepared)
        return prepared

    def held(self) -> int:
        """Return the bytes of memory that its files take now; their names take about 1 kB each in addition."""
        return sum(
            os.lstat(os.path.join(parent, name)).st_blocks * _BLOCK
            for parent, _, names in os.walk(os.fsencode(self.directory))
            for name in names
        )


def may_take(place: Path) -> int:
    """Return the bytes of memory that may be filled there."""
    return min(shutil.disk_usage(place).free, int(free_memory() * SHARE))


def no_memory(place: Path) -> str | None:
    """Return why null storage is not possible here; None if it is."""
    if not place.is_dir() or not in_memory(place):
        return f"{place} is not a memory file system"
    return None


@contextlib.contextmanager
def null_storage(origin: bytes, cap: int, place: Path) -> Iterator[NullStorage]:
    """Yield an empty null storage and remove it at the end. Raises StorageFault if it cannot be created."""
    _clear_up(place)
    with system_errors(StorageFault, f"cannot create a directory in {place}"):
        directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
    try:
        yield NullStorage(directory, origin, cap)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def emptied(directory: Path) -> None:
    """Remove everything in the directory, so that its memory is free. Raises StorageFault."""
    with system_errors(StorageFault, f"{directory} cannot be emptied"):
        for entry in list(os.scandir(directory)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def _clear_up(place: Path) -> None:
    """Remove what killed commands of this user left (root: of all users): it would hold memory indefinitely."""
    for left in place.glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(FileNotFoundError):  # another command clears up too
            if pid.isdigit() and not psutil.pid_exists(int(pid)) and os.geteuid() in (0, left.lstat().st_uid):
                shutil.rmtree(left, ignore_errors=True)


def _copy(origin: bytes, target: bytes, *, forget: bool) -> None:
    """Copy a regular file with its bytes, and recreate anything else as its type, so that the same items are found.
    Raises OSError."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    mode = os.lstat(origin).st_mode
    if stat.S_ISREG(mode):
        _copy_bytes(origin, target, forget)
    elif stat.S_ISLNK(mode):
        os.symlink(os.readlink(origin), target)
    elif stat.S_ISDIR(mode):  # an item where it could not be listed
        os.makedirs(target, exist_ok=True)
    else:
        with contextlib.suppress(PermissionError):  # a device that only root could make is left out
            os.mknod(target, mode)


def _copy_bytes(origin: bytes, target: bytes, forget: bool) -> None:
    """Copy a file; one that this process may not read becomes an empty file without permissions."""
    try:
        source = open(origin, "rb", buffering=0)  # noqa: SIM115 (closed below; only its opening may be refused)
    except PermissionError:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0))
        return
    with source, open(target, "wb", buffering=0) as copy:
        shutil.copyfileobj(source, copy, _CHUNK)
        if forget:
            os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    shutil.copystat(origin, target)

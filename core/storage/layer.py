"""The only code that touches corpus, items and published index files (design §4).

Every call makes one call record, also when it fails. Paths are absolute `bytes`. On reading, an error of one file is
SourceFileError and an error of the storage is StorageFault; on writing everything is StorageFault, because files of our
own have no reason to fail. Recording is written out in each method: a wrapper or a closure would cost as much as the
record itself."""

from __future__ import annotations

import errno
import os
import secrets
import stat as stat_module
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.operations import NullRecorder, Op, Recorder
from core.records import FsyncPolicy
from core.storage.beneath import Anywhere, Beneath, Entry, EntryKind, Space, size_of
from core.storage.errors import listing_error, not_regular, opening_error, reading_error, storage_fault
from core.storage.files import (
    DelayingRecorder,
    ReadFile,
    Station,
    WriteFile,
    close_fd,
    discard_writes,
    gathered,
    local_chunks,
    sync_fd,
)
from core.storage.sync import BackgroundSync, Unsynced, syncfs
from readers.errors import ExceptionCode

if TYPE_CHECKING:
    from typing_extensions import Buffer

AT_ONCE = 10_000  # entries in memory
_LENGTH_BYTES = 4
_LETTERS = {EntryKind.FILE: b"f", EntryKind.DIRECTORY: b"d", EntryKind.LINK: b"l", EntryKind.SPECIAL: b"s"}
_NAME = itemgetter(0)
_KINDS = {letter[0]: kind for kind, letter in _LETTERS.items()}


class Listing:
    """A listing of a directory. Iterate over it once for lists of at most AT_ONCE entries, each sorted by name and
    without duplicates; close it afterwards.

    `spill`: the directory for a file of entries that do not fit into memory; it has no name and ends with the process.
    `only`: entries of other kinds are only counted."""

    def __init__(self, spill: Path | None = None, only: EntryKind | None = None) -> None:
        self.count = 0  # entries of any kind
        self.spilled_ns = 0  # spent on writing the file, which is no part of reading the directory
        self._spill = spill
        self._only = only
        self._first: list[Entry] = []
        self._file: IO[bytes] | None = None

    def fill(self, entries: Iterator[Entry], alive: Callable[[], None] | None = None) -> None:
        """Read all entries; call `alive` now and then. Raises OSError for the directory, StorageFault for scratch."""
        while batch := list(islice(entries, AT_ONCE)):
            if alive is not None:
                alive()
            self.count += len(batch)
            if self._only is not None:
                batch = [entry for entry in batch if entry.kind is self._only]
            if self._first and batch:
                self._write(batch)
            else:
                self._first = self._first or batch

    def _write(self, batch: list[Entry]) -> None:
        began = time.monotonic_ns()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._spill)  # noqa: SIM115 (closed by `close`)
            # Neither "/" nor NUL is part of any name.
            text = b"/".join(_LETTERS[kind] + name for name, kind in batch)
            self._file.write(len(text).to_bytes(_LENGTH_BYTES, "big") + text)
        except OSError as e:
            raise storage_fault("write a listing to scratch", os.fsencode(self._spill or b"/tmp"), e) from e
        self.spilled_ns += time.monotonic_ns() - began

    def __iter__(self) -> Iterator[list[Entry]]:
        first, self._first = self._first, []
        if first:
            yield _sorted(first)
        if self._file is None:
            return
        self._file.seek(0)
        while head := self._file.read(_LENGTH_BYTES):
            text = self._file.read(int.from_bytes(head, "big"))
            yield _sorted(Entry(part[1:], _KINDS[part[0]]) for part in text.split(b"/"))

    def close(self) -> None:
        """Delete the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    """Sort entries by name, each once: GlusterFS lists a file twice while it is renamed from brick to brick."""
    return sorted({entry.name: entry for entry in entries}.values(), key=_NAME)


__all__ = ["Entry", "EntryKind", "ReadFile", "Space", "Storage", "WriteFile"]

_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO put in its place must not hang us
_CREATE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
_SYNC_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE_MODE = 0o640
_PRIVATE_MODE = 0o600
_DIRECTORY_MODE = 0o750

_SCAN, _STAT, _OPEN, _CREATE = Op.SCAN, Op.STAT, Op.OPEN, Op.CREATE
_RENAME, _REMOVE, _MKDIR = Op.RENAME, Op.REMOVE, Op.MKDIR


class Storage:
    """The storage under test, as one process uses it. Not thread-safe.

    `filer`: the emulated filer that delays calls (design §4)."""

    def __init__(
        self,
        recorder: Recorder = NullRecorder(),  # noqa: B008  # it has no state
        fsync: FsyncPolicy = FsyncPolicy.NONE,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        filer: Station | None = None,
    ) -> None:
        self.fsync = fsync
        self.floor = b""  # a directory that has to exist: neither it nor one above it is ever made here
        self.discards = False  # null storage: of what `copy_in` publishes only the names are kept
        self._filer = filer
        self.record_to(recorder)
        self._now = monotonic_ns
        self._unsynced = Unsynced()
        self._paths: Anywhere | Beneath = Anywhere()

    def keep_below(self, path: bytes, *, own: bool = False, hold: bool = False) -> None:
        """Restrict calls to this directory, and those of earlier calls, and follow no link below them.

        A path that leads elsewhere is `unreadable`, or a StorageFault if the directory is our `own` storage root. The
        directory itself may be a link, and need not exist yet. With `hold`, the directory is the one that its name led
        to at the first call, or at the last `root_identity`, until `let_go`."""
        if not isinstance(self._paths, Beneath):
            self._paths = Beneath()
        self._paths.add(path, own=own, hold=hold)

    def let_go(self) -> None:
        """Undo `keep_below`; held directories may be unmounted again."""
        if isinstance(self._paths, Beneath):
            self._paths.close()
        self._paths = Anywhere()

    def record_to(self, recorder: Recorder) -> None:
        """Record later calls there; an open file keeps its recorder."""
        self._record = (recorder if self._filer is None else DelayingRecorder(recorder, self._filer)).record

    # Reading

    def scan(self, path: bytes, at_most: int | None = None) -> list[Entry]:
        """The directory's entries (or the first so many) in no particular order, without a stat for each. Raises as
        `stat`."""
        start = self._now()
        try:
            with self._paths.scan(path) as scanned:
                entries = list(islice(scanned, at_most))
        except OSError as e:
            self._record(_SCAN, start, self._now() - start, 0, path, e.errno or 0)
            raise listing_error(path, e) from e
        self._record(_SCAN, start, self._now() - start, 0, path, 0, len(entries))
        return entries

    def listing(
        self,
        path: bytes,
        spill: Path | None = None,
        alive: Callable[[], None] | None = None,
        only: EntryKind | None = None,
    ) -> Listing:
        """Like `scan`, for a directory of any size. `spill`: a local directory for entries that do not fit into memory;
        `alive` is called now and then as a sign of progress; entries of other kinds than `only` are only counted."""
        listing = Listing(spill, only)
        start = self._now()
        try:
            with self._paths.scan(path) as entries:
                listing.fill(entries, alive)
        except OSError as e:
            listing.close()
            self._record(_SCAN, start, self._now() - start - listing.spilled_ns, 0, path, e.errno or 0)
            raise listing_error(path, e) from e
        self._record(_SCAN, start, self._now() - start - listing.spilled_ns, 0, path, 0, listing.count)
        return listing

    def stat(self, path: bytes) -> os.stat_result:
        """lstat(2), which returns a link's own status. Raises SourceFileError (vanished, unreadable) or
        StorageFault."""
        start = self._now()
        try:
            result = self._paths.lstat(path)
        except OSError as e:
            self._record(_STAT, start, self._now() - start, 0, path, e.errno or 0)
            raise reading_error("look at", path, e) from e
        self._record(_STAT, start, self._now() - start, 0, path, 0, size_of(result))
        return result

    def open(self, path: bytes) -> ReadFile:
        """Open a regular file for reading; the fstat(2) for its size is part of this call.

        Raises SourceFileError: `symlink` for a link, `special_file` for a FIFO, socket or device (never waits for one),
        `vanished`, `unreadable`; StorageFault."""
        start = self._now()
        try:
            fd = self._paths.open(path, _READ_FLAGS)
            try:
                info = os.fstat(fd)
            except OSError:
                os.close(fd)
                raise
        except OSError as e:
            self._record(_OPEN, start, self._now() - start, 0, path, e.errno or 0)
            raise opening_error(path, e) from e
        self._record(_OPEN, start, self._now() - start, 0, path, 0, size_of(info))
        if not stat_module.S_ISREG(info.st_mode):
            close_fd(fd, path, self._record, self._now)
            raise not_regular(path, info.st_mode)
        in_place = partial(self._leads_to, path, info.st_ino)
        return ReadFile(fd, path, info.st_size, info.st_mtime_ns, info.st_ctime_ns, self._record, self._now, in_place)

    def _leads_to(self, path: bytes, inode: int) -> bool:
        """Return whether the name leads to this inode, or its status cannot be read. Raises StorageFault."""
        try:
            return self.stat(path).st_ino == inode
        except SourceFileError as e:
            return e.code is not ExceptionCode.VANISHED

    def root_identity(self, path: bytes) -> tuple[int, int]:
        """(device, inode) of a root directory, links followed. Raises StorageFault if it does not exist."""
        start = self._now()
        try:
            info = self._paths.identify(path)
        except OSError as e:
            self._record(_STAT, start, self._now() - start, 0, path, e.errno or 0)
            raise storage_fault("reach", path, e) from e
        self._record(_STAT, start, self._now() - start, 0, path, 0)
        return info.st_dev, info.st_ino

    def space(self, path: bytes) -> Space:
        """Room on the file system that holds `path` (counted as a stat call); raises StorageFault."""
        start = self._now()
        try:
            info = os.statvfs(path)
        except OSError as e:
            self._record(_STAT, start, self._now() - start, 0, path, e.errno or 0)
            raise storage_fault("reach", path, e) from e
        self._record(_STAT, start, self._now() - start, 0, path, 0)
        return Space(info.f_bavail * info.f_frsize, info.f_favail, info.f_blocks * info.f_frsize)

    # Writing

    def create(self, path: bytes) -> WriteFile:
        """Create a file, which must not exist; its directory must. Raises StorageFault."""
        try:
            file = self._create(path)
        except OSError as e:
            raise storage_fault("create", path, e) from e
        if self.fsync is FsyncPolicy.TASK:
            self._unsynced.wrote(path)
        elif self.fsync is FsyncPolicy.FILE:
            self._open_and_sync(os.fsync, os.path.dirname(path))
        return file

    def _create(self, path: bytes, mode: int = _FILE_MODE, *, hollow: bool = False) -> WriteFile:
        start = self._now()
        try:
            fd = self._paths.open(path, _CREATE_FLAGS, mode)
            if hollow:
                discard_writes(fd)
        except OSError as e:
            self._record(_CREATE, start, self._now() - start, 0, path, e.errno or 0)
            raise
        self._record(_CREATE, start, self._now() - start, 0, path, 0)
        sync_on_close = self.fsync is FsyncPolicy.FILE and not hollow
        return WriteFile(fd, path, self._record, self._now, self.remove, sync_on_close)

    def write_file(self, path: bytes, chunks: Iterable[Buffer], *, private: bool = False, hollow: bool = False) -> int:
        """Write a whole file under a temporary name, then rename it; return its size in bytes.

        Directories above it are made if they are missing. Only its owner may read a `private` one. A `hollow` one makes
        every call and holds nothing. Whatever goes wrong, also inside `chunks`, the temporary file is removed and the
        error propagates; a file of that name is replaced only by a whole one."""
        with self.writing(path, private=private, hollow=hollow) as file:
            for piece in gathered(chunks):
                file.write(piece)
        return file.bytes_written

    @contextmanager
    def writing(self, path: bytes, *, private: bool = False, hollow: bool = False) -> Iterator[WriteFile]:
        """Like `write_file`, for callers that write several at once: the file gets its own name when the block ends
        without error."""
        temporary = b"%s.%s.tmp" % (path, secrets.token_hex(6).encode())
        mode = _PRIVATE_MODE if private else _FILE_MODE
        with self._create_making_parents(temporary, mode, hollow) as file:
            yield file
        try:
            self.rename(temporary, path)
        except StorageFault:
            file.abort()
            raise

    def _create_making_parents(self, path: bytes, mode: int, hollow: bool) -> WriteFile:
        try:
            try:
                return self._create(path, mode, hollow=hollow)
            except FileNotFoundError:
                # Asking beforehand would be a call for each file; this one is for each directory.
                self.mkdir(os.path.dirname(path))
                return self._create(path, mode, hollow=hollow)
        except OSError as e:
            raise storage_fault("create", path, e) from e

    def copy_in(self, local_path: str | bytes, path: bytes, alive: Callable[[], None] | None = None) -> int:
        """Publish a file from local scratch, whose reads are not recorded; return its size in bytes. `alive` is called
        for each piece."""
        try:
            return self.write_file(path, local_chunks(local_path, alive), hollow=self.discards)
        except OSError as e:
            raise storage_fault("read scratch file", os.fsencode(local_path), e) from e

    def rename(self, old: bytes, new: bytes) -> None:
        """rename(2), replacing the target; made durable according to the fsync policy. Raises StorageFault."""
        start = self._now()
        try:
            self._paths.rename(old, new)
        except OSError as e:
            self._record(_RENAME, start, self._now() - start, 0, new, e.errno or 0, 0, old)
            raise storage_fault("rename to", new, e) from e
        self._record(_RENAME, start, self._now() - start, 0, new, 0, 0, old)
        if self.fsync is FsyncPolicy.TASK:
            self._unsynced.renamed(old, new)
        elif self.fsync is FsyncPolicy.FILE:
            self._open_and_sync(os.fsync, os.path.dirname(new))

    def remove(self, path: bytes, *, missing_ok: bool = False) -> None:
        """unlink(2) of anything but a directory; raises StorageFault."""
        self._remove(self._paths.unlink, path, missing_ok)

    def _remove(self, call: Callable[[bytes], None], path: bytes, missing_ok: bool) -> None:
        self._unsynced.removed(path)
        start = self._now()
        try:
            call(path)
        except OSError as e:
            self._record(_REMOVE, start, self._now() - start, 0, path, e.errno or 0)
            if missing_ok and e.errno == errno.ENOENT:
                return
            raise storage_fault("remove", path, e) from e
        self._record(_REMOVE, start, self._now() - start, 0, path, 0)

    def mkdir(self, path: bytes, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Make a directory and, if requested, those above it, but never `floor`. Raises StorageFault."""
        if self.floor and (path == self.floor or self.floor.startswith(path.rstrip(b"/") + b"/")):
            self.stat_floor()
            return
        start = self._now()
        try:
            self._paths.mkdir(path, _DIRECTORY_MODE)
        except OSError as e:
            self._record(_MKDIR, start, self._now() - start, 0, path, e.errno or 0)
            above = os.path.dirname(path)
            if e.errno == errno.ENOENT and parents and above != path:
                self.mkdir(above)
                self.mkdir(path, parents=False, exist_ok=exist_ok)
                return
            if e.errno == errno.EEXIST and exist_ok and self._is_directory(path):
                return
            raise storage_fault("make directory", path, e) from e
        self._record(_MKDIR, start, self._now() - start, 0, path, 0)
        if self.fsync is FsyncPolicy.TASK:
            self._unsynced.made(path)
        elif self.fsync is FsyncPolicy.FILE:
            self._open_and_sync(os.fsync, os.path.dirname(path))

    def stat_floor(self) -> None:
        """Raise StorageFault unless `floor` exists: writes to an unmounted mount point would fill the local disk."""
        try:
            self.stat(self.floor)
        except SourceFileError as e:
            raise StorageFault(
                f"{display_name(self.floor)} is missing from the storage ({os.strerror(e.errno)}); check that it "
                "is mounted",
                errno=e.errno,
            ) from e

    def _is_directory(self, path: bytes) -> bool:
        try:
            return stat_module.S_ISDIR(self.stat(path).st_mode)
        except SourceFileError:
            return False

    def remove_empty(self, path: bytes) -> None:
        """rmdir(2); a missing directory is no error. Raises StorageFault, with ENOTEMPTY if it has entries."""
        self._remove(self._paths.rmdir, path, True)

    def remove_tree(self, path: bytes) -> None:
        """Remove a directory with everything in it, if it exists; links are removed, not followed.

        Others may remove at the same time. Raises StorageFault."""
        full = True
        while full:
            try:
                entries = self.scan(path, AT_ONCE)
            except SourceFileError as e:
                if e.errno == errno.ENOENT:
                    return
                raise StorageFault(f"{e.detail}; give this user access to it, then try again", errno=e.errno) from e
            for name, kind in entries:
                below = os.path.join(path, name)
                if kind is EntryKind.DIRECTORY:
                    self.remove_tree(below)
                else:
                    self._remove(self._paths.unlink, below, True)
            full = len(entries) == AT_ONCE
        self.remove_empty(path)

    # Making safe

    def sync_tree(self, path: bytes) -> None:
        """syncfs(2) of the file system that holds `path`; raises StorageFault."""
        self._open_and_sync(syncfs, path)

    def begin_sync(self, path: bytes) -> BackgroundSync:
        """Begin a syncfs(2) as `sync_tree`, to be waited for later. Raises StorageFault."""
        return BackgroundSync(self._open_to_sync(path), path, self._record, self._now)

    def sync_written(self) -> None:
        """fsync(2) every file written and directory changed since the last call (policy `task`; else nothing). A
        removed file needs none. Raises StorageFault."""
        files, directories = self._unsynced.take()
        if self.fsync is not FsyncPolicy.TASK:  # left over from a job with another policy
            return
        for path in files + directories:
            try:
                self._open_and_sync(os.fsync, path)
            except StorageFault as e:
                if e.errno != errno.ENOENT:
                    raise

    def _open_and_sync(self, sync: Callable[[int], None], path: bytes) -> None:
        fd = self._open_to_sync(path)
        try:
            sync_fd(sync, fd, path, self._record, self._now)
        finally:
            close_fd(fd, path, self._record, self._now)

    def _open_to_sync(self, path: bytes) -> int:
        start = self._now()
        try:
            fd = self._paths.open(path, _SYNC_FLAGS)
        except OSError as e:
            self._record(_OPEN, start, self._now() - start, 0, path, e.errno or 0)
            raise storage_fault("open", path, e) from e
        self._record(_OPEN, start, self._now() - start, 0, path, 0)
        return fd

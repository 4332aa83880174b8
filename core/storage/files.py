"""Open files on storage: every read(2) and write(2) they make is one call record.

Only `core.storage.layer.Storage` makes these. They have no `fileno()` on purpose: a library that got hold of the
descriptor could move bytes without a record."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Protocol

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.operations import Op, Recorder
from core.records import Phase
from core.storage.errors import cut_short, reading_error, storage_fault
from readers.errors import ExceptionCode

if TYPE_CHECKING:
    from typing_extensions import Buffer

WRITE_SIZE = 1 << 20  # small chunks are gathered into writes of this many bytes


def gathered(chunks: Iterable[Buffer]) -> Iterator[Buffer]:
    """The same bytes in pieces of WRITE_SIZE, the last one smaller; large chunks are not copied."""
    held = bytearray()
    for chunk in chunks:
        view = memoryview(chunk)
        if view.ndim != 1 or view.itemsize != 1:
            view = view.cast("B")
        while view:
            if not held and len(view) >= WRITE_SIZE:
                yield view[:WRITE_SIZE]
                view = view[WRITE_SIZE:]
                continue
            room = WRITE_SIZE - len(held)
            held += view[:room]
            view = view[room:]
            if len(held) == WRITE_SIZE:
                yield held
                held = bytearray()
    if held:
        yield held


def local_chunks(path: str | bytes, alive: Callable[[], None] | None = None) -> Iterator[bytes]:
    """A file on local scratch, in pieces of WRITE_SIZE; raises OSError. `alive` is called before each."""
    with open(path, "rb") as file:
        while chunk := file.read(WRITE_SIZE):
            if alive is not None:
                alive()
            yield chunk


class Station(Protocol):
    """An object that delays calls."""

    def works_on(self, phase: Phase) -> None:
        """Set the phase of the calls that follow."""

    def serve(
        self, op: Op, nbytes: int, arrived_ns: int, path: bytes = b"", argument: int = 0, other: bytes = b""
    ) -> int:
        """Return when the call would have ended, with that monotonic time in nanoseconds. `path`, `argument` and
        `other` are those of the call's record."""


class DelayingRecorder:
    """Wraps a recorder: serves the call first, so that the recorded duration includes the delay.

    Storage records every call before it returns, so a delay here is a delay of the call."""

    def __init__(self, recorder: Recorder, station: Station) -> None:
        self._record = recorder.record
        self._serve = station.serve

    def record(
        self,
        op: Op,
        start_ns: int,
        duration_ns: int,
        nbytes: int,
        path: bytes,
        error: int,
        argument: int = 0,
        other: bytes = b"",
    ) -> None:
        ended = self._serve(op, nbytes, start_ns, path, argument, other)
        self._record(op, start_ns, max(duration_ns, ended - start_ns), nbytes, path, error, argument, other)


_NOWHERE = os.devnull


def discard_writes(descriptor: int) -> None:
    """Discard all further writes through this descriptor, one call each as before. The opened file keeps its name and
    content. The descriptor cannot be synced any more. Raises OSError."""
    nowhere = os.open(_NOWHERE, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.dup2(nowhere, descriptor, inheritable=False)
    finally:
        os.close(nowhere)


if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_READ = 1 << 30  # Linux moves at most 2 GiB less a page at once

_READ, _WRITE, _FSYNC, _CLOSE = Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE


class RecordCall(Protocol):
    """The type of a bound `Recorder.record`."""

    def __call__(
        self, op: Op, start_ns: int, duration_ns: int, nbytes: int, path: bytes, error: int, argument: int = 0, /
    ) -> None: ...


class ReadFile(io.RawIOBase):
    """A regular file open for reading; wrap it in `io.BufferedReader(f, 1 << 20)` for small reads.

    `size`, `mtime_ns` and `ctime_ns` are those at the open. Positions are kept here, so seeking costs no call. `in_place`
    returns whether the name still leads to this file.
    Raises SourceFileError or StorageFault (see core.storage.errors) from every read, StorageFault from close."""

    def __init__(
        self,
        fd: int,
        path: bytes,
        size: int,
        mtime_ns: int,
        ctime_ns: int,
        record: RecordCall,
        now: Callable[[], int],
        in_place: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.path = path
        self.size = size
        self.mtime_ns = mtime_ns
        self.ctime_ns = ctime_ns
        self._fd = fd
        self._position = 0
        self._record = record
        self._now = now
        self._in_place = in_place

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> NoReturn:
        raise io.UnsupportedOperation("files on storage are read through the recorder only")

    def readinto(self, buffer: Buffer, /) -> int:
        """Read by one read(2) at the position; return 0 at the end of the file."""
        start = self._now()
        try:
            n = os.preadv(self._fd, (buffer,), self._position)
        except OSError as e:
            self._record(_READ, start, self._now() - start, 0, self.path, e.errno or 0, self._position)
            raise self._failed(e) from e
        self._record(_READ, start, self._now() - start, n, self.path, 0, self._position)
        self._position += n
        return n

    def pread(self, size: int, offset: int) -> bytes:
        """Read at most `size` bytes from `offset` by one read(2); the position does not change."""
        start = self._now()
        try:
            data = os.pread(self._fd, size, offset)
        except OSError as e:
            self._record(_READ, start, self._now() - start, 0, self.path, e.errno or 0, offset)
            raise self._failed(e) from e
        self._record(_READ, start, self._now() - start, len(data), self.path, 0, offset)
        return data

    def _failed(self, error: OSError) -> SourceFileError | StorageFault:
        """The error for a failed read. NFS returns ESTALE for a file that another client has removed or replaced: an
        error of this file alone if its name no longer leads to it."""
        if error.errno != errno.ESTALE or self._in_place():
            return reading_error("read", self.path, error)
        detail = f"cannot read {display_name(self.path)}: it was removed or replaced while it was read"
        return SourceFileError(ExceptionCode.VANISHED, detail, errno=errno.ESTALE)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes by one read(2), or all the rest."""
        if size is None or size < 0:
            return self.readall()
        data = self.pread(min(size, MAX_READ), self._position)
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        """Read from the position to the end of the file at the open. Raises SourceFileError if it ends sooner."""
        pieces: list[bytes] = []
        while self._position < self.size and (piece := self.read(self.size - self._position)):
            pieces.append(piece)
        if self._position < self.size:
            raise cut_short(self.path, self._position, self.size)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative position {base + offset}")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Close the file. GlusterFS opens files late and may report only here that another client has removed one
        (ENOENT, ESTALE): ignored, as the reads succeeded."""
        if self.closed:
            return
        try:
            close_fd(self._fd, self.path, self._record, self._now)
        except StorageFault as e:
            if e.errno not in (errno.ENOENT, errno.ESTALE):
                raise
        finally:
            super().close()


class WriteFile:
    """A new file being written. As a context manager, it is closed after success, else aborted.

    Every method raises StorageFault; abort the file after one."""

    def __init__(
        self,
        fd: int,
        path: bytes,
        record: RecordCall,
        now: Callable[[], int],
        remove: Callable[[bytes], None],
        sync_on_close: bool,
    ) -> None:
        self.path = path
        self.bytes_written = 0
        self._fd = fd
        self._record = record
        self._now = now
        self._remove = remove
        self._sync_on_close = sync_on_close
        self._open = True

    def write(self, data: Buffer) -> int:
        """Write all of `data`, by as many write(2) as the system requires; return its length in bytes."""
        view = memoryview(data)
        if view.ndim != 1 or view.itemsize != 1:
            view = view.cast("B")
        total = len(view)
        done = 0
        while done < total:
            done += self._write_once(view[done:] if done else view, self.bytes_written + done)
        self.bytes_written += total
        return total

    def _write_once(self, view: memoryview, offset: int) -> int:
        start = self._now()
        try:
            n = os.write(self._fd, view)
            if n == 0:  # POSIX allows it; a retry would never end
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        except OSError as e:
            self._record(_WRITE, start, self._now() - start, 0, self.path, e.errno or 0, offset)
            raise storage_fault("write", self.path, e) from e
        self._record(_WRITE, start, self._now() - start, n, self.path, 0, offset)
        return n

    def sync(self) -> None:
        """Force what was written to stable storage."""
        sync_fd(os.fsync, self._fd, self.path, self._record, self._now)

    def close(self) -> None:
        """Close the file. NFS may report a full or broken filer only here, so an error counts."""
        if not self._open:
            return
        if self._sync_on_close:
            self.sync()
        self._open = False
        close_fd(self._fd, self.path, self._record, self._now)

    def keep(self) -> None:
        """Make an abort leave the file: another process may have given its name to a file of its own by then."""
        self._remove = _leave

    def abort(self) -> None:
        """Close and remove the file. Errors are ignored: another one is being raised, and the calls are recorded."""
        with contextlib.suppress(StorageFault):
            if self._open:
                self._open = False
                close_fd(self._fd, self.path, self._record, self._now)
        with contextlib.suppress(StorageFault):
            self._remove(self.path)

    def __enter__(self) -> WriteFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is not None:
            self.abort()
            return
        try:
            self.close()
        except StorageFault:
            self.abort()
            raise


def _leave(_path: bytes) -> None:
    """Do not remove the file, which is to be kept."""


def close_fd(fd: int, path: bytes, record: RecordCall, now: Callable[[], int]) -> None:
    """close(2), recorded. The descriptor is gone even when this raises StorageFault."""
    start = now()
    try:
        os.close(fd)
    except OSError as e:
        record(_CLOSE, start, now() - start, 0, path, e.errno or 0)
        raise storage_fault("close", path, e) from e
    record(_CLOSE, start, now() - start, 0, path, 0)


def sync_fd(sync: Callable[[int], None], fd: int, path: bytes, record: RecordCall, now: Callable[[], int]) -> None:
    """fsync(2) or syncfs(2), recorded; raises StorageFault."""
    start = now()
    try:
        sync(fd)
    except OSError as e:
        record(_FSYNC, start, now() - start, 0, path, e.errno or 0)
        raise storage_fault("sync", path, e) from e
    record(_FSYNC, start, now() - start, 0, path, 0)

"""The system calls of a replay, the same as `core.storage.layer` makes for each op.

They are bare calls, because the storage layer's own work for a call (its records, its error messages) is a fifth of
what a client may spend on one (docs/dev/decisions.md, 37). Each takes the fields of a step and returns the bytes moved;
all raise OSError."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from functools import partial
from typing import Final

from core.content import Content
from core.operations import Op
from core.storage.beneath import entry_kind
from core.storage.sync import syncfs
from replay import script
from replay.script import NO_SLOT

_READ_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_UPDATE_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
_CREATE_READ_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
_REPLACE_FLAGS: Final = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_REPLACE_READ_FLAGS: Final = os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE_MODE: Final = 0o640
_DIRECTORY_MODE: Final = 0o750
_SMALL: Final = 65_536  # bytes; larger reads go into one buffer, because a new one each time costs more than the read
_BUFFER: Final = 1 << 26  # bytes at most; a larger read uses it several times

Made = Callable[[bytes, bytes, int, int, int, int], int]  # path, other path, slot, bytes, argument, node


class Calls:
    """Calls of one client and its open files. `by_code` contains a function for each code of `replay.script`. `null`:
    written bytes are discarded."""

    def __init__(
        self, content: Content, classes: memoryview, slots: int, most_read: int, *, null: bool = False
    ) -> None:
        self._content = content
        self._classes = classes
        self._open = [NO_SLOT] * slots
        # Page-aligned, unlike malloc's memory: a copy from a cache to unaligned memory takes twice as long or more.
        self._buffer = memoryview(mmap.mmap(-1, min(_BUFFER, max(most_read, 1))))
        stat, read_only = _by_path(os.lstat), self._opener(_READ_FLAGS, look=True)
        forms: dict[int, Made] = {
            Op.SCAN: _by_path(_scan), Op.STAT: stat, Op.OPEN: read_only, Op.READ: self._read,
            Op.CREATE: self._opener(_CREATE_FLAGS), Op.WRITE: self._discard if null else self._write,
            Op.FSYNC: self._by_slot(_fsync), Op.CLOSE: self._close, Op.RENAME: _rename, Op.REMOVE: _by_path(os.unlink),
            Op.MKDIR: _by_path(partial(os.mkdir, mode=_DIRECTORY_MODE)),
            script.OPEN_TO_WRITE: self._opener(_UPDATE_FLAGS, look=True),
            script.CREATE_TO_READ: self._opener(_CREATE_READ_FLAGS),
            script.REPLACE: self._opener(_REPLACE_FLAGS),
            script.REPLACE_TO_READ: self._opener(_REPLACE_READ_FLAGS),
            script.SYNC_ALL: self._by_slot(syncfs),
            script.REMOVE_DIRECTORY: _by_path(os.rmdir),
            script.OPEN_ONLY: read_only,
            script.ADOPT: self._opener(_READ_FLAGS),
            script.ADOPT_TO_WRITE: self._opener(_UPDATE_FLAGS),
            **{script.LOOK + op: stat for op in Op},
        }  # fmt: skip
        self.by_code = [forms.get(code & ~script.INDEXING, _nothing) for code in range(script.CODES)]

    def close_all(self) -> None:
        """Close the files that are still open."""
        for slot, fd in enumerate(self._open):
            if fd != NO_SLOT:
                self._open[slot] = NO_SLOT
                os.close(fd)

    def _opener(self, flags: int, *, look: bool = False) -> Made:
        """Return a function that opens and keeps a file; `look`: with an fstat, as the storage layer does."""

        def opened(path: bytes, _other: bytes, slot: int, *_more: int) -> int:
            fd = os.open(path, flags, _FILE_MODE)
            if look:
                try:
                    os.fstat(fd)
                except OSError:
                    os.close(fd)
                    raise
            if slot == NO_SLOT:  # it was not expected to succeed, and no call will use it
                os.close(fd)
            else:
                self._open[slot] = fd
            return 0

        return opened

    def _by_slot(self, call: Callable[[int], object]) -> Made:
        def made(_path: bytes, _other: bytes, slot: int, *_more: int) -> int:
            call(self._open[slot] if slot >= 0 else slot)
            return 0

        return made

    def _read(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = self._open[slot] if slot >= 0 else slot
        if nbytes <= _SMALL:  # a read at the end of the file moved nothing, but requested something
            return len(os.pread(fd, nbytes or 1, argument))
        return os.preadv(fd, _repeated(self._buffer, nbytes), argument)

    def _write(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = self._open[slot] if slot >= 0 else slot
        piece = self._content.piece(self._classes[node], node, argument, min(nbytes, self._content.most))
        if len(piece) == nbytes:
            return os.pwrite(fd, piece, argument)
        return os.pwritev(fd, _repeated(piece, nbytes), argument)

    def _discard(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        """Create the bytes as for a write, but only extend the file to the same length. If two clients extend a file at
        the same moment, it may get the shorter of both lengths."""
        fd = self._open[slot] if slot >= 0 else slot
        self._content.piece(self._classes[node], node, argument, min(nbytes, self._content.most))
        if os.fstat(fd).st_size < argument + nbytes:
            os.ftruncate(fd, argument + nbytes)
        return nbytes

    def _close(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = slot
        if slot >= 0:
            fd, self._open[slot] = self._open[slot], NO_SLOT
        os.close(fd)
        return 0


def _by_path(call: Callable[[bytes], object]) -> Made:
    def made(path: bytes, *_more: object) -> int:
        call(path)
        return 0

    return made


def _scan(path: bytes) -> None:
    with os.scandir(path) as entries:
        for entry in entries:
            entry_kind(entry)


def _fsync(fd: int) -> None:
    if fd < 0:  # Python's fsync raises another error for it
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    os.fsync(fd)


def _rename(path: bytes, other: bytes, *_more: int) -> int:
    os.rename(other, path)
    return 0


def _nothing(*_step: object) -> int:
    raise ValueError("a step with an unknown code")


def _repeated(view: memoryview, nbytes: int) -> list[memoryview]:
    """Return buffers of `nbytes` bytes in total."""
    whole, rest = divmod(nbytes, len(view))
    return [view] * whole + ([view[:rest]] if rest else [])

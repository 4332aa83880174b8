"""The system calls of a replay, the same as `core.storage.layer` makes for each op.

Bare, because the storage layer's own work for a call (its records, its errors in words) is a fifth of what a client may
spend on one (docs/dev/decisions.md, 37). Each takes the fields of a step and returns the bytes moved; all raise
OSError.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
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
    """One client's calls and its open files. `by_code` holds a function for each code of `replay.script`. `null`: what is
    written is discarded."""

    def __init__(
        self, content: Content, classes: memoryview, slots: int, most_read: int, *, null: bool = False
    ) -> None:
        self._content = content
        self._classes = classes
        self._open = [NO_SLOT] * slots
        # Begins with a page, as what malloc gives does not: a copy out of a cache to there takes twice as long and more.
        self._buffer = memoryview(mmap.mmap(-1, min(_BUFFER, max(most_read, 1))))
        self.by_code: list[Made] = [self._nothing] * (script.LOOK + len(Op))
        self.by_code[: len(Op)] = [
            self._scan,
            self._stat,
            self._open_to_read,
            self._read,
            self._create,
            self._discard if null else self._write,
            self._fsync,
            self._close,
            self._rename,
            self._remove,
            self._mkdir,
        ]
        self.by_code[script.OPEN_TO_WRITE] = self._open_to_write
        self.by_code[script.CREATE_TO_READ] = self._create_to_read
        self.by_code[script.REPLACE] = self._replace
        self.by_code[script.REPLACE_TO_READ] = self._replace_to_read
        self.by_code[script.SYNC_ALL] = self._sync_all
        self.by_code[script.REMOVE_DIRECTORY] = self._remove_directory
        self.by_code[script.OPEN_ONLY] = self._open_to_read
        self.by_code[script.ADOPT] = self._adopt
        self.by_code[script.ADOPT_TO_WRITE] = self._adopt_to_write
        self.by_code[script.LOOK :] = [self._stat] * len(Op)
        self.by_code += [self._nothing] * (script.INDEXING - len(self.by_code))
        self.by_code += self.by_code

    def close_all(self) -> None:
        """Close what is open still."""
        for slot, fd in enumerate(self._open):
            if fd != NO_SLOT:
                self._open[slot] = NO_SLOT
                os.close(fd)

    def _keep(self, slot: int, fd: int) -> None:
        if slot == NO_SLOT:  # it was not expected to succeed, and nothing will use it
            os.close(fd)
        else:
            self._open[slot] = fd

    def _opened(self, path: bytes, slot: int, flags: int) -> int:
        fd = os.open(path, flags)
        try:
            os.fstat(fd)
        except OSError:
            os.close(fd)
            raise
        self._keep(slot, fd)
        return 0

    def _open_to_read(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        return self._opened(path, slot, _READ_FLAGS)

    def _open_to_write(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        return self._opened(path, slot, _UPDATE_FLAGS)

    def _adopt(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        self._keep(slot, os.open(path, _READ_FLAGS))
        return 0

    def _adopt_to_write(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        self._keep(slot, os.open(path, _UPDATE_FLAGS))
        return 0

    def _create(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        self._keep(slot, os.open(path, _CREATE_FLAGS, _FILE_MODE))
        return 0

    def _create_to_read(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        self._keep(slot, os.open(path, _CREATE_READ_FLAGS, _FILE_MODE))
        return 0

    def _replace(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        self._keep(slot, os.open(path, _REPLACE_FLAGS, _FILE_MODE))
        return 0

    def _replace_to_read(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        self._keep(slot, os.open(path, _REPLACE_READ_FLAGS, _FILE_MODE))
        return 0

    def _nothing(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        raise ValueError("a step of no known code")

    def _scan(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        with os.scandir(path) as entries:
            for entry in entries:
                entry_kind(entry)
        return 0

    def _stat(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        os.lstat(path)
        return 0

    def _read(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = self._open[slot] if slot >= 0 else slot
        if nbytes <= _SMALL:  # a read at the end of the file moved nothing, but was asked for something
            return len(os.pread(fd, nbytes or 1, argument))
        return os.preadv(fd, _repeated(self._buffer, nbytes), argument)

    def _write(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = self._open[slot] if slot >= 0 else slot
        piece = self._content.piece(self._classes[node], node, argument, min(nbytes, self._content.most))
        if len(piece) == nbytes:
            return os.pwrite(fd, piece, argument)
        return os.pwritev(fd, _repeated(piece, nbytes), argument)

    def _discard(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        """The bytes are made as for a write, and the file is as long as if it had them. Two clients that make one file
        longer at the same moment may leave it at the shorter of both."""
        fd = self._open[slot] if slot >= 0 else slot
        self._content.piece(self._classes[node], node, argument, min(nbytes, self._content.most))
        if os.fstat(fd).st_size < argument + nbytes:
            os.ftruncate(fd, argument + nbytes)
        return nbytes

    def _fsync(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = self._open[slot] if slot >= 0 else slot
        if fd < 0:  # which Python's fsync takes for an error of its caller's
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.fsync(fd)
        return 0

    def _sync_all(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        syncfs(self._open[slot] if slot >= 0 else slot)
        return 0

    def _close(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        fd = slot
        if slot >= 0:
            fd, self._open[slot] = self._open[slot], NO_SLOT
        os.close(fd)
        return 0

    def _rename(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        os.rename(other, path)
        return 0

    def _remove(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        os.unlink(path)
        return 0

    def _remove_directory(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        os.rmdir(path)
        return 0

    def _mkdir(self, path: bytes, other: bytes, slot: int, nbytes: int, argument: int, node: int) -> int:
        os.mkdir(path, _DIRECTORY_MODE)
        return 0


def _repeated(view: memoryview, nbytes: int) -> list[memoryview]:
    """Buffers of so many bytes in all."""
    whole, rest = divmod(nbytes, len(view))
    return [view] * whole + ([view[:rest]] if rest else [])

"""A directory as a store: the storage layer's own calls, each recorded (core.storage)."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import SourceFileError, StorageFault
from core.operations import Op, Recorder
from core.records import FsyncPolicy
from core.storage.files import Station
from core.storage.layer import Storage
from experiments.clients.store import Failed, Refused

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOVES = (Op.READ, Op.WRITE)  # the calls that move bytes
_REFUSED = frozenset(
    {
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ETIMEDOUT,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENOTCONN,
        errno.EUSERS,
    }
)


class PathStore:
    """Files below `root`. `station` delays the calls: an emulated filer."""

    def __init__(
        self, root: Path, recorder: Recorder, *, fsync: FsyncPolicy, io_bytes: int, station: Station | None = None
    ) -> None:
        self._root = os.fsencode(root) + b"/"
        self._storage = Storage(recorder, fsync, filer=station)
        self._buffer = mmap.mmap(
            -1, io_bytes
        )  # begins with a page: copies into a bytearray take twice as long and more

    def _path(self, name: str) -> bytes:
        return self._root + name.encode()

    def make(self, directory: str) -> None:
        try:
            self._storage.mkdir(self._path(directory))
        except StorageFault as fault:
            raise _told(fault) from fault

    def write(self, name: str, size: int, pieces: Iterable[Buffer]) -> int:
        try:
            with self._storage.create(self._path(name)) as file:
                for piece in pieces:
                    file.write(piece)
        except StorageFault as fault:
            raise _told(fault) from fault
        return file.bytes_written

    def read(self, name: str) -> int:
        path, total = self._path(name), 0
        try:
            with self._storage.open(path) as file:
                while moved := file.readinto(self._buffer):
                    total += moved
        except (SourceFileError, StorageFault) as fault:
            raise _told(fault) from fault
        return total

    def remove(self, name: str) -> None:
        try:
            self._storage.remove(self._path(name))
        except StorageFault as fault:
            raise _told(fault) from fault

    def forget(self, name: str) -> None:
        try:
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)  # a page that is not written yet cannot go
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise Failed(f"this host's cache of {name} cannot be dropped: {error.strerror}") from error


def _told(fault: SourceFileError | StorageFault) -> Refused | Failed:
    return Refused(str(fault)) if fault.errno in _REFUSED else Failed(str(fault))

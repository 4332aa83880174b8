"""syncfs(2), and the files written since the last sync (fsync policy `task`)."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from types import TracebackType

from core.errors import StorageFault
from core.storage.files import RecordCall, close_fd, sync_fd


class Unsynced:
    """Paths written and directories changed since the last `take`; keeps names only, never descriptors."""

    def __init__(self) -> None:
        self._files: set[bytes] = set()
        self._directories: set[bytes] = set()

    def wrote(self, path: bytes) -> None:
        """Record a new file: its bytes and its directory's entry are not yet safe."""
        self._files.add(path)
        self._directories.add(os.path.dirname(path))

    def made(self, directory: bytes) -> None:
        """Record a new directory: its entry in the parent is not yet safe."""
        self._directories.add(os.path.dirname(directory))

    def renamed(self, old: bytes, new: bytes) -> None:
        """Record that the file has a new name."""
        self._files.discard(old)
        self.wrote(new)

    def removed(self, path: bytes) -> None:
        """Record that the file was removed: it needs no sync."""
        self._files.discard(path)

    def take(self) -> tuple[list[bytes], list[bytes]]:
        """Return the files and directories to sync, in order of name, and forget them."""
        out = sorted(self._files), sorted(self._directories)
        self._files, self._directories = set(), set()
        return out


_libc = ctypes.CDLL(None, use_errno=True)


def syncfs(fd: int) -> None:
    """syncfs(2): write back everything of the file system that `fd` is on; raises OSError."""
    if _libc.syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class BackgroundSync:
    """syncfs(2) in a thread, concurrent with its caller's writes; it may omit any of these. A context manager: when the
    block ends without error it waits for the call, and raises StorageFault if that failed.

    The thread that waits for the call records it, with the call's own times: a recorder belongs to one thread."""

    def __init__(self, fd: int, path: bytes, record: RecordCall, now: Callable[[], int]) -> None:
        self._fd, self._path, self._record, self._now = fd, path, record, now
        self._began = self._ended = now()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._sync, name="syncfs", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the system lets no thread be made
            close_fd(fd, path, record, now)
            raise StorageFault(f"cannot start a thread for syncing: {error}") from error

    def _sync(self) -> None:
        try:
            syncfs(self._fd)
        except OSError as error:
            self._error = error
        self._ended = self._now()

    def wait(self) -> None:
        """Wait until the call has ended. Raises StorageFault."""
        self._thread.join()
        moments = iter((self._began, self._ended))
        try:
            sync_fd(self._outcome, self._fd, self._path, self._record, moments.__next__)
        finally:
            close_fd(self._fd, self._path, self._record, self._now)

    def _outcome(self, _fd: int) -> None:
        if self._error is not None:
            raise self._error

    def __enter__(self) -> BackgroundSync:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self.wait()
            return
        try:
            self.wait()
        except StorageFault as fault:  # the graver of two errors, which the kernel reports only once
            raise fault from error

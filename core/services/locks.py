"""Locks that show who uses the services; the kernel drops them when a process dies (flock(2)).

`users`: every command holds it shared for as long as it needs the services. The keeper tries to get it exclusively;
once it does no user is left, and none can come in while it stops everything.
`start`: held by the one command that looks whether a keeper runs and starts it. `keeper`: held by the keeper.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path


class FileLock:
    """One open description of a lock file; closing it, or dying, gives the lock up."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_shared(self) -> bool:
        """Whether the lock is now held together with others."""
        return self._try(fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """Whether the lock is now held alone. On failure a shared lock held before may be lost (flock(2))."""
        return self._try(fcntl.LOCK_EX)

    def _try(self, mode: int) -> bool:
        try:
            fcntl.flock(self._descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_alone(self, seconds: float) -> bool:
        """Try for so long; whether it worked."""
        return _until(self.try_alone, seconds)

    def wait_shared(self, seconds: float) -> bool:
        """Try for so long; whether it worked."""
        return _until(self.try_shared, seconds)

    def release(self) -> None:
        """Give it up but stay ready to take it again."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give it up for good."""
        os.close(self._descriptor)


@contextlib.contextmanager
def open_lock(path: Path) -> Iterator[FileLock]:
    """A lock file, closed at the end; raises OSError when it cannot be opened."""
    lock = FileLock(path)
    try:
        yield lock
    finally:
        lock.close()


def _until(attempt: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not attempt():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_held(path: Path) -> bool:
    """Whether some other process holds the lock alone."""
    with open_lock(path) as lock:
        return not lock.try_shared()

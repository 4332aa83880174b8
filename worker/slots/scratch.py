"""A worker's directory on local scratch, and what dead ones left there.

scratch/workers/<incarnation>/         held by a lock (flock) while the worker or a slot of it lives
scratch/workers/<incarnation>/slot-N-… one for each slot's process
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from core.errors import StorageFault

log = logging.getLogger(__name__)


def _open_directory(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = _open_directory(directory)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class WorkerScratch:
    """Made by the supervisor before the first fork; the lock's descriptor is inherited, so slots hold it too."""

    def __init__(self, scratch: Path, incarnation: uuid.UUID) -> None:
        self._all = scratch / "workers"
        self.directory = self._all / incarnation.hex
        try:
            self._all.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self._all):  # nobody cleans up between the next two steps
                self.directory.mkdir(mode=0o700)
                self._lock = _open_directory(self.directory)
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StorageFault(
                f"cannot make {self.directory}: {error.strerror}; set EDBENCH_SCRATCH to a local directory "
                "that this user may write",
                errno=error.errno or 0,
            ) from error

    def remove_stale(self) -> None:
        """Remove the directories of workers that nobody belongs to any more."""
        with _locked(self._all):
            for directory in self._all.iterdir():
                descriptor = _open_directory(directory)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                else:
                    shutil.rmtree(directory, ignore_errors=True)
                finally:
                    os.close(descriptor)

    def make(self, slot: int, incarnation: uuid.UUID) -> Path:
        """A fresh directory for one slot's process."""
        path = self.directory / f"slot-{slot}-{incarnation.hex}"
        path.mkdir(mode=0o700)
        return path

    def remove(self, path: Path) -> None:
        """Remove what a dead slot left; a failure is told and leaves it for the next worker."""
        try:
            shutil.rmtree(path)
        except OSError as error:
            log.warning("cannot remove %s: %s", path, error)

    def close(self) -> None:
        """Remove everything."""
        with _locked(self._all):
            self.remove(self.directory)
        os.close(self._lock)

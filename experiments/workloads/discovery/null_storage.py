"""Null storage: the same work with corpus and storage root in memory (tmpfs), so that only the generator is left.

A point that is hardly faster there than on the storage under test says nothing about the storage (design §4).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from controller.jobs.source import PreparedSource, prepare_source
from controller.observe.place_kind import in_memory, read_mounts
from core.errors import StorageFault
from core.memory import free_memory
from core.operations import NullRecorder
from core.storage.layer import Storage
from experiments.workloads.discovery.corpus import Corpus

PLACE = Path("/dev/shm")
_PREFIX = "edbench-null-"
_TIMES_RAW = 3.5  # corpus copy, children, index and room to breathe, in raw bytes
_SHARE = 0.6  # of free memory that may be taken


@dataclass(frozen=True, slots=True)
class NullStorage:
    """A copy of the corpus and room for storage roots, in memory."""

    directory: Path  # that holds both
    source: PreparedSource
    storage: Path


def no_room(corpus: Corpus, jobs: int = 1, place: Path = PLACE) -> str | None:
    """Why there can be no null storage here; None when it fits.

    `jobs`: how many jobs over the whole corpus are to run at a time.
    """
    if not place.is_dir() or not in_memory(place, read_mounts()):
        return f"{place} is no memory file system"
    need = int(corpus.raw_bytes * _TIMES_RAW * jobs)
    room = min(shutil.disk_usage(place).free, int(free_memory() * _SHARE))
    if need > room:
        return f"it needs about {need / 1e9:,.1f} GB in {place}, and {room / 1e9:,.1f} GB may be taken"
    return None


@contextlib.contextmanager
def null_storage(corpus: Corpus, place: Path = PLACE) -> Iterator[NullStorage]:
    """Copies the corpus into memory for as long as the block lasts. Raises StorageFault when it does not fit."""
    _clear_up(place)
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
    try:
        copied = directory / "corpus"
        try:
            shutil.copytree(corpus.root, copied, symlinks=True, copy_function=_copy)
        except (OSError, shutil.Error) as error:
            raise StorageFault(f"the corpus cannot be copied to {directory}: {str(error)[:300]}") from error
        yield NullStorage(directory, prepare_source(Storage(NullRecorder()), copied), directory / "storage")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _clear_up(place: Path) -> None:
    """Remove what killed commands of this user left (root: of anybody): it would hold memory for ever."""
    for left in place.glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(FileNotFoundError):  # another command clears up too
            if pid.isdigit() and not psutil.pid_exists(int(pid)) and os.geteuid() in (0, left.lstat().st_uid):
                shutil.rmtree(left, ignore_errors=True)


def _copy(source: str, target: str) -> None:
    """Regular files with bytes; devices and FIFOs as what they are, so that the null run sees the same items."""
    if os.path.isfile(source):
        shutil.copy2(source, target)
        return
    with contextlib.suppress(PermissionError):  # a device that only root could make is left out
        os.mknod(target, os.lstat(source).st_mode)

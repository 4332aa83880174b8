"""Empty, synced storage roots for single runs, and scratch for an experiment; both are removed afterwards.

A run gets a directory of its own on the storage under test as storage root, so its jobs tree begins empty. What was
written to that file system before is synced first; a sync of the whole machine would wait for what other programs write
elsewhere."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from core.errors import Interrupted, StorageFault, system_errors
from core.services.place import Home, remove_data
from core.settings import Settings
from core.storage.layer import Storage
from experiments.workload import HostLost

FOLDER = "experiments"


@contextlib.contextmanager
def scratch_place(settings: Settings, name: str) -> Iterator[Settings]:
    """Yield settings with an empty scratch below the user's, removed at the end; after a failure the logs are kept.
    Raises StorageFault if it cannot be created."""
    scratch = settings.scratch / FOLDER / name
    with system_errors(StorageFault, f"EDBENCH_SCRATCH: cannot create a directory for the experiment, {scratch}"):
        _make(scratch)
        for directory in (scratch.parent, scratch):
            directory.chmod(0o711)  # PostgreSQL's user has to pass through under root
    with _removed(scratch, home=True):
        yield dataclasses.replace(settings, scratch=scratch)


@contextlib.contextmanager
def fresh_place(settings: Settings, storage: Path, name: str) -> Iterator[Settings]:
    """Yield settings with an empty storage root below `storage`, removed at the end except after a failure. Raises
    StorageFault if it cannot be created."""
    root = storage / FOLDER / name
    with system_errors(StorageFault, f"cannot create the storage root of a run, {root}"):
        _make(root)
    Storage().sync_tree(os.fsencode(root))
    with _removed(root):
        yield dataclasses.replace(settings, storage=root)


def _make(directory: Path) -> None:
    """Create a directory and its missing parents, which another experiment removes at its end if they are empty. Raises
    OSError."""
    for _ in range(9):
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(directory)
            return
    os.makedirs(directory)


@contextlib.contextmanager
def _removed(directory: Path, *, home: bool = False) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, Interrupted, HostLost):
        _remove(directory, home=home)
        raise
    _remove(directory, home=home)


def _remove(directory: Path, *, home: bool) -> None:
    if home:
        remove_data(Home(directory))
    shutil.rmtree(directory, ignore_errors=True)
    for parent in (directory.parent, directory.parent.parent):
        with contextlib.suppress(OSError):
            parent.rmdir()  # when it is empty

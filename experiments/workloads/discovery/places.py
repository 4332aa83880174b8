"""Fresh databases and an emptied, quiet storage root for every single run, removed afterwards.

A run gets a scratch directory of its own, so its database servers are made anew, and a directory of its own on the
storage under test as storage root, so its jobs tree begins empty. Whatever was written before is synced first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from core.errors import Interrupted, StorageFault
from core.services.place import Home, remove_data
from core.settings import Settings
from experiments.workload import HostLost

FOLDER = "experiments"

Owner = tuple[int, int]  # user and group


@contextlib.contextmanager
def fresh_place(settings: Settings, storage: Path, name: str, owner: Owner | None = None) -> Iterator[Settings]:
    """Settings with an empty scratch below the user's and an empty storage root below `storage`.

    The storage root belongs to `owner`, or to us. Both are removed at the end, except after a failure, whose logs and
    files are left to be looked at. Raises StorageFault when they cannot be made.
    """
    scratch = settings.scratch / FOLDER / name
    root = storage / FOLDER / name
    try:
        for directory in (settings.scratch, settings.scratch / FOLDER, scratch.parent, scratch):
            directory.mkdir(parents=True, exist_ok=True)
            if directory != settings.scratch:
                directory.chmod(0o711)  # PostgreSQL's user has to pass through under root
        root.mkdir(parents=True)
        if owner is not None:
            os.chown(root, *owner)
    except OSError as error:
        raise StorageFault(f"no place for a run in {scratch} and {root}: {error}", errno=error.errno or 0) from error
    os.sync()
    try:
        yield dataclasses.replace(settings, scratch=scratch, storage=root)
    except (KeyboardInterrupt, Interrupted, HostLost):
        _remove(scratch, root)
        raise
    _remove(scratch, root)


@contextlib.contextmanager
def empty_beside(directory: Path, name: str) -> Iterator[Path]:
    """An empty directory beside another, owned and closed as that one, removed at the end. Raises StorageFault."""
    made = directory.with_name(f"{directory.name}-{name.replace('/', '-')}")
    try:
        like = directory.stat()
        made.mkdir(mode=0o700)
        os.chown(made, like.st_uid, like.st_gid)
        made.chmod(stat.S_IMODE(like.st_mode))
    except OSError as error:
        raise StorageFault(f"no place for a fresh database in {made}: {error}", errno=error.errno or 0) from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _remove(scratch: Path, root: Path) -> None:
    remove_data(Home(scratch))
    for directory in (scratch, root):
        shutil.rmtree(directory, ignore_errors=True)
        for parent in (directory.parent, directory.parent.parent):
            with contextlib.suppress(OSError):
                parent.rmdir()  # when it is empty

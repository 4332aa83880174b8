"""Copies of a source on the storage root, so that simultaneous jobs do not read the same files (`--source-copies`)."""

from __future__ import annotations

import errno
import os
import uuid
from itertools import chain
from pathlib import Path

from controller.jobs.source import PreparedSource, prepare_source
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.places import copies_location
from core.storage.layer import EntryKind, Storage

_CHUNK = 1 << 20


def copy_source(
    storage: Storage, storage_root: Path, group: uuid.UUID, database: str, source: PreparedSource
) -> PreparedSource:
    """The source copied for one database, prepared like any other.

    Raises UsageError for what cannot be copied (links, devices, unreadable files, names that are one on the storage root),
    StorageFault.
    """
    storage.keep_below(os.fsencode(storage_root), own=True)
    copies = os.path.join(os.fsencode(storage_root), copies_location(group))
    target = os.path.join(copies, database.encode())
    storage.mkdir(copies)
    _copy_tree(storage, source.path, target)
    return prepare_source(storage, os.fsdecode(target))


def remove_copies(storage: Storage, storage_root: Path, group: uuid.UUID) -> None:
    """Remove all copies of a group's source; nothing if there are none. Raises StorageFault."""
    storage.keep_below(os.fsencode(storage_root), own=True)
    storage.remove_tree(os.path.join(os.fsencode(storage_root), copies_location(group)))


def _copy_tree(storage: Storage, path: bytes, target: bytes) -> None:
    try:
        storage.mkdir(target, exist_ok=False)
        listing = storage.listing(path)
    except SourceFileError as error:
        raise _cannot_copy(error.detail) from error
    except StorageFault as error:
        raise _of_name(path, error) from error
    with listing:
        for entry in chain.from_iterable(listing):
            below, copied = os.path.join(path, entry.name), os.path.join(target, entry.name)
            if entry.kind is EntryKind.DIRECTORY:
                _copy_tree(storage, below, copied)
            else:
                _copy_file(storage, below, copied)


def _copy_file(storage: Storage, path: bytes, target: bytes) -> None:
    try:
        with storage.open(path) as file, storage.create(target) as copy:
            while chunk := file.read(_CHUNK):
                copy.write(chunk)
    except SourceFileError as error:
        raise _cannot_copy(error.detail) from error
    except StorageFault as error:
        raise _of_name(path, error) from error


def _of_name(path: bytes, error: StorageFault) -> UsageError | StorageFault:
    """The storage root may take two names of the source for one, and one of the two would be lost."""
    if error.errno != errno.EEXIST:
        return error
    return _cannot_copy(f"{display_name(path)} exists already on the storage root (does its file system ignore case?)")


def _cannot_copy(why: str) -> UsageError:
    return UsageError(f"the source cannot be copied: {why}; use --source-copies 1, which needs no copy")

"""Copies of a source on the storage root, so that simultaneous jobs do not read the same files (`--source-copies`)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from controller.jobs.source import PreparedSource, prepare_source
from core.errors import SourceFileError, UsageError
from core.places import copies_location
from core.storage.layer import EntryKind, ReadFile, Storage

_CHUNK = 1 << 20


def copy_source(
    storage: Storage, storage_root: Path, group: uuid.UUID, database: str, source: PreparedSource
) -> PreparedSource:
    """The source copied for one database, prepared like any other.

    Raises UsageError for what cannot be copied (links, devices, unreadable files), StorageFault.
    """
    storage.keep_below(os.fsencode(storage_root), own=True)
    target = os.path.join(os.fsencode(storage_root), copies_location(group), database.encode())
    _copy_tree(storage, source.path, target)
    return prepare_source(storage, os.fsdecode(target))


def remove_copies(storage: Storage, storage_root: Path, group: uuid.UUID) -> None:
    """Remove all copies of a group's source; nothing if there are none. Raises StorageFault."""
    storage.keep_below(os.fsencode(storage_root), own=True)
    storage.remove_tree(os.path.join(os.fsencode(storage_root), copies_location(group)))


def _copy_tree(storage: Storage, path: bytes, target: bytes) -> None:
    storage.mkdir(target)
    try:
        listing = storage.listing(path)
    except SourceFileError as error:
        raise _cannot_copy(error.detail) from error
    with listing:
        for entry in chain.from_iterable(listing):
            below, copied = os.path.join(path, entry.name), os.path.join(target, entry.name)
            if entry.kind is EntryKind.DIRECTORY:
                _copy_tree(storage, below, copied)
            else:
                _copy_file(storage, below, copied)


def _copy_file(storage: Storage, path: bytes, target: bytes) -> None:
    try:
        with storage.open(path) as file:
            storage.write_file(target, _chunks(file))
    except SourceFileError as error:
        raise _cannot_copy(error.detail) from error


def _chunks(file: ReadFile) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _cannot_copy(why: str) -> UsageError:
    return UsageError(f"the source cannot be copied: {why}; use --source-copies 1, which needs no copy")

"""Owner of the directory of a new job or result, if the workers do not run as the user who creates it."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.passwords import PasswordBank, bank_location, parse_bank
from core.records import BankNote, Job
from core.storage.beneath import open_beneath
from core.storage.layer import Storage


def hand_over(directory: bytes, storage_root: Path) -> None:
    """Give a job's directory to the owner of the storage root, if this process is root: workers in containers run as
    that owner.

    The directories between the two are given too, if they belong to root. No link is followed: the owner could have
    created one meanwhile, to be given its target. Raises StorageFault if the filer refuses (an export that squashes
    root sets the owner itself)."""
    if os.geteuid() != 0:
        return
    try:
        top = os.path.abspath(os.fsencode(storage_root))
        root = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if os.fstat(root).st_uid:
                _give(root, os.path.relpath(directory, top))
        finally:
            os.close(root)
    except OSError as error:
        raise StorageFault(
            f"{display_name(directory)} cannot be given to the owner of {storage_root}: {error.strerror};"
            " run the command as that owner",
            errno=error.errno or 0,
        ) from error


def hand_over_tree(directory: Path, storage_root: Path) -> None:
    """Give a complete directory, with everything in it, like `hand_over`. Raises StorageFault."""
    hand_over(os.fsencode(directory.absolute()), storage_root)
    owner = os.stat(storage_root)
    if os.geteuid() != 0 or not owner.st_uid:
        return
    try:
        for _, folders, names, place in os.fwalk(directory, follow_symlinks=False):
            for name in (*folders, *names):
                found = os.lstat(name, dir_fd=place)
                if found.st_uid == 0 and (
                    found.st_nlink == 1 or name in folders
                ):  # no link to what is root's elsewhere
                    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)
    except OSError as error:
        raise StorageFault(
            f"{directory} cannot be given to the owner of {storage_root}: {error.strerror}", errno=error.errno or 0
        ) from error


def _give(root: int, relative: bytes) -> None:
    """Give the file, and every directory between it and the root, to the root's owner; raises OSError."""
    owner = os.fstat(root)
    while relative:
        above, name = os.path.split(relative)
        directory = open_beneath(root, above or b".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if os.lstat(name, dir_fd=directory).st_uid == 0:
                os.chown(name, owner.st_uid, owner.st_gid, dir_fd=directory, follow_symlinks=False)
        finally:
            os.close(directory)
        relative = above


def store_bank(storage_root: Path, job: uuid.UUID, bank: PasswordBank) -> BankNote:
    """Write the bank, readable by its owner only; return the part of it that may be shown. Raises StorageFault."""
    note = bank.note
    path = _path(storage_root, job, note)
    _storage(storage_root).write_file(path, [bank.to_bytes()], private=True)
    hand_over(path, storage_root)
    return note


def stored_bank(storage_root: Path, job: Job) -> PasswordBank | None:
    """Return the job's password bank; None if it has none. Raises UsageError if it cannot be read."""
    note = job.options.passwords
    if not note.count:
        return None
    path = _path(storage_root, job.id, note)
    try:
        with _storage(storage_root).open(path) as file:
            return parse_bank(file.readall(), display_name(path))
    except SourceFileError as error:
        raise UsageError(
            f"the password bank of job {job.id} cannot be read ({error.detail}); run the command as the user who"
            " created the job, with the job's storage root"
        ) from error


def remove_bank(storage_root: Path, job: uuid.UUID, note: BankNote) -> None:
    """Remove a bank that no task needs any more. Raises StorageFault."""
    if note.count:
        _storage(storage_root).remove(_path(storage_root, job, note), missing_ok=True)


def _path(storage_root: Path, job: uuid.UUID, note: BankNote) -> bytes:
    return os.path.join(os.path.abspath(os.fsencode(storage_root)), bank_location(job, note))


def _storage(storage_root: Path) -> Storage:
    storage = Storage()
    storage.keep_below(os.fsencode(storage_root), own=True)
    return storage

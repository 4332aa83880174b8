"""The password bank in a job's folder on the filer, where the workers of every host read it; `delete` takes it along."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from controller.jobs.ownership import hand_over
from core.errors import SourceFileError, UsageError
from core.names import display_name
from core.operations import NullRecorder
from core.passwords import PasswordBank, bank_location, parse_bank
from core.records import BankNote, Job
from core.storage.layer import Storage


def store_bank(storage_root: Path, job: uuid.UUID, bank: PasswordBank) -> BankNote:
    """Write the bank, for its owner's eyes only; what may be told of it. Raises StorageFault."""
    note = bank.note
    path = _path(storage_root, job, note)
    _storage(storage_root).write_file(path, [bank.to_bytes()], private=True)
    hand_over(path, storage_root)
    return note


def stored_bank(storage_root: Path, job: Job) -> PasswordBank | None:
    """The bank that the job has; None when it has none. Raises UsageError when it cannot be read."""
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
    storage = Storage(NullRecorder())
    storage.keep_below(os.fsencode(storage_root), own=True)
    return storage

"""The password bank of the job that a slot works for, read once from the job's folder on the filer."""

from __future__ import annotations

import os

from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.passwords import bank_location, parse_bank
from core.records import Job
from core.storage.layer import Storage
from readers.passwords import NO_PASSWORDS, Passwords


class Banks:
    """The bank read last; a slot goes on with one job for a while."""

    def __init__(self) -> None:
        self._read: tuple[bytes, Passwords] | None = None

    def of(self, storage: Storage, root: bytes, job: Job) -> Passwords:
        """The job's passwords. StorageFault when its bank is not there, or is another than the job was given."""
        note = job.options.passwords
        if not note.count:
            return NO_PASSWORDS
        path = os.path.join(root, bank_location(job.id, note))
        if self._read is None or self._read[0] != path:
            self._read = path, _bank(storage, path, note.digest)
        return self._read[1]


def _bank(storage: Storage, path: bytes, digest: str) -> Passwords:
    try:
        with storage.open(path) as file:
            data = file.readall()
        bank = parse_bank(data, display_name(path))
    except (SourceFileError, UsageError) as error:
        raise StorageFault(f"the job's password bank cannot be read ({error}); see to {display_name(path)}") from error
    if bank.note.digest != digest:
        raise StorageFault(f"{display_name(path)} is not the password bank of this job; restore that")
    return Passwords(bank.passwords)

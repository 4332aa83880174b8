"""What a slot works with; put together once in the slot's process after the fork."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from core.clock import Clock, SystemClock
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.operations import NullRecorder, Recorder
from core.passwords import bank_location, parse_bank
from core.records import Job, Phase
from core.settings import Settings
from core.storage.files import Station
from core.storage.layer import Storage
from monitoring.metrics.tally import CallCounters, own_tally
from readers.parsers import ParserSet
from readers.passwords import NO_PASSWORDS, Passwords
from sql.items import custodian_names
from worker.slots.breadcrumb import Breadcrumb
from worker.slots.tracing import NoTracer, Tracer


class Banks:
    """The bank read last; a slot stays with one job for a while."""

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


class Custodians:
    """Names by number of the last job; a slot stays with one job for a while."""

    def __init__(self) -> None:
        self._read: tuple[uuid.UUID, Mapping[int, str]] | None = None

    def of(self, conn: Connection, job: uuid.UUID) -> Mapping[int, str]:
        """The job's, which may be 100,000."""
        if self._read is None or self._read[0] != job:
            self._read = job, custodian_names(conn, job)
        return self._read[1]


if TYPE_CHECKING:
    from search.publisher import OpenShards
    from sql.session import Database


class SelectableRecorder(Recorder, Protocol):
    """A recorder that books calls under a job and phase."""

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        """Calls from now on belong to this job and phase."""


class UnselectedRecorder(NullRecorder):
    """Keeps nothing (settings.observe is off)."""

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        return None


@dataclass(slots=True, kw_only=True)
class SlotContext:
    """One slot's process: its names, its services, its shards."""

    settings: Settings
    worker: str  # name of the worker, unique among those running
    slot: int  # 0 … slots-1
    incarnation: uuid.UUID  # of this process: new after every fork
    databases: Mapping[str, Database]
    recorder: SelectableRecorder
    storage: Storage
    crumb: Breadcrumb
    scratch: Path  # this incarnation's own local directory; the supervisor removes it after a death
    shards: OpenShards
    tally: CallCounters = field(default_factory=own_tally)
    tracer: Tracer = field(default_factory=NoTracer)
    banks: Banks = field(default_factory=Banks)
    custodians: Custodians = field(default_factory=Custodians)
    parsers: ParserSet | None = None  # that read what it does; None: not asked for yet (worker.slots.noting)
    noted: set[str] = field(default_factory=set)  # databases that have them written down
    clock: Clock = field(default_factory=SystemClock)
    filer: Station | None = None  # the emulated filer that `storage` is delayed by
    filer_digest: str = ""  # of the emulated filer that `storage` is delayed by

"""Context of a slot: its services, made once in the slot's process after the fork."""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from core.clock import Clock, SystemClock
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.operations import NullRecorder, Op, Recorder
from core.passwords import bank_location, parse_bank
from core.records import PHASES, Job, Phase
from core.settings import Settings
from core.storage.files import Station
from core.storage.layer import Storage
from monitoring.block import boot_id
from monitoring.live import LiveRecorder
from monitoring.tally import CallCounters, own_tally
from readers.parsers import ParserSet
from readers.passwords import NO_PASSWORDS, Passwords
from sql.connection import Connection
from sql.jobs import JOBS
from sql.ledger import LEDGER
from sql.session import Database
from traces.parts import Row, SpoolHead, SpoolWriter, WorkerParts
from worker.parsers import own_set
from worker.slots.breadcrumb import Breadcrumb

if TYPE_CHECKING:
    from search.publisher import OpenShards


class Banks:
    """Password banks of jobs; the latest one is kept: a slot stays with one job for a while."""

    def __init__(self) -> None:
        self._read: tuple[bytes, Passwords] | None = None

    def of(self, storage: Storage, root: bytes, job: Job) -> Passwords:
        """Return the job's passwords. Raises StorageFault if its bank is missing or not the one that the job was
        given."""
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
        raise StorageFault(f"the job's password bank cannot be read ({error}); check {display_name(path)}") from error
    if bank.note.digest != digest:
        raise StorageFault(f"{display_name(path)} is not the password bank of this job; restore the original file")
    return Passwords(bank.passwords)


class Custodians:
    """Names of custodians by number; those of the latest job are kept: a slot stays with one job for a while."""

    def __init__(self) -> None:
        self._read: tuple[uuid.UUID, Mapping[int, str]] | None = None

    def of(self, conn: Connection, job: uuid.UUID) -> Mapping[int, str]:
        """Return the names of the job's custodians, which may be 100,000."""
        if self._read is None or self._read[0] != job:
            self._read = job, JOBS.job_custodians(conn, job=job)
        return self._read[1]


class UnselectedRecorder(NullRecorder):
    """Keeps nothing (settings.observe is off)."""

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        return None


MOST_HELD = 32_768  # calls; each takes about 300 bytes
_MOST_OPEN = 4  # parts of several jobs that run at the same time
_BEGAN = itemgetter(1)  # of a row

log = logging.getLogger(__name__)


class Tracer:
    """Recorder of the calls of jobs that want a trace; this one keeps none."""

    def begin(self, job: uuid.UUID, phase: Phase, *, wanted: bool) -> None:
        """Note that calls from now on belong to this job and phase; keep them if `wanted`."""

    def flush(self) -> None:
        """Write down what is held; must not raise."""


class SpoolTracer(Tracer):
    """Tracer that puts itself in front of the recorder of `storage` while the slot processes a job that wants a
    trace."""

    def __init__(self, parts: WorkerParts, worker: str, slot: int, storage: Storage, recorder: Recorder) -> None:
        self._parts = parts
        self._worker = worker
        self._slot = slot
        self._storage = storage
        self._plain = recorder
        self._pass_on = recorder.record
        self._rows: list[Row] = []
        self._keep: Callable[[Row], None] = self._rows.append
        self._open: dict[uuid.UUID, SpoolWriter] = {}  # least recently used first
        self._job: uuid.UUID | None = None
        self._phase = 0
        self._warned = False

    def begin(self, job: uuid.UUID, phase: Phase, *, wanted: bool) -> None:
        self.flush()
        self._job, self._phase = job if wanted else None, PHASES.index(phase)
        self._storage.record_to(self if wanted else self._plain)

    def record(
        self,
        op: Op,
        start_ns: int,
        duration_ns: int,
        nbytes: int,
        path: bytes,
        error: int,
        argument: int = 0,
        other: bytes = b"",
    ) -> None:
        self._pass_on(op, start_ns, duration_ns, nbytes, path, error, argument, other)
        self._keep((op, start_ns, duration_ns, nbytes, argument, path, other, error))
        if len(self._rows) >= MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Write the kept calls. Those that cannot be written are missing from the trace, which records how many are."""
        if self._rows and self._job is not None:
            self._rows.sort(key=_BEGAN)  # a call alongside others is recorded when it is over (`core.storage.sync`)
            try:
                self._part(self._job).write(self._rows, self._phase)
            except OSError as error:
                if not self._warned:
                    self._warned = True
                    text = "slot %d: calls are missing from the trace of job %s: %s"
                    log.warning(text, self._slot, self._job, error)
        self._rows.clear()  # also what a file made that was open still when its job's last task had ended

    def close(self) -> None:
        """Close the files; they stay."""
        self.flush()
        while self._open:
            self._open.pop(next(iter(self._open))).close()

    def _part(self, job: uuid.UUID) -> SpoolWriter:
        """Return the part that is being written, or a new one. Raises OSError."""
        part = self._open.pop(job, None)
        if part is not None and part.gone:  # delivered: the job was over, and continues
            part.close()
            part = None
        if part is None:
            head = SpoolHead(
                job=job,
                worker=self._worker,
                slot=self._slot,
                boot=boot_id(),
                wall_ns=time.time_ns() - time.monotonic_ns(),
                phases=tuple(phase.value for phase in PHASES),
            )
            part = SpoolWriter(self._parts.new(job), head)
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
        self._open[job] = part  # most recently used
        return part


@dataclass(slots=True, kw_only=True)
class SlotContext:
    """One slot's process: its names, its services, its shards."""

    settings: Settings
    worker: str  # name of the worker, unique among those running
    slot: int  # 0 … slots-1
    incarnation: uuid.UUID  # of this process: new after every fork
    databases: Mapping[str, Database]
    recorder: LiveRecorder | UnselectedRecorder
    storage: Storage
    breadcrumb: Breadcrumb
    scratch: Path  # this incarnation's own local directory; the supervisor removes it after a death
    shards: OpenShards
    tally: CallCounters = field(default_factory=own_tally)
    tracer: Tracer = field(default_factory=Tracer)
    banks: Banks = field(default_factory=Banks)
    custodians: Custodians = field(default_factory=Custodians)
    parsers: ParserSet | None = None  # of its sandbox or process; None: not determined yet
    noted: set[str] = field(default_factory=set)  # databases that have stored them
    clock: Clock = field(default_factory=SystemClock)
    filer: Station | None = None  # the emulated filer that `storage` is delayed by
    filer_digest: str = ""  # of the emulated filer that delays `storage`


def note_parsers(context: SlotContext, database: Database) -> uuid.UUID:
    """Store the slot's parser set durably, because claims refer to it; return its id. Raises DatabaseFault."""
    if context.parsers is None:
        context.parsers = own_set()  # no sandbox: it parses itself
    if database.name not in context.noted:
        with database.transaction(durable=True) as conn:
            LEDGER.note_parsers(conn, id=context.parsers.id, contents=context.parsers.text)
        context.noted.add(database.name)
    return context.parsers.id

"""A slot's calls kept for the trace of their job, where the job requests one (docs/dev/trace-format.md).

They go to scratch, never to the filer. A call costs an append to a list; packing and writing come at the end of the
task, or after very many calls. Calls of jobs that want no trace do not pass here at all.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from operator import itemgetter
from typing import Protocol

from core.operations import Op, Recorder
from core.records import PHASES, Phase
from core.storage.layer import Storage
from monitoring.filer.block import boot_id
from traces.parts import WorkerParts
from traces.spool import Row, SpoolHead, SpoolWriter

MOST_HELD = 32_768  # calls; each takes about 300 bytes
_MOST_OPEN = 4  # parts of several jobs that run at the same time
_BEGAN = itemgetter(1)  # of a row

log = logging.getLogger(__name__)


class Tracer(Protocol):
    """What keeps the calls of jobs that want a trace."""

    def begin(self, job: uuid.UUID, phase: Phase, *, wanted: bool) -> None:
        """Calls from now on belong to this job and phase; they are kept if `wanted`."""

    def flush(self) -> None:
        """Write down what is held; must not raise."""


class NoTracer:
    """Keeps nothing."""

    def begin(self, job: uuid.UUID, phase: Phase, *, wanted: bool) -> None:
        return None

    def flush(self) -> None:
        return None


class SpoolTracer:
    """Puts itself before the recorder of `storage` while a job that wants a trace is worked on."""

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
        self._told = False

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
                self._tell(self._job, error)
        self._rows.clear()  # also what a file made that was open still when its job's last task had ended

    def _tell(self, job: uuid.UUID, error: OSError) -> None:
        if not self._told:
            log.warning("slot %d: calls are missing from the trace of job %s: %s", self._slot, job, error)
            self._told = True

    def close(self) -> None:
        """Let go of the files; they stay."""
        self.flush()
        while self._open:
            self._open.pop(next(iter(self._open))).close()

    def _part(self, job: uuid.UUID) -> SpoolWriter:
        """The part that is being written, or a new one. Raises OSError."""
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

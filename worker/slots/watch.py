"""One slot as its supervisor sees it: its process, the deadline of what it does, its deaths so far."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import StorageFault
from readers.errors import ExceptionCode
from sql import ledger, states
from sql.connection import Connection
from sql.ledger import Death
from worker.slots.breadcrumb import REPORT_SECONDS, words
from worker.slots.slot import EXIT_MEMORY
from worker.slots.table import NOWHERE, SlotRow, TaskAt, Whereabouts

log = logging.getLogger(__name__)


def _open_directory(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = _open_directory(directory)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class WorkerScratch:
    """Scratch of a worker, made before the first fork; the lock's descriptor is inherited, so slots hold it too."""

    def __init__(self, scratch: Path, incarnation: uuid.UUID) -> None:
        self._all = scratch / "workers"
        self.directory = self._all / incarnation.hex
        try:
            self._all.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self._all):  # no other worker cleans up between the next two steps
                self.directory.mkdir(mode=0o700)
                self._lock = _open_directory(self.directory)
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StorageFault(
                f"cannot create {self.directory}: {error.strerror}; set EDBENCH_SCRATCH to a local directory "
                "that this user may write",
                errno=error.errno or 0,
            ) from error

    def remove_stale(self) -> None:
        """Remove the directories of workers that have no process left."""
        with _locked(self._all):
            for directory in self._all.iterdir():
                descriptor = _open_directory(directory)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                else:
                    shutil.rmtree(directory, ignore_errors=True)
                finally:
                    os.close(descriptor)

    def make(self, slot: int, incarnation: uuid.UUID) -> Path:
        """Make a new directory for one slot's process."""
        path = self.directory / f"slot-{slot}-{incarnation.hex}"
        path.mkdir(mode=0o700)
        return path

    def remove(self, path: Path) -> None:
        """Remove the files of a dead slot; a failure is logged, and the next worker removes them."""
        try:
            shutil.rmtree(path)
        except OSError as error:
            log.warning("cannot remove %s: %s", path, error)

    def close(self) -> None:
        """Remove everything."""
        with _locked(self._all):
            self.remove(self.directory)
        os.close(self._lock)


# Sent by people and by whatever runs the worker, never by a parser.
_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Facts about a death that the supervisor knows in addition to the wait status."""

    asked: bool = False  # it was ordered to stop
    killed: bool = False  # the supervisor itself sent SIGKILL, because the grace was over
    overdue: bool = False  # the supervisor sent SIGKILL at the item's deadline
    out_of_memory: bool = False  # the control group's count of OOM kills has grown
    seconds: float = 0.0  # seconds of the claim on its loose file, or item, without stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Report on one dead slot, to be recorded in the ledger."""

    at: TaskAt
    item: uuid.UUID | None  # the convicted item; None: none is
    cause: ExceptionCode
    detail: str
    failed: bool  # it counts against the task
    suspend: bool = False  # the system is to blame: its job waits until that is fixed
    around: Whereabouts = NOWHERE  # charged in addition to the item, or without one
    seconds: float = 0.0

    def write(self, conn: Connection, worker: str) -> None:
        """Record the death, if an item or a loose file is to blame, and make the task pending, in one transaction."""
        at = self.at
        if self.item is not None or self.around.loose is not None:
            death = Death(
                task=at.task,
                item=self.item,
                parent=self.around.parent,
                loose=self.around.loose,
                seconds=self.seconds,
                taken=self.around.taken,
                cause=self.cause,
                detail=self.detail,
            )
            ledger.record_death(conn, at.job, at.phase, at.token, death, worker)
        if self.suspend:
            ledger.release(conn, at.task, at.token, failed=False)
            states.suspend(conn, at.job, self.detail)
        elif self.failed:
            ledger.fail(conn, at.task, at.token, self.detail)
        else:
            ledger.release(conn, at.task, at.token, failed=False)


def describe(status: int) -> str:
    """Describe a wait status."""
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.WEXITSTATUS(status)}"


def _cause(row: SlotRow, status: int, how: Circumstances) -> tuple[ExceptionCode, str]:
    if how.overdue and row.item is None:
        return ExceptionCode.TIMEOUT, f"still {words(row.activity, row.detail)} at its deadline"
    if how.overdue:
        return ExceptionCode.TIMEOUT, "still being read at its deadline"
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == EXIT_MEMORY:
        return ExceptionCode.MEMORY, "reading it needs more memory than a slot may have"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and how.out_of_memory:
        return ExceptionCode.MEMORY, "killed by the kernel because memory ran out"
    return ExceptionCode.KILLED_PARSER, f"the slot ended with {describe(status)}"


def judge(row: SlotRow, status: int, how: Circumstances) -> Report | None:
    """Return the report on a dead slot with this last row; None if it had no task.

    An item is convicted only by a death that reading it can have caused: not by a stop, from any source. A crash
    between two items convicts none but counts against the task, so that it cannot be repeated for ever. Memory that ran
    out in our own code (a parser's is caught) was filled by everything that the loose file gave so far, not by the item
    that was being read: the loose file is charged."""
    if row.at is None:
        return None
    by_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    stopped = how.killed or by_signal in _FROM_OUTSIDE or (how.asked and status == 0)
    cause, detail = _cause(row, status, how)
    if stopped:
        return Report(at=row.at, item=None, cause=cause, detail="the worker was stopped", failed=False)
    if by_signal == signal.SIGKILL and cause is ExceptionCode.KILLED_PARSER:
        # No parser sends itself SIGKILL, and neither the deadline nor the kernel sent it: another process did. Charged
        # to the task all the same, because an outside process that kills at every claim must not cause endless repeats.
        return Report(at=row.at, item=None, cause=cause, detail="killed by another process with SIGKILL", failed=True)
    around, item = row.around, row.item
    if around.loose is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == EXIT_MEMORY:
        return Report(
            at=row.at, item=None, cause=cause, detail=detail, failed=False, around=around, seconds=how.seconds
        )
    if item is None:
        return Report(at=row.at, item=None, cause=cause, detail=detail, failed=True)
    return Report(at=row.at, item=item, cause=cause, detail=detail, failed=False, around=around, seconds=how.seconds)


def stuck(row: SlotRow, why: str) -> Report | None:
    """Return the report on a slot that cannot be ended, in a task: no item is convicted, and no other slot may take the
    task."""
    if row.at is None:
        return None
    return Report(at=row.at, item=None, cause=ExceptionCode.TIMEOUT, detail=why, failed=False, suspend=True)


QUICK_SECONDS = 1.0  # a slot that lives no longer than this has not got anywhere
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)  # before the next fork, after so many quick deaths in a row


@dataclass(slots=True)
class RowClock:
    """Time that the slot has spent on what its row records, without the time it was stopped."""

    sequence: int = -1
    stopped: float = 0.0

    def overdue(self, row: SlotRow, now: float, *, stopped_for: float) -> bool:
        """Return whether the deadline has passed at monotonic `now`; `stopped_for`: seconds since the last look to
        forgive."""
        if row.sequence != self.sequence:
            self.sequence = row.sequence
            self.stopped = 0.0
        else:
            self.stopped += stopped_for
        return row.deadline > 0 and now > row.deadline + self.stopped


@dataclass(slots=True)
class Watched:
    """One slot number: its present process, or the time when the next one is due."""

    slot: int
    pid: int = 0  # 0: none now
    incarnation: uuid.UUID = field(default_factory=uuid.uuid4)
    scratch: Path = Path()
    started: float = 0.0
    due: float = 0.0  # when pid is 0: fork at this time
    quick_deaths: int = 0
    asked: bool = False  # got SIGTERM from us
    killed: bool = False  # got SIGKILL from us at the end of the grace
    overdue: bool = False  # got SIGKILL from us at the deadline of what it did
    killed_at: float = 0.0  # when it got either
    given_up: bool = False  # and did not end
    report_after: float = REPORT_SECONDS  # that one activity is to last before it is reported the next time
    clock: RowClock = field(default_factory=RowClock)

    def begin(self, pid: int, now: float) -> None:
        """Note that a new process has the number."""
        self.pid = pid
        self.started = now
        self.asked = self.killed = self.overdue = self.given_up = False
        self.report_after = REPORT_SECONDS
        self.clock = RowClock()

    def worth_reporting(self, row: SlotRow, now: float) -> bool:
        """Return whether an activity has lasted long enough for a report: REPORT_SECONDS, then each time twice as long."""
        lasts = now - row.since if row.deadline > 0 else 0.0
        if lasts < REPORT_SECONDS:
            self.report_after = REPORT_SECONDS
        if lasts < self.report_after:
            return False
        self.report_after *= 2
        return True

    def end(self, now: float) -> None:
        """Note that the process is gone; the next one is due at once unless they keep dying."""
        quick = now - self.started < QUICK_SECONDS
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        self.pid = 0
        self.due = now + _PAUSES[min(max(0, self.quick_deaths - 1), len(_PAUSES) - 1)]

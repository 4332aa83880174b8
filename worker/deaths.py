"""Why a slot died, and what follows from it for its task and the item it was reading (design §3.8)."""

from __future__ import annotations

import os
import signal
import uuid
from dataclasses import dataclass

from sqlalchemy import Connection

from core.errors import ExceptionCode
from sql import ledger
from worker.slot import EXIT_MEMORY
from worker.slot_table import SlotRow, TaskAt

# Sent by people and by whatever runs the worker, never by a parser.
_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the supervisor knows about a death besides the wait status."""

    asked: bool = False  # it was told to stop
    killed: bool = False  # the supervisor itself sent SIGKILL, because the grace was over
    overdue: bool = False  # the supervisor sent SIGKILL at the item's deadline
    out_of_memory: bool = False  # the control group's count of OOM kills has grown


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the ledger has to be told about one dead slot."""

    at: TaskAt
    item: uuid.UUID | None  # convicted; None: nobody is
    cause: ExceptionCode
    detail: str
    failed: bool  # the attempt counts against the task

    def write(self, conn: Connection, worker: str) -> None:
        """In one transaction: the death, if an item is to blame, and the task is pending again."""
        at = self.at
        if self.item is not None:
            ledger.record_death(conn, at.job, at.task, at.attempt, self.item, self.cause, self.detail, worker)
        if self.failed:
            ledger.fail(conn, at.task, at.attempt, self.detail)
        else:
            ledger.release(conn, at.task, at.attempt, failed=False)


def describe(status: int) -> str:
    """A wait status for people."""
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.WEXITSTATUS(status)}"


def _cause(status: int, how: Circumstances) -> tuple[ExceptionCode, str]:
    if how.overdue:
        return ExceptionCode.TIMEOUT, "still being read at its deadline"
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == EXIT_MEMORY:
        return ExceptionCode.MEMORY, "reading it needs more memory than a slot may have"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and how.out_of_memory:
        return ExceptionCode.MEMORY, "killed by the kernel for want of memory"
    return ExceptionCode.KILLED_PARSER, f"the slot ended with {describe(status)}"


def judge(row: SlotRow, status: int, how: Circumstances) -> Report | None:
    """The report on a dead slot with this last row; None when it had no task.

    An item is convicted only by a death that reading it can have caused: not by a stop, whoever asked for it. A
    crash between two items convicts nobody but counts against the task, lest it comes again for ever.
    """
    if row.at is None:
        return None
    by_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    stopped = how.killed or by_signal in _FROM_OUTSIDE or (how.asked and status == 0)
    cause, detail = _cause(status, how)
    if stopped:
        return Report(at=row.at, item=None, cause=cause, detail="the worker was stopped", failed=False)
    if by_signal == signal.SIGKILL and cause is ExceptionCode.KILLED_PARSER:
        # No parser sends itself SIGKILL, and it was neither the deadline nor the kernel: somebody did. Charged to
        # the task all the same, because something outside that kills at every attempt must not go round for ever.
        return Report(at=row.at, item=None, cause=cause, detail="killed from outside with SIGKILL", failed=True)
    return Report(at=row.at, item=row.item, cause=cause, detail=detail, failed=row.item is None)

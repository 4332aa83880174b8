"""Why a slot died, and what follows from it for its task and the item it was reading (design §3.8)."""

from __future__ import annotations

import os
import signal
import uuid
from dataclasses import dataclass

from sqlalchemy import Connection

from readers.errors import ExceptionCode
from sql import ledger, states
from sql.costs import Death
from worker.slots.activity import words
from worker.slots.slot import EXIT_MEMORY
from worker.slots.table import NOWHERE, SlotRow, TaskAt, Whereabouts

# Sent by people and by whatever runs the worker, never by a parser.
_FROM_OUTSIDE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the supervisor knows about a death besides the wait status."""

    asked: bool = False  # it was told to stop
    killed: bool = False  # the supervisor itself sent SIGKILL, because the grace was over
    overdue: bool = False  # the supervisor sent SIGKILL at the item's deadline
    out_of_memory: bool = False  # the control group's count of OOM kills has grown
    seconds: float = 0.0  # that the claim had spent on its loose file, or item, without those it was stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the ledger has to be told about one dead slot."""

    at: TaskAt
    item: uuid.UUID | None  # convicted; None: nobody is
    cause: ExceptionCode
    detail: str
    failed: bool  # it counts against the task
    suspend: bool = False  # the system is to blame: its job waits until somebody has mended that
    around: Whereabouts = NOWHERE  # what is charged beside the item, or without one
    seconds: float = 0.0

    def write(self, conn: Connection, worker: str) -> None:
        """In one transaction: the death, if an item or a loose file is to blame, and the task is pending again."""
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
    """A wait status for people."""
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
    """The report on a dead slot with this last row; None when it had no task.

    An item is convicted only by a death that reading it can have caused: not by a stop, whoever asked for it. A
    crash between two items convicts nobody but counts against the task, lest it comes again for ever. Memory that ran
    out in our own code (a parser's is caught) was filled by all that the loose file gave so far, not by the item that
    happened to be read: the loose file is charged.
    """
    if row.at is None:
        return None
    by_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    stopped = how.killed or by_signal in _FROM_OUTSIDE or (how.asked and status == 0)
    cause, detail = _cause(row, status, how)
    if stopped:
        return Report(at=row.at, item=None, cause=cause, detail="the worker was stopped", failed=False)
    if by_signal == signal.SIGKILL and cause is ExceptionCode.KILLED_PARSER:
        # No parser sends itself SIGKILL, and it was neither the deadline nor the kernel: somebody did. Charged to
        # the task all the same, because something outside that kills at every claim must not go round for ever.
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
    """The report on a slot that cannot be ended, in a task: nobody is convicted, and no other slot is to follow it."""
    if row.at is None:
        return None
    return Report(at=row.at, item=None, cause=ExceptionCode.TIMEOUT, detail=why, failed=False, suspend=True)

"""One look at the ledger: gives back what is late, crosses barriers, and sends what fits into the window."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.errors import BrokerFault
from core.moments import reached
from core.records import JobState
from queue_manager.barrier import cross
from queue_manager.commons import Commons
from queue_manager.deadlines import Deadlines
from queue_manager.metrics import DatabaseNumbers
from queue_manager.outage import Outage
from queue_manager.sender import Sender
from queue_manager.window import Window, shares
from sql import ledger, states, workers
from sql.held import HeldConnection
from sql.states import Demand

SLOTS_SECONDS = 0.5  # how often the live slots are counted
EPOCH_SECONDS = 1.0  # how often the broker is asked whether it is still the same

_JobTask = tuple[uuid.UUID, uuid.UUID]
_T = TypeVar("_T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look found and did."""

    sent: int
    out: int  # tasks dispatched or running before this look sent any
    pending: int  # tasks that this look could have sent, had the window been larger
    slots: int
    changed: bool  # a job changed its phase or state


class Dispatcher:
    """Works on the connection that holds the lock; raises DatabaseFault when that is lost."""

    def __init__(
        self,
        held: HeldConnection,
        sender: Sender,
        database: str,
        commons: Commons | None = None,
        numbers: DatabaseNumbers | None = None,
        *,
        apart: bool = False,
    ) -> None:
        """`commons`: shared with the dispatchers of the other databases; None: there are no others.

        `numbers`: where to say what was done. `apart`: tasks may name a host that is not to do them.
        """
        self._apart = apart
        self._held = held
        self._numbers = numbers or DatabaseNumbers()
        self._commons = commons or Commons()
        self._sender = sender
        self._deadlines = Deadlines(held, database, self._numbers)
        self._window = Window()
        self._broker = Outage("the broker")
        self._database = database
        self._slots = 0
        self._next_count = 0.0
        self._epoch: str | None = None
        self._next_epoch = 0.0

    def begin(self) -> None:
        """Messages of a predecessor may never have been sent: everything dispatched is pending again."""
        with self._held.transaction() as conn:
            ledger.undispatch_all(conn)

    def look(self) -> Look:
        """Do everything that is due."""
        now = time.monotonic()
        self._deadlines.look(now)
        self._check_broker(now)
        sending = self._broker.due(now)
        with self._held.transaction() as conn:
            if now >= self._next_count:
                self._numbers.slots = self._slots = workers.live_slots(conn)
                self._next_count = now + SLOTS_SECONDS
            window = self._window.size(self._slots)
            demands = states.demands(conn, max(1, window))
            running = [d for d in demands if d.state is JobState.RUNNING]
            window = self._commons.share(self._database, _wanted(demands), window)
            share = shares(window, running) if sending else {}
            tasks = [[(job, task) for task in ledger.dispatch(conn, job, n)] for job, n in share.items()]
            not_on = ledger.written_on(conn, [task for each in tasks for _, task in each]) if self._apart else {}
        sent = self._send(tasks, not_on, now)
        self._window.note_sent(sent, now)
        self._numbers.dispatched += sent
        changed = cross(self._held, demands)
        return Look(
            sent=sent,
            out=sum(d.dispatched + d.running for d in demands),
            pending=sum(d.pending for d in running) - sent,
            slots=self._slots,
            changed=changed,
        )

    def count_slots(self) -> None:
        """Count the live slots at the next look, whenever the last count was: a worker may have come."""
        self._next_count = 0.0

    def _send(self, by_job: Sequence[Sequence[_JobTask]], not_on: Mapping[uuid.UUID, str], now: float) -> int:
        """Send what was marked, in turns over the jobs; marks are taken back when the broker is away."""
        messages = [message for turn in turns(by_job) for message in turn]
        if not messages:
            return 0
        tasks = [task for _, task in messages]
        reached("send")
        try:
            self._sender.send(messages, not_on)
        except BrokerFault as fault:
            self._broker.failed(fault, now)
            with self._held.transaction() as conn:
                ledger.undispatch(conn, tasks)
            return 0
        if self._broker.over():
            self._forget_messages(keep=tasks)
        return len(tasks)

    def _check_broker(self, now: float) -> None:
        """A broker that was started anew has lost its messages: do not wait for their deadlines."""
        if now < self._next_epoch or not self._broker.due(now):
            return
        self._next_epoch = now + EPOCH_SECONDS
        try:
            epoch = self._sender.epoch()
        except BrokerFault as fault:
            self._broker.failed(fault, now)
            return
        if self._broker.over() or self._epoch not in (None, epoch):
            self._forget_messages(keep=())
        self._epoch = epoch

    def _forget_messages(self, keep: Sequence[uuid.UUID]) -> None:
        with self._held.transaction() as conn:
            back = ledger.undispatch_all(conn, keep)
        if back:
            log.warning("database %s: the broker may have lost %d messages; sending them again", self._database, back)


def _wanted(demands: Sequence[Demand]) -> int:
    """Tasks out, and those that could be sent."""
    pending = sum(d.pending for d in demands if d.state is JobState.RUNNING)
    return pending + sum(d.dispatched + d.running for d in demands)


def turns(by_job: Sequence[Sequence[_T]]) -> list[list[_T]]:
    """The n-th task of every job, for each n: so that no job's messages lie behind all of another's."""
    longest = max(map(len, by_job), default=0)
    return [[tasks[n] for tasks in by_job if n < len(tasks)] for n in range(longest)]

"""One look at the ledger: gives back what is late, crosses barriers, and sends what fits into the window."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from core.errors import BrokerFault, UsageError
from core.moments import reached
from core.records import JobState
from queue_manager.commons import Commons
from queue_manager.metrics import DatabaseNumbers
from queue_manager.outage import Outage
from queue_manager.sender import Sender
from queue_manager.window import Window, shares
from sql import clocks, ledger, states, workers
from sql.held import HeldConnection
from sql.states import Demand

STEP_SECONDS = 1.0  # less is the difference of two clocks that are both right, or the way to the database and back


class ClockWatch:
    """Compares the two clocks at every look."""

    def __init__(
        self,
        read: Callable[[Connection], float] = clocks.now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` gives the database's clock."""
        self._read = read
        self._monotonic = monotonic
        self._before: tuple[float, float] | None = None  # bounds of the difference between the two
        self._at = 0.0

    def look(self, conn: Connection) -> float | None:
        """Seconds by which the database's clock was stepped since the last look; None when it was not."""
        asked = self._monotonic()
        shown = self._read(conn)
        answered = self._monotonic()
        now = (shown - answered, shown - asked)
        before, self._before = self._before, now
        if before is None or (now[0] <= before[1] + STEP_SECONDS and before[0] <= now[1] + STEP_SECONDS):
            self._at = answered
            return None
        window, self._at = answered - self._at, answered
        by = (sum(now) - sum(before)) / 2
        clocks.stepped(conn, by, window)
        return by


EVERY_SECONDS = 1.0

log = logging.getLogger(__name__)


class Deadlines:
    """Looks at deadlines and leases once a second."""

    def __init__(
        self, held: HeldConnection, database: str, numbers: DatabaseNumbers, clock: ClockWatch | None = None
    ) -> None:
        """`clock`: notices steps of the database's."""
        self._held = held
        self._clock = clock or ClockWatch()
        self._numbers = numbers
        self._database = database
        self._next = 0.0

    def look(self, now: float) -> None:
        """Return expired tasks to pending if a look is due at `now` (monotonic seconds)."""
        if now < self._next:
            return
        self._next = now + EVERY_SECONDS
        with self._held.transaction() as conn:
            step = self._clock.look(conn)
            clocks.fresh_terms(conn)
            returned = ledger.return_expired(conn)
        if step is not None:
            log.warning(
                "database %s: its clock was set %s by %.1f s; leases and elapsed times are corrected for that",
                self._database,
                "forward" if step > 0 else "back",
                abs(step),
            )
        self._numbers.unclaimed += returned.dispatched
        self._numbers.lease_expiries += returned.running
        if returned.dispatched:
            log.warning("database %s: %d messages were not claimed in time", self._database, returned.dispatched)
        if returned.running:
            log.warning("database %s: %d leases ran out; their tasks run again", self._database, returned.running)


def _due(demand: Demand) -> bool:
    """Whether a look under the job's lock can change anything; the lock decides, this only spares locking."""
    if demand.state is JobState.RUNNING:
        return not (demand.dispatched or demand.running or demand.pending)
    return bool(demand.dispatched) or not demand.running


def cross(held: HeldConnection, demands: Sequence[Demand]) -> bool:
    """Advance or settle every job that is due, each in a durable transaction; whether any changed."""
    changed = False
    for demand in filter(_due, demands):
        try:
            reached("barrier")
            with held.transaction(durable=True) as conn:
                if demand.state is JobState.RUNNING:
                    now = states.advance(conn, demand.job)
                else:
                    now = states.settle(conn, demand.job)
        except UsageError:  # deleted since the look
            continue
        reached("crossed")
        if now is not None and now is not demand.state:
            log.info("job %s: %s", demand.job, now)
            changed = True
    return changed


SLOTS_SECONDS = 0.5  # how often the live slots are counted
EPOCH_SECONDS = 1.0  # how often the broker is asked whether it is still the same

_JobTask = tuple[uuid.UUID, uuid.UUID]
_T = TypeVar("_T")


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

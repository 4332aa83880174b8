"""One look at the ledger: returns overdue tasks, advances phases, and sends what fits into the window."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import redis
from kombu.exceptions import KombuError

from core.celery_app import TASK_NAME, make_app, queue_name
from core.errors import BrokerFault, UsageError
from core.moments import reached
from core.records import JobState, TaskOrder
from monitoring.broker import connect
from queue_manager.metrics import DatabaseNumbers
from queue_manager.window import MOST_FACTOR, Window, shares, widened
from sql import ledger, states
from sql.connection import Connection
from sql.held import HeldConnection
from sql.ledger import LEDGER
from sql.states import STATES, Demand
from sql.workers import WORKERS, stepped

_ERRORS = (KombuError, redis.RedisError, OSError)


class Sender:
    """The way to one database's queue. Every method raises BrokerFault within about two seconds."""

    def __init__(self, broker_url: str, database: str, run: str = "") -> None:
        """`run`: as `Settings.run`."""
        self._app = make_app(broker_url)
        self._client = connect(broker_url)
        self._database, self._run = database, run
        # One of our own: a pool whose connections were closed after a fault never lends one again.
        self._producer: Any = None  # a kombu Producer, which has no types

    def send(self, tasks: Sequence[tuple[uuid.UUID, uuid.UUID]], not_on: Mapping[uuid.UUID, str]) -> None:
        """One message for each (job, task), in one exchange with the broker. After BrokerFault some may have been sent.

        `not_on`: hosts that are not to do a task, by task; any may do the others."""
        try:
            producer = self._connected()
            with producer.batch():
                for job, task in tasks:
                    self._app.send_task(
                        TASK_NAME,
                        args=[self._database, str(job), str(task)],
                        queue=queue_name(self._database, not_on.get(task, ""), self._run),
                        producer=producer,
                        retry=False,
                        ignore_result=True,
                    )
        except _ERRORS as error:
            self._disconnect()
            raise BrokerFault(f"cannot send to the broker: {_line(error)}") from error

    def epoch(self) -> str:
        """Return an id that changes when the broker was restarted and so may have lost its messages."""
        try:
            return str(self._client.info("server")["run_id"])
        except _ERRORS as error:
            raise BrokerFault(f"cannot reach the broker: {_line(error)}") from error

    def close(self) -> None:
        """Give up the connections."""
        self._disconnect()
        self._client.close()
        self._app.close()

    def _connected(self) -> Any:
        if self._producer is None:
            self._producer = self._app.amqp.Producer(self._app.connection_for_write())
        return self._producer

    def _disconnect(self) -> None:
        if self._producer is not None:
            connection = self._producer.connection
            self._producer = None
            connection.collect()  # closes without a word to the broker, which may be what does not answer


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


_Id = TypeVar("_Id", covariant=True)


class _Ordered(Protocol[_Id]):
    @property
    def weight(self) -> int: ...

    @property
    def id(self) -> _Id: ...


def order_key(task: _Ordered[_Id], order: TaskOrder = TaskOrder.LARGEST) -> tuple[int, _Id]:
    """Return the sort key of a job's tasks for dispatch; `dispatch` in sql/queries/tasks.sql has the same order."""
    return (0 if order is TaskOrder.FAIR else -task.weight, task.id)


log = logging.getLogger(__name__)

_BACKOFF_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6)


class Outage:
    """Outage of the broker or of a database, by its `name`. Times are monotonic seconds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._attempts = 0
        self._retry_at = 0.0

    @property
    def on(self) -> bool:
        """Whether the last attempt failed."""
        return self._attempts > 0

    def failed(self, error: Exception, now: float) -> float:
        """Note a failed attempt; returns the seconds to wait before the next one."""
        if not self.on:
            log.warning("%s; retrying until it answers", error)
        wait = _BACKOFF_SECONDS[min(self._attempts, len(_BACKOFF_SECONDS) - 1)]
        self._attempts += 1
        self._retry_at = now + wait
        return wait

    def due(self, now: float) -> bool:
        """Whether an attempt may be made."""
        return now >= self._retry_at

    def over(self) -> bool:
        """Note a successful attempt; return whether it ended an outage."""
        if not self.on:
            return False
        log.warning("%s answers again after %d attempts", self._name, self._attempts)
        self._attempts = 0
        self._retry_at = 0.0
        return True


class Commons:
    """Shares among the dispatchers of one queue manager, each in a thread, how many tasks each wants out.

    Several active queue managers, each for another database, do not know of one another. Then the window of each
    database is as large as it would be alone, and more messages wait at the broker, which the slots empty in turn."""

    def __init__(self) -> None:
        self._wants: dict[str, int] = {}
        self._lock = threading.Lock()

    def share(self, database: str, want: int, window: int) -> int:
        """Return how many of a window of tasks this database may have out, if it wants `want`, those out included."""
        with self._lock:
            self._wants[database] = want
            return fair_share(database, self._wants, window)

    def forget(self, database: str) -> None:
        """Forget a database whose dispatcher has ended: it wants nothing until `share` is called again."""
        with self._lock:
            self._wants.pop(database, None)


def fair_share(name: str, wants: Mapping[str, int], window: int) -> int:
    """The part of `window` that falls to `name`: none gets more than it wants, and what one leaves is divided
    among the others equally. Each that wants anything gets at least 1; the remainder is assigned by name."""
    left = window
    waiting = sorted((want, other) for other, want in wants.items() if want > 0)
    for number, (want, other) in enumerate(waiting):
        part = max(1, min(want, -(-left // (len(waiting) - number))))
        if other == name:
            return part if window > 0 else 0
        left = max(0, left - part)
    return 0


STEP_SECONDS = 1.0  # less is the difference of two clocks that are both right, or the way to the database and back


class ClockWatch:
    """Compares the two clocks at every look."""

    def __init__(
        self,
        read: Callable[[Connection], float] = WORKERS.database_clock,
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
        stepped(conn, by, window)
        return by


EVERY_SECONDS = 1.0


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
            WORKERS.fresh_terms(conn)
            returned = LEDGER.return_expired(conn)
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
    """Advance or settle every job that is due, each in a durable transaction; return whether any changed."""
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
    """Result of one look: what it found and did."""

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

        `numbers`: receive what was done. `apart`: tasks may name a host that must not do them."""
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
        """Make everything dispatched pending again: messages of a predecessor may never have been sent."""
        with self._held.transaction() as conn:
            LEDGER.undispatch_all(conn, keep=[])

    def look(self) -> Look:
        """Do everything that is due."""
        now = time.monotonic()
        self._deadlines.look(now)
        self._check_broker(now)
        sending = self._broker.due(now)
        with self._held.transaction() as conn:
            if now >= self._next_count:
                self._numbers.slots = self._slots = WORKERS.live_slots(conn)
                self._next_count = now + SLOTS_SECONDS
            demands = STATES.demand(conn, limit=max(1, self._slots * MOST_FACTOR))
            running = [d for d in demands if d.state is JobState.RUNNING]
            window = widened(self._window.size(self._slots), self._slots, running)
            window = self._commons.share(self._database, _wanted(demands), window)
            share = shares(window, running, self._slots) if sending else {}
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
                LEDGER.undispatch(conn, tasks=list(tasks))
            return 0
        if self._broker.over():
            self._forget_messages(keep=tasks)
        return len(tasks)

    def _check_broker(self, now: float) -> None:
        """Forget the messages of a broker that was restarted: it has lost them, so do not wait for their deadlines."""
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
            back = LEDGER.undispatch_all(conn, keep=list(keep))
        if back:
            log.warning("database %s: the broker may have lost %d messages; sending them again", self._database, back)


def _wanted(demands: Sequence[Demand]) -> int:
    """Return the number of tasks out and of those that could be sent."""
    pending = sum(d.pending for d in demands if d.state is JobState.RUNNING)
    return pending + sum(d.dispatched + d.running for d in demands)


def turns(by_job: Sequence[Sequence[_T]]) -> list[list[_T]]:
    """The n-th task of every job, for each n, so that no job's messages wait until all of another's are sent."""
    longest = max(map(len, by_job), default=0)
    return [[tasks[n] for tasks in by_job if n < len(tasks)] for n in range(longest)]

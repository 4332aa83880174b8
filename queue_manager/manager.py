"""The loop of one database: take the lock, look, wait, look again; reconnect for as long as it takes."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

import psycopg2
import redis

from core.celery_app import queues_of
from core.errors import DatabaseFault, EdbenchError
from core.program import Stop
from core.records import Phase, TaskState
from core.settings import Settings
from monitoring.broker import connect, stream_of
from queue_manager.dispatcher import Commons, Dispatcher, Look, Outage, Sender
from queue_manager.metrics import DatabaseNumbers, QueueSample
from sql.connection import Connection
from sql.held import HeldConnection
from sql.ledger import CHANNEL
from sql.migrate import migrate
from sql.runs import RunMark, marked_runs, run_settings
from sql.session import Database
from sql.timeline import OBSERVING
from sql.workers import WORKERS

EVERY_SECONDS = 1.0
SLOW_SECONDS = 5.0  # an answer that takes less may come from a busy host
_LAST_SECONDS = 3.0  # that the end waits for a statement


class Pulse:
    """Measures the silences of one database."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._failing_since: float | None = None  # start of the first attempt that failed

    def beat(self) -> None:
        """Execute one statement; an attempt that fails is part of the silence, which the next answer ends."""
        began = self._monotonic()
        try:
            with self._database.transaction(durable=True) as conn:
                conn.execute("SELECT 1")
                silent = self._monotonic() - (began if self._failing_since is None else self._failing_since)
                if self._failing_since is not None or silent >= SLOW_SECONDS:
                    WORKERS.note_outage(conn, seconds=silent)
        except DatabaseFault:  # the manager logs it
            self._failing_since = began if self._failing_since is None else self._failing_since
        else:
            self._failing_since = None


@contextmanager
def measuring(database: Database) -> Iterator[None]:
    """Measure in a thread while the block lasts."""
    own = Database(database.name, database.url, application="edbench pulse", pool_size=1)
    stop, pulse = threading.Event(), Pulse(own)

    def run() -> None:
        while not stop.wait(EVERY_SECONDS):
            pulse.beat()
        own.dispose()

    thread = threading.Thread(target=run, name=f"pulse {database.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_LAST_SECONDS)


LOOK_SECONDS = 0.5
APPLICATION = "edbench queue_manager runs"

log = logging.getLogger(__name__)


class Runs:
    """Manages the databases of runs; `manage` does that for the settings of one until its stop is set."""

    def __init__(self, settings: Settings, manage: Callable[[Settings, Stop], None], stop: Stop) -> None:
        self._settings, self._manage, self._stop = settings, manage, stop
        self._managed: dict[str, tuple[Stop, threading.Thread]] = {}
        home = settings.databases[0]
        self._home = Database(home.name, home.url, application=APPLICATION, pool_size=1, repeats=True)

    def run(self) -> None:
        """Follow the marks of runs until stopped."""
        try:
            while not self._stop.wait(LOOK_SECONDS):
                try:
                    marks = {mark.run: mark for mark in self._home.ask(marked_runs)}
                except DatabaseFault:
                    continue  # its own manager reports that, and a run continues meanwhile
                self._follow(marks)
        finally:
            self._follow({})
            self._home.dispose()

    def _follow(self, marks: Mapping[str, RunMark]) -> None:
        gone = [self._managed.pop(run) for run in [run for run in self._managed if run not in marks]]
        for stop, _ in gone:
            stop.set()
        for _, thread in gone:
            thread.join()
        for run, mark in marks.items():
            if run not in self._managed and mark.databases <= len(self._settings.databases):
                stop = Stop()
                thread = threading.Thread(target=self._one, args=(mark, stop), name=f"run {run}", daemon=True)
                self._managed[run] = stop, thread
                thread.start()

    def _one(self, mark: RunMark, stop: Stop) -> None:
        log.info("run %s: attached", mark.run)
        try:
            self._manage(run_settings(self._settings, mark), stop)
        except EdbenchError as error:
            log.error("run %s cannot be managed: %s", mark.run, error)


def forget_messages(settings: Settings) -> None:
    """Remove what a run has left at the broker; a broker that does not answer has lost it."""
    assert settings.broker is not None
    queues = queues_of([database.name for database in settings.databases], ("", *settings.hosts), settings.run)
    try:
        with connect(settings.broker) as client:
            client.delete(stream_of(settings.run), *queues, *(f"_kombu.binding.{queue}" for queue in queues))
    except redis.RedisError as error:
        log.warning("the messages of run %s stay at the broker: %s", settings.run, error)


COUNTED_A_SECOND = 60_000  # rows, at 0.3 to 0.5 µs each: a kind of look may take a thirtieth of a CPU
WAITS = 3  # times as long as the last look took, at least: where the server itself is slow
_SIZE_SECONDS = 30.0  # how often the database is asked for its size
_TIMEOUT_MS = 20_000


class Paced:
    """Something that is done once a second, or less often when it has much to count.

    It is paced by rows and not by time: where all CPUs are busy, even a look that costs nothing takes long."""

    def __init__(
        self,
        look: Callable[[Connection, Sequence[uuid.UUID]], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` gives the number of rows that it counted."""
        self._look = look
        self._monotonic = monotonic
        self._due = 0.0

    def look(self, conn: Connection, jobs: Sequence[uuid.UUID], *, anyway: bool) -> None:
        """Look if it is due, or `anyway`."""
        began = self._monotonic()
        if began < self._due and not anyway:
            return
        counted = self._look(conn, jobs)
        took = self._monotonic() - began
        wait = max(counted / COUNTED_A_SECOND, WAITS * took)
        self._due = began + wait if wait > EVERY_SECONDS else 0.0


class Observer:
    """Observes one database. `numbers` receive the values for Prometheus."""

    def __init__(self, database: Database, numbers: DatabaseNumbers) -> None:
        self._database = database
        self._numbers = numbers
        self._size_due = 0.0
        self._queue, self._progress = Paced(self._observe_queue), Paced(self._observe_progress)
        self._fault = ""
        self._open: set[uuid.UUID] = set()  # jobs that were not at rest when they were looked at last

    def look(self) -> None:
        """Observe once if a job is not at rest, or has only just come to rest: its last state is observed too.

        A fault of the database is logged once, and the look is retried next time."""
        try:
            with self._database.transaction() as conn:
                conn.execute(f"SET LOCAL statement_timeout = {_TIMEOUT_MS}")
                self._observe(conn)
        except (DatabaseFault, psycopg2.Error) as error:
            fault = " ".join(str(error).split())[:300]
            if fault != self._fault:
                log.warning("database %s cannot be observed: %s", self._database.name, fault)
            self._fault = fault
        else:
            self._fault = ""

    def _observe(self, conn: Connection) -> None:
        rows = OBSERVING.jobs_to_observe(conn, open=list(self._open))
        if not rows:
            self._numbers.queue = ()
            return
        jobs, ending = sorted(rows), any(rows.values())
        self._observe_database(conn)
        self._queue.look(conn, jobs, anyway=ending)
        self._progress.look(conn, jobs, anyway=ending)
        self._open = {job for job, at_rest in rows.items() if not at_rest}

    def _observe_database(self, conn: Connection) -> None:
        now = time.monotonic()
        size = now >= self._size_due
        self._size_due = now + _SIZE_SECONDS if size else self._size_due
        self._numbers.server = OBSERVING.observe_database(conn, database=self._database.name, size=size)

    def _observe_queue(self, conn: Connection, jobs: Sequence[uuid.UUID]) -> int:
        rows = OBSERVING.observe_queue(conn, database=self._database.name, jobs=jobs)
        self._numbers.queue = [
            QueueSample(
                phase=Phase(str(row["phase"])),
                tasks={state: int(row[state.value]) for state in TaskState if state.value in row},
                oldest_pending_seconds=float(row["oldest_pending_s"]),
            )
            for row in rows
        ]
        return sum(sum(sample.tasks.values()) for sample in self._numbers.queue)

    def _observe_progress(self, conn: Connection, jobs: Sequence[uuid.UUID]) -> int:
        return sum(OBSERVING.observe_progress(conn, database=self._database.name, jobs=jobs))


@contextmanager
def observing(database: Database, numbers: DatabaseNumbers) -> Iterator[None]:
    """Observe in a thread while the block lasts and this queue manager is the active one; a last look at its end."""
    own = Database(database.name, database.url, application="edbench observer", pool_size=1, repeats=True)
    stop, observer = threading.Event(), Observer(own, numbers)

    def run() -> None:
        active = False
        while not stop.wait(_until_middle(time.time())):
            active = numbers.active
            if active:
                observer.look()
        if active:
            observer.look()
        own.dispose()

    thread = threading.Thread(target=run, name=f"observer {database.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_LAST_SECONDS)


def _until_middle(now: float) -> float:
    """Seconds to the middle of the next second: there, no two looks fall into one and none into no second."""
    return EVERY_SECONDS - (now - 0.5) % EVERY_SECONDS


LOCK_KEY = 0x65646265_6E636802  # "edbench" 2
RETRY_SECONDS = 0.5


def wait_for_lock(held: HeldConnection, database: str, stop: Stop) -> bool:
    """Wait until this connection is the one that dispatches; False when asked to stop before."""
    waiting = False
    while not stop.is_set():
        if held.try_lock(LOCK_KEY):
            return True
        if not waiting:
            log.info("database %s: another queue manager is active; waiting to take over", database)
            waiting = True
        stop.wait(RETRY_SECONDS)
    return False


AFTER_SENDING_SECONDS = 0.01  # lets some tasks end, so that a look sends more than one
BARRIER_SECONDS = 0.02  # nothing is pending and one task runs: the phase is about to end
BUSY_SECONDS = 0.1  # tasks run, and each slot has its next one waiting at the broker
IDLE_SECONDS = 0.5


def pause_after(look: Look, before: float, since: float = 0.0) -> float:
    """Seconds until the next look, unless a notification comes; `before` is the pause before this look, `since` the
    seconds since a look last sent something.

    While looks find nothing to do the pauses double, so that waiting for long tasks costs no CPU time. While all slots
    work and more is pending than may be sent, half of what waits at the broker is let go first: as many tasks as were
    sent have ended since."""
    if look.changed:
        return 0.0
    if look.sent:
        steady = look.pending and look.out >= look.slots
        half = since * (look.out + look.sent - look.slots) / (2 * look.sent) if steady else 0.0
        if half > AFTER_SENDING_SECONDS:
            return min(BUSY_SECONDS, half)
        return 0.0 if look.sent >= look.slots else AFTER_SENDING_SECONDS
    if look.out and not look.pending:
        # A phase of milliseconds is seen to its end at once; while many tasks of a long one run, the end is not near.
        return min(BUSY_SECONDS, BARRIER_SECONDS * look.out, max(BARRIER_SECONDS, 2 * before))
    return min(BUSY_SECONDS if look.out else IDLE_SECONDS, max(AFTER_SENDING_SECONDS, 2 * before))


class Manager:
    """Dispatches one database's tasks until `stop` is set."""

    def __init__(
        self,
        database: Database,
        broker_url: str,
        stop: Stop,
        commons: Commons | None = None,
        numbers: DatabaseNumbers | None = None,
        *,
        observe: bool = True,
        apart: bool = False,
        run: str = "",
    ) -> None:
        """`commons`: shared with the managers of the other databases; None: there are no others.

        `numbers`: receive what was done. `observe`: as the settings say. `apart`: tasks may name a host that must not
        do them. `run`: as `core.settings.Settings.run`."""
        self._apart = apart
        self._run_id = run
        self._observe = observe
        self._numbers = numbers or DatabaseNumbers()
        self._database = database
        self._broker_url = broker_url
        self._stop = stop
        self._commons = commons or Commons()
        self._outage = Outage(f"database {database.name}")

    def run(self) -> None:
        """Manage the database until stopped. Raises UsageError when the schema is newer than this code."""
        observed = observing(self._database, self._numbers) if self._observe else nullcontext()
        with measuring(self._database), observed:
            self._run()
        self._database.dispose()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                migrate(self._database)
                with self._database.listen() as held:
                    self._outage.over()
                    if wait_for_lock(held, self._database.name, self._stop):
                        self._dispatch(held)
            except DatabaseFault as fault:
                self._stop.wait(self._outage.failed(fault, time.monotonic()))

    def _dispatch(self, held: HeldConnection) -> None:
        sender = Sender(self._broker_url, self._database.name, self._run_id)
        try:
            held.subscribe(CHANNEL)
            names = (self._database.name, self._commons, self._numbers)
            dispatcher = Dispatcher(held, sender, *names, apart=self._apart)
            dispatcher.begin()
            self._numbers.active = True
            log.info("database %s: dispatching", self._database.name)
            pause, sent_at = 0.0, time.monotonic()
            while not self._stop.is_set():
                look = dispatcher.look()
                now = time.monotonic()
                pause = pause_after(look, pause, now - sent_at)
                sent_at = now if look.sent else sent_at
                if held.wait(pause):
                    dispatcher.count_slots()
        finally:
            self._numbers.active = False
            self._commons.forget(self._database.name)
            sender.close()

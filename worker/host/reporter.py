"""The reporter: the one process of a worker that talks to the databases for the supervisor.

It renews leases, reports deaths, registers the worker and sends frames, each database in a thread of its own, so that
one that hangs holds up nothing else. The supervisor stays single-threaded and without connections, which is what lets
it fork slots at any time; the two share the slot table and a pipe."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import psycopg2

from core.errors import DatabaseFault, UsageError
from core.records import JobOptions
from core.settings import DatabaseAddress, Settings
from monitoring.broker import FrameSender
from monitoring.frames import CounterDelta, FrameMaker
from monitoring.host_samplers import HostSampler, HostSampling, host_samplers
from monitoring.live import RegionReader
from monitoring.metrics import Endpoint, Readings
from monitoring.observations import Observation
from monitoring.processes import is_running
from monitoring.worker_metrics import CallMetrics, ObservedMetrics, TallyMetrics
from sql import ledger
from sql.jobs import get_job
from sql.runs import over_among
from sql.session import SILENT_SECONDS, Database
from sql.workers import WORKERS, NewWorker, register
from traces.parts import WorkerParts
from worker.host.registration import SEEN_SECONDS, WorkerSampler
from worker.processes import die_with_parent
from worker.slots.table import SlotRow, SlotTable, waiting
from worker.slots.watch import Report

_RENEWALS = 3  # in the time of one lease
_JOBS_REMEMBERED = 256


@dataclass(slots=True)
class _Held:
    job: uuid.UUID
    due: float  # monotonic seconds


class LeaseKeeper:
    """Renews the leases of one worker's slots in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[tuple[uuid.UUID, uuid.UUID], _Held] = {}
        self._seconds: dict[uuid.UUID, float] = {}

    def renew(self, rows: Iterable[SlotRow], now: float) -> set[tuple[uuid.UUID, uuid.UUID]]:
        """Renew the leases that are due at monotonic `now`, given the rows of the slots that run; return the (task,
        token) pairs of those that lost their task.

        A claim comes with a whole lease, so the first renewal is a third of it later. Raises DatabaseFault; what was
        due then stays due."""
        claims = {
            (row.at.task, row.at.token): row.at.job
            for row in rows
            if row.at is not None and not row.given_up and row.at.database == self._database.name
        }
        self._held = {pair: held for pair, held in self._held.items() if pair in claims}
        for pair, job in claims.items():
            if pair not in self._held:
                self._held[pair] = _Held(job, now + self._lease(job) / _RENEWALS)
        due = [pair for pair, held in self._held.items() if held.due <= now]
        if not due:
            return set()
        with self._database.transaction() as conn:
            ours = ledger.renew(conn, due)
        for pair in due:
            held = self._held[pair]
            held.due = now + self._lease(held.job) / _RENEWALS
        return set(due) - ours

    def _lease(self, job: uuid.UUID) -> float:
        seconds = self._seconds.get(job)
        if seconds is None:
            try:
                with self._database.transaction() as conn:
                    seconds = get_job(conn, job).options.lease_seconds
            except UsageError:
                seconds = JobOptions().lease_seconds  # deleted under our feet: nothing will be renewed
            if len(self._seconds) >= _JOBS_REMEMBERED:
                self._seconds.clear()
            self._seconds[job] = seconds
        return seconds


log = logging.getLogger(__name__)


class Deliveries:
    """Delivers parts of the traces of one database's jobs, one at a time: leases have to be renewed between."""

    def __init__(self, parts: WorkerParts, database: Database, worker: uuid.UUID) -> None:
        self._parts = parts
        self._database = database
        self._worker = worker
        self._over: dict[uuid.UUID, float] = {}  # jobs, and when they were found so
        self._fault = ""

    def look(self) -> None:
        """Find the jobs that are over by now; does nothing while there are no parts. Raises DatabaseFault."""
        jobs = self._parts.jobs()
        if not jobs:
            return
        with self._database.transaction() as conn:
            self._over = over_among(conn, jobs)

    def step(self) -> None:
        """Deliver a part; a failure is logged once, and the delivery is retried after the next look."""
        if not self._over:
            return
        job, when = next(iter(self._over.items()))
        try:
            if self._parts.deliver_one(job):
                return
            self._parts.mark_done(job, self._worker, when)
            del self._over[job]
        except OSError as error:
            self._over = {}
            if str(error) != self._fault:
                self._fault = str(error)
                log.warning("calls recorded for the trace of job %s stay on scratch: %s", job, error)


class WorkerExposition:
    """Metrics of all slots of the worker together."""

    def __init__(self, table: SlotTable, readers: Sequence[RegionReader], sender: FrameSender) -> None:
        self._calls = CallMetrics()
        self._observed = ObservedMetrics()
        self.collectors = (
            self._calls,
            self._observed,
            TallyMetrics([table.tally(slot) for slot in range(table.slots)], table.databases),
            Readings(
                {
                    "edbench_calls_lost_total": lambda: sum(reader.lost for reader in readers),
                    "edbench_frames_waiting": lambda: sender.waiting,
                    "edbench_frames_lost_total": lambda: sender.lost,
                }
            ),
        )

    def serve(self, endpoint: Endpoint) -> None:
        """Answer until the process ends."""
        endpoint.serve_or_log(self.collectors)

    def add(self, deltas: Iterable[CounterDelta], observations: Iterable[Observation]) -> None:
        """Add what the slots' recorders have counted since the last time, and the present observations."""
        self._calls.add(deltas)
        self._observed.take(observations)


_TICK_SECONDS = 0.25
_RETRY_SECONDS = 0.5  # after a database failed
_FRAME_SECONDS = 1.0
_FAILED = 1  # exit status


@dataclass(frozen=True, slots=True)
class Numbered:
    """A numbered report; the reporter sends its number back once the ledger has the report."""

    number: int
    report: Report


@dataclass(frozen=True, slots=True)
class Finish:
    """Order to write the rest, for at most so long, and leave, because the slots are gone."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReporterPlan:
    """Arguments of a reporter."""

    settings: Settings
    identity: NewWorker
    previous: uuid.UUID | None  # the incarnation of a reporter that died: it is to be signed off
    table: SlotTable
    parts: WorkerParts  # of the traces of jobs
    metrics: Endpoint


class DatabaseReporter(threading.Thread):
    """Thread that reports to one database."""

    def __init__(self, plan: ReporterPlan, database: Database, acknowledge: Connection, lock: threading.Lock) -> None:
        super().__init__(name=f"database {database.name}", daemon=True)
        self._plan = plan
        self._database = database
        self._leases = LeaseKeeper(database)
        self._deliveries = Deliveries(plan.parts, database, plan.identity.incarnation)
        self._acknowledge = acknowledge
        self._lock = lock
        self._reports: deque[Numbered] = deque()
        self._wake = threading.Event()
        self._finishing = False
        self.registered = False  # the database has this worker's row
        self._seen_due = 0.0
        self._fault = ""

    def report(self, numbered: Numbered) -> None:
        """Queue a report; from the main thread."""
        self._reports.append(numbered)
        self._wake.set()

    def finish(self) -> None:
        """Leave once everything is written; from the main thread."""
        self._finishing = True
        self._wake.set()

    def run(self) -> None:
        """Report until `finish` is called and all is written; a fault is logged once and retried. An unforeseen error
        ends the whole reporter, and the supervisor starts another: without this thread alone leases would expire and
        the worker would seem gone for no visible reason."""
        try:
            self._report_on()
        except BaseException:
            log.exception("unexpected error for database %s; another reporter takes over", self._database.name)
            os._exit(_FAILED)

    def _report_on(self) -> None:
        while True:
            self._wake.clear()
            finishing = self._finishing
            try:
                self._turn()
                if finishing and not self._reports:
                    self._leave()
                    return
            except DatabaseFault as fault:
                self._log_fault(str(fault))
                time.sleep(_RETRY_SECONDS)
            except psycopg2.Error as error:
                self._log_fault(
                    f"database {self._database.name} refused a statement: {' '.join(str(error).split())[:300]}"
                )
                time.sleep(_RETRY_SECONDS)
            else:
                if self._fault:
                    self._fault = ""
                    log.warning("database %s answers again", self._database.name)
            self._wake.wait(_TICK_SECONDS)

    def _log_fault(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            log.warning("%s; retrying", fault)

    def _turn(self) -> None:
        if not self.registered:
            self._register()
        while self._reports:
            self._write(self._reports[0])
            self._reports.popleft()
        now = time.monotonic()
        rows = self._plan.table.read_all()
        # Only slots with a task: the kernel is not queried about others.
        lost = self._leases.renew((row for row in rows if row.at is not None and is_running(row.pid)), now)
        for task, token in lost:
            log.info("task %s: claim %s no longer holds it", task, token)
        if now >= self._seen_due:
            waits = [waiting(slot, row, now) for slot, row in enumerate(rows) if row.pid]
            self._seen([wait for wait in waits if wait is not None])
            self._deliveries.look()
            self._seen_due = now + SEEN_SECONDS
        self._deliveries.step()

    def _register(self) -> None:
        # Durably: it is done once, and a worker without its row gets no tasks.
        with self._database.transaction(durable=True) as conn:
            register(conn, self._plan.identity)
        self.registered = True
        if self._plan.previous is not None:
            with self._database.transaction() as conn:
                WORKERS.reporter_died(conn, incarnation=self._plan.previous)

    def _write(self, numbered: Numbered) -> None:
        report = numbered.report
        try:
            # Durable, because it is forgotten here then, and because it may suspend the job.
            with self._database.transaction(durable=True) as conn:
                report.write(conn, self._plan.identity.name)
        except psycopg2.Error as error:
            # The statement's own fault: its job was deleted, most likely. Trying again would not help.
            log.warning("task %s: cannot record the death of its slot: %s", report.at.task, error)
        with self._lock:
            self._acknowledge.send(numbered.number)

    def _seen(self, waits: Sequence[dict[str, Any]]) -> None:
        incarnation = self._plan.identity.incarnation
        with self._database.transaction() as conn:
            WORKERS.worker_seen(conn, incarnation=incarnation, waiting=json.dumps(waits))

    def _leave(self) -> None:
        with self._database.transaction() as conn:
            WORKERS.worker_stopped(conn, incarnation=self._plan.identity.incarnation)
        self._database.dispose()


class FrameWriter:
    """Sends to the broker, once a second, the counts of the slots' live recorders and the other observations; the
    counts also to Prometheus."""

    def __init__(self, plan: ReporterPlan) -> None:
        assert plan.settings.broker is not None  # the supervisor has checked
        self._readers = [RegionReader(plan.table.region(slot)) for slot in range(plan.table.slots)]
        before = 0 if plan.previous is None else self._missing()  # that incarnation's
        self._maker = FrameMaker(plan.identity.name, plan.identity.incarnation, before)
        self._sender = FrameSender(plan.settings.broker, run=plan.settings.run)
        self._sampling = HostSampling(_samplers(plan))
        self._exposition = WorkerExposition(plan.table, self._readers, self._sender)
        self._exposition.serve(plan.metrics)
        if plan.previous is not None:
            self._collect()  # the reporter before us sent these; what it had not sent yet is lost

    def _collect(self) -> list[CounterDelta]:
        return [delta for reader in self._readers for delta in reader.collect()]

    def _missing(self) -> int:
        return sum(reader.lost for reader in self._readers)

    def write(self, *, last: bool = False) -> None:
        """Collect the counts and send a frame."""
        now = time.time()  # before the counts are collected: what ends from here on may be in the next frame
        deltas, seen = self._collect(), self._sampling.sample()
        self._exposition.add(deltas, seen)
        frame = self._maker.frame(deltas, now, seen, last=last, missing=self._missing())
        if frame is not None:
            self._sender.send(frame)
        if last:
            self._sender.close()


def _samplers(plan: ReporterPlan) -> list[HostSampler]:
    if not plan.settings.observe:
        return []
    return [
        WorkerSampler(plan.identity.name, plan.identity.pid, plan.table, filer=plan.settings.filer != "none"),
        *host_samplers(plan.settings),
    ]


def _serve(plan: ReporterPlan, pipe: Connection) -> None:
    lock = threading.Lock()

    def database(address: DatabaseAddress) -> Database:
        name = f"edbench {plan.identity.name}"
        return Database(address.name, address.url, application=name, silent_seconds=SILENT_SECONDS)

    threads = {d.name: DatabaseReporter(plan, database(d), pipe, lock) for d in plan.settings.databases}
    frames = FrameWriter(plan)
    for thread in threads.values():
        thread.start()
    due = time.monotonic()
    while True:
        if pipe.poll(max(0.0, due - time.monotonic())):
            message = pipe.recv()
            if isinstance(message, Finish):
                break
            threads[message.report.at.database].report(message)
        if time.monotonic() >= due:
            # A frame that arrives before its worker's row would pass for a lost one; the counts wait in the pages.
            if all(thread.registered for thread in threads.values()):
                frames.write()
            due = time.monotonic() + _FRAME_SECONDS
    deadline = time.monotonic() + message.seconds
    for thread in threads.values():
        thread.finish()
    frames.write(last=True)
    for thread in threads.values():
        thread.join(max(0.0, deadline - time.monotonic()))


def run_reporter(plan: ReporterPlan, pipe: Connection, parent: int) -> int:
    """Report, in the forked child, until ordered to finish; return the exit status."""
    die_with_parent(parent)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # it leaves last, when the supervisor orders it
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        _serve(plan, pipe)
    except EOFError:
        log.error("reporter %d: the supervisor has ended", os.getpid())
        return _FAILED
    return 0

"""The supervisor of one worker: forks the slots, enforces the deadlines of their work, reports why a slot died.

It has one thread and no connection to anything, so that it can fork at any time; it writes to the databases through the
reporter (worker.host.reporter). Slots and reporter die with it."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import FrameType

from core.extensions import installed_version
from core.moments import reached
from core.settings import Settings
from monitoring.block import boot_id
from monitoring.metrics import NOWHERE, Endpoint
from monitoring.processes import STOPPED_STATES, process_state
from sql.workers import NewWorker
from traces.parts import deliver_left_behind, worker_parts
from worker.host.reporter import Finish, Numbered, ReporterPlan, run_reporter
from worker.office.converting import remove_stale_sockets
from worker.processes import ended_children, oom_kills, thread_count
from worker.sandbox.fork_server import ForkServerAddress, start_fork_server
from worker.sandbox.lockdown import lacking
from worker.slots.slot import Handle, SlotPlan, fork_into, fork_slot
from worker.slots.slot import preload as load_shared
from worker.slots.table import SlotRow, SlotTable, cannot_be_ended, doing
from worker.slots.watch import Circumstances, Report, Watched, WorkerScratch, describe, judge, stuck

TICK_SECONDS = 0.25
HELD_UP_SECONDS = 1.0  # a tick this late means that we were stopped ourselves, and the slots perhaps with us
FINISH_SECONDS = 5.0  # for the reporter's last words
UNKILLABLE_SECONDS = 10.0  # a slot that has not ended so long after SIGKILL waits in the kernel, for the storage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlan:
    """Arguments of a worker."""

    settings: Settings  # with databases and broker
    name: str  # unique among the workers that run
    handle: Handle
    grace_seconds: float = 10.0  # time that a running task gets when the worker is asked to stop
    metrics: Endpoint = NOWHERE  # address for Prometheus
    preload: Callable[[Settings], None] = load_shared  # imports for all slots
    fork_server: ForkServerAddress | None = None  # shared by several workers (worker.crowd); None: one of its own


class Parent:
    """A process that forks children and waits for signals, for their ends and for what comes through a pipe."""

    def __init__(self) -> None:
        self._stops = 0  # number of requests to stop
        self._pipe: Connection | None = None
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def _handle_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_stop)
        # The handler only keeps the signal from being ignored; the wake-up descriptor does the rest.
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _on_stop(self, _signum: int, _frame: FrameType | None) -> None:
        self._stops += 1

    def _wait(self, seconds: float) -> None:
        """Wait until a signal arrives, something comes through the pipe, or the time is over."""
        pipes = [] if self._pipe is None else [self._pipe.fileno()]
        ready, _, _ = select.select([self._wake_read, *pipes], [], [], seconds)
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _let_go(self) -> None:
        """Close, in a forked child, what only its parent uses."""
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._close_pipe()


class Supervisor(Parent):
    """One worker, from `run` to its end."""

    def __init__(self, plan: WorkerPlan) -> None:
        super().__init__()
        self._plan = plan
        slots = plan.settings.slots
        self._table = SlotTable(slots, [d.name for d in plan.settings.databases])
        self._watched = [Watched(slot) for slot in range(slots)]
        self._incarnation = uuid.uuid4()
        self._scratch = WorkerScratch(plan.settings.scratch, self._incarnation)
        self._parts = worker_parts(plan.settings.scratch, self._incarnation, plan.settings.storage)
        self._stop_at = 0.0  # when the grace is over; 0: no stop was requested
        self._reports: dict[int, Report] = {}  # reports that the ledger has not got yet
        self._reports_made = 0
        self._reporter = 0
        self._reporters_made = 0
        self._reporter_due = 0.0
        self._fork_server: ForkServerAddress | None = None
        self._fork_server_due = 0.0
        self._lacking = "off"  # missing steps of the sandboxes
        self._oom_kills = oom_kills()
        self._last_tick = time.monotonic()

    def run(self) -> int:
        """Work until asked to stop; return the exit status. Call it in a process's main thread, once."""
        self._handle_signals()
        deliver_left_behind(self._plan.settings.scratch, self._plan.settings.storage)
        self._scratch.remove_stale()
        remove_stale_sockets()
        if self._plan.settings.sandbox:
            self._lacking = lacking()
            log.log(
                logging.WARNING if self._lacking else logging.INFO,
                "sandboxes: %s",
                self._lacking or "the maximum",
            )
        self._tend_fork_server(time.monotonic())  # it loads while we do
        self._plan.preload(self._plan.settings)
        if (threads := thread_count()) != 1:
            log.warning("%d threads before the first fork; slots may hang on locks of these threads", threads)
        while not (self._stop_at and not any(w.pid and not w.given_up for w in self._watched)):
            self._turn()
            self._wait(TICK_SECONDS)
        self._finish_reporter()
        self._finish_fork_server()
        self._parts.deliver_all()
        self._scratch.close()
        remove_stale_sockets()
        return 0

    def _turn(self) -> None:
        self._reap()
        now = time.monotonic()
        self._tend_reporter(now)
        self._tend_fork_server(now)
        self._take_acknowledgements()
        if self._stops:
            self._stop_slots(now)
        elif self._fork_server is not None or not self._plan.settings.sandbox:
            for watched in self._watched:
                if not watched.pid and watched.due <= now:
                    self._fork(watched)
        self._enforce_deadlines(now)

    # Slots

    def _fork(self, watched: Watched) -> None:
        incarnation = uuid.uuid4()
        try:
            watched.incarnation = incarnation
            watched.scratch = self._scratch.make(watched.slot, incarnation)
            reached("fork")
            pid = fork_slot(
                SlotPlan(
                    settings=self._plan.settings,
                    worker=self._plan.name,
                    slot=watched.slot,
                    incarnation=incarnation,
                    scratch=watched.scratch,
                    parts=self._parts,
                    table=self._table,
                    handle=self._plan.handle,
                    fork_server=self._fork_server,
                ),
                self._let_go,
            )
        except OSError as error:  # scratch or the process table is full: it may not be in a while
            log.error("slot %d cannot be started: %s; retrying", watched.slot, error)
            watched.started = time.monotonic()
            watched.end(time.monotonic())
            return
        watched.begin(pid, time.monotonic())

    def _let_go_of_all(self) -> None:
        """Close, in a child that parses nothing, the fork server's socket too."""
        self._let_go()
        if self._fork_server is not None:
            self._fork_server.close()

    def _reap(self) -> None:
        grown = self._oom_kills_grown()
        for pid, status in ended_children():
            if pid == self._reporter:
                self._reporter = 0
                continue
            if self._fork_server is not None and pid == self._fork_server.pid:
                if not self._stops:
                    log.error("the fork server of the sandboxes ended with %s; starting another", describe(status))
                    self._fork_server.close()
                self._fork_server = None
                continue
            for watched in self._watched:
                if watched.pid == pid:
                    self._bury(watched, status, grown)

    def _oom_kills_grown(self) -> bool:
        before, self._oom_kills = self._oom_kills, oom_kills()
        return before is not None and self._oom_kills is not None and self._oom_kills > before

    def _bury(self, watched: Watched, status: int, oom: bool) -> None:
        row = self._table.read(watched.slot)
        begun = row.around.begun
        how = Circumstances(
            asked=watched.asked,
            killed=watched.killed,
            overdue=watched.overdue,
            out_of_memory=oom,
            seconds=max(0.0, time.monotonic() - begun - watched.clock.stopped) if begun else 0.0,
        )
        ours = row.pid == watched.pid and not watched.given_up
        report = judge(row, status, how) if ours else None
        self._table.clear(watched.slot)
        self._table.tally(watched.slot).slot_died()
        if not watched.asked or report is not None:
            log.warning(
                "slot %d (process %d) ended with %s%s", watched.slot, watched.pid, describe(status), _for_people(report)
            )
        self._scratch.remove(watched.scratch)
        watched.end(time.monotonic())
        self._report(report)

    def _report(self, report: Report | None) -> None:
        if report is not None:
            self._reports_made += 1
            self._reports[self._reports_made] = report
            self._send(Numbered(self._reports_made, report))

    def _enforce_deadlines(self, now: float) -> None:
        gap = now - self._last_tick
        self._last_tick = now
        for watched in self._watched:
            if not watched.pid or watched.given_up:
                continue
            row = self._table.read(watched.slot)
            if watched.overdue or watched.killed:
                if now > watched.killed_at + UNKILLABLE_SECONDS:
                    self._give_up(watched, row, now)
                continue
            if watched.worth_reporting(row, now):
                log.warning("%s", doing(watched.slot, row, now))
            # Without a deadline nothing can be over: the kernel is not queried about such slots, four times a second.
            stopped = gap > HELD_UP_SECONDS or (row.deadline > 0 and process_state(watched.pid) in STOPPED_STATES)
            if watched.clock.overdue(row, now, stopped_for=gap if stopped else 0.0) and not stopped:
                log.warning("%s, until its deadline; killing it", doing(watched.slot, row, now))
                watched.overdue = True
                self._kill(watched, now)

    def _kill(self, watched: Watched, now: float) -> None:
        watched.killed_at = now
        os.kill(watched.pid, signal.SIGKILL)

    def _give_up(self, watched: Watched, row: SlotRow, now: float) -> None:
        """Give up a slot that waits in the kernel and cannot be killed; its task must not wait with it."""
        why = cannot_be_ended(self._plan.name, watched.slot, row, now)
        log.error("%s", why)
        watched.given_up = True
        self._table.give_up(watched.slot, watched.pid)
        if not watched.killed:  # at our own end there is nothing to report: its lease runs out
            self._report(stuck(row, why))

    def _stop_slots(self, now: float) -> None:
        if not self._stop_at:
            self._stop_at = now + self._plan.grace_seconds
            for watched in self._watched:
                if watched.pid:
                    watched.asked = True
                    os.kill(watched.pid, signal.SIGTERM)
        if now < self._stop_at and self._stops < 2:
            return
        for watched in self._watched:
            if watched.pid and not watched.killed:
                watched.killed = True
                self._kill(watched, now)

    def _tend_fork_server(self, now: float) -> None:
        """Start the fork server, or another one when it died. Its sandboxes die with it, so their slots die and are
        forked again."""
        settings = self._plan.settings
        if self._plan.fork_server is not None:
            self._fork_server = self._plan.fork_server
        elif settings.sandbox and self._fork_server is None and now >= self._fork_server_due and not self._stops:
            self._fork_server_due = now + 1.0
            try:
                self._fork_server = start_fork_server(settings.slot_memory_mb, settings.plugins, os.environ)
            except OSError as error:  # not fatal, as for a slot: the process table may have space in a while
                log.error("the fork server of the sandboxes cannot be started: %s; retrying", error)

    def _finish_fork_server(self) -> None:
        """End the fork server: it ends when no process is left that might order a sandbox."""
        fork_server = self._fork_server
        if fork_server is None:
            return
        fork_server.close()
        if self._plan.fork_server is not None:  # others use it
            return
        deadline = time.monotonic() + FINISH_SECONDS
        while self._fork_server is not None and time.monotonic() < deadline:
            self._reap()
            self._wait(TICK_SECONDS)
        if self._fork_server is not None:
            os.kill(fork_server.pid, signal.SIGKILL)
            os.waitpid(fork_server.pid, 0)

    # The reporter

    def _tend_reporter(self, now: float) -> None:
        """Fork the reporter, or another one when it died: as a new incarnation of the worker, so that no second
        of calls is counted twice."""
        if self._reporter or now < self._reporter_due:
            return
        previous = None
        if self._reporters_made:
            log.error("the reporter died; starting another")
            previous, self._incarnation = self._incarnation, uuid.uuid4()
        self._reporters_made += 1
        self._close_pipe()
        ours, theirs = Pipe()
        self._pipe = ours
        plan = ReporterPlan(
            settings=self._plan.settings,
            identity=NewWorker(
                incarnation=self._incarnation,
                name=self._plan.name,
                host=socket.gethostname(),
                pid=os.getpid(),
                boot_id=boot_id(),
                slots=self._table.slots,
                version=installed_version(),
                box=self._lacking,
            ),
            previous=previous,
            table=self._table,
            parts=self._parts,
            metrics=self._plan.metrics,
        )
        self._reporter = fork_into(lambda parent: run_reporter(plan, theirs, parent), self._let_go_of_all)
        self._reporter_due = now + 1.0
        theirs.close()
        for number, report in self._reports.items():
            self._send(Numbered(number, report))

    def _send(self, message: Numbered | Finish) -> None:
        """Send a message to the reporter; a report that does not arrive is kept and sent to the next reporter."""
        try:
            if self._pipe is not None:
                self._pipe.send(message)
        except OSError:
            log.error("the reporter does not answer")

    def _take_acknowledgements(self) -> None:
        try:
            while self._pipe is not None and select.select([self._pipe], [], [], 0)[0]:  # `poll` makes a selector
                self._reports.pop(self._pipe.recv(), None)
        except (EOFError, OSError):
            self._close_pipe()  # it died; _reap and _tend_reporter see to it

    def _finish_reporter(self) -> None:
        self._tend_reporter(time.monotonic())
        self._send(Finish(FINISH_SECONDS))
        deadline = time.monotonic() + FINISH_SECONDS + 1.0
        while self._reporter and time.monotonic() < deadline:
            self._wait(TICK_SECONDS)
            self._take_acknowledgements()
            self._reap()
        self._take_acknowledgements()
        if self._reporter:
            os.kill(self._reporter, signal.SIGKILL)
            os.waitpid(self._reporter, 0)
        if self._reports:
            log.warning("%d tasks could not be released; they run again when their leases expire", len(self._reports))


def _for_people(report: Report | None) -> str:
    if report is None:
        return ""
    task = f" during task {report.at.task}, claim {report.at.token}"
    return f"{task}, reading item {report.item}: {report.cause}" if report.item is not None else task

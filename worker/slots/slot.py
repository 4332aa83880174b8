"""One slot's process, from the fork to its end."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import signal
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from core.celery_app import own_first, queues_of, takes_turns
from core.errors import DatabaseFault, EdbenchError
from core.filer.emulation import emulated_filer
from core.settings import Settings
from core.storage.layer import Storage
from monitoring.live import LiveRecorder
from readers.identification import libmagic
from readers.parsers import ParserSet
from search.engine import load_engine
from search.publisher import OpenShards
from sql import ledger
from sql.session import SILENT_SECONDS, Database
from traces.parts import WorkerParts
from worker import app
from worker.costs import count_sandbox
from worker.parsers import own_set, read_by_office
from worker.processes import die_with_parent, freeze, limit_slot
from worker.sandbox.fork_server import ForkServerAddress, order_sandbox
from worker.sandbox.sandbox import install
from worker.slots.context import SlotContext, SpoolTracer, UnselectedRecorder, note_parsers
from worker.slots.table import RowWriter, SlotTable

# Exit statuses that mean something to the supervisor (worker.slots.watch).
EXIT_MEMORY = 71  # an uncaught MemoryError
EXIT_BROKEN = 70  # an unforeseen error in the middle of a task, or the slot could not start

Handle = Callable[[SlotContext, str, uuid.UUID, uuid.UUID], None]  # of a database, a job and a task

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPlan:
    """Arguments of a slot; everything but the table is plain data."""

    settings: Settings
    worker: str
    slot: int
    incarnation: uuid.UUID  # of this process
    scratch: Path  # its own; exists
    parts: WorkerParts  # of the traces of jobs
    table: SlotTable
    handle: Handle
    fork_server: ForkServerAddress | None = None  # source of its sandbox; None: it parses itself


def preload(settings: Settings) -> None:
    """Import what every slot needs, so that slots share its memory and a new one is up in milliseconds; and keep the
    garbage collector away from pages that they share. Where there are sandboxes, the fork server loads the parsers."""
    load_engine(settings.index_engine)
    app.preload(settings.broker)
    if not settings.sandbox:
        own_set()
        libmagic.preload()
    freeze()


def make_context(plan: SlotPlan, parsers: ParserSet | None = None) -> SlotContext:
    """Return the slot's services; nothing connects before its first use. `parsers`: those of its sandbox."""
    recorder = LiveRecorder(plan.table.region(plan.slot)) if plan.settings.observe else UnselectedRecorder()
    tally = plan.table.tally(plan.slot)
    filer = emulated_filer(plan.settings, tally.served())
    storage = Storage(recorder, filer=filer)
    return SlotContext(
        settings=plan.settings,
        worker=plan.worker,
        slot=plan.slot,
        incarnation=plan.incarnation,
        databases={
            d.name: Database(
                d.name,
                d.url,
                application=f"edbench {plan.worker}/{plan.slot}",
                timer=tally.transaction_timer(number),
                silent_seconds=SILENT_SECONDS,
                repeats=True,
            )
            for number, d in enumerate(plan.settings.databases)
        },
        recorder=recorder,
        storage=storage,
        breadcrumb=RowWriter(
            plan.table, plan.slot, os.getpid(), plan.incarnation, stall_seconds=plan.settings.stall_seconds
        ),
        scratch=plan.scratch,
        shards=OpenShards(plan.scratch),
        tally=tally,
        tracer=SpoolTracer(plan.parts, plan.worker, plan.slot, storage, recorder),
        parsers=parsers,
        filer=filer,
        filer_digest="" if filer is None else filer.digest,
    )


def _on_term(_signum: int, _frame: FrameType | None) -> None:
    app.ask_to_stop()


def _become_slot(plan: SlotPlan, parent: int) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGTERM, _on_term)
    for number in (signal.SIGINT, signal.SIGHUP):  # the terminal's business is with the supervisor
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    limit_slot(plan.settings.slot_memory_mb)
    faulthandler.enable()  # a parser's crash leaves a trace in the worker's log
    app.quiet_celery(plan.settings.log_level)


def _guarded(plan: SlotPlan, context: SlotContext) -> Callable[[str, str, str], None]:
    """Return the handler for Celery: errors that it does not catch end the slot, so that the supervisor sees them."""

    def run(database: str, job: str, task: str) -> None:
        try:
            plan.handle(context, database, uuid.UUID(job), uuid.UUID(task))
        except MemoryError:
            os._exit(EXIT_MEMORY)
        except BaseException:
            log.critical(
                "slot %d: task %s of %s ended with an unexpected error", plan.slot, task, database, exc_info=True
            )
            if plan.table.read(plan.slot).at is not None:
                os._exit(EXIT_BROKEN)

    return run


def _warm(context: SlotContext) -> None:
    """Connect, and claim a task that does not exist: the cost of a first claim is paid before the worker is
    announced."""
    unknown = uuid.UUID(int=0)
    for database in context.databases.values():
        with contextlib.suppress(DatabaseFault):  # its first claim will report it
            if context.parsers is not None:
                note_parsers(context, database)
            with database.transaction() as conn:
                ledger.claim(conn, unknown, unknown, unknown, context.worker, context.slot)


def run_slot(plan: SlotPlan, parent: int) -> int:
    """Be the slot, in the forked child with all signals blocked, until asked to stop; return the exit status."""
    _become_slot(plan, parent)
    parsers = None
    if plan.fork_server is not None:
        sandbox = order_sandbox(plan.fork_server)
        plan.fork_server.close()
        install(sandbox)
        count_sandbox(sandbox.pid)
        plan.table.tally(plan.slot).sandbox = sandbox.pid
        parsers = sandbox.parsers()
    context = make_context(plan, parsers)
    read_by_office(context.scratch)
    assert isinstance(context.breadcrumb, RowWriter)
    context.breadcrumb.publish()  # the row is ours from now on
    assert plan.settings.broker is not None  # the supervisor has checked
    celery = app.make_slot_app(plan.settings.broker, _guarded(plan, context))
    _warm(context)
    databases = [d.name for d in plan.settings.databases]
    if len(plan.settings.hosts) <= 1 and not takes_turns(len(databases), plan.settings.slots):
        databases = own_first(databases, plan.slot, plan.settings.slots)
        celery.conf.broker_transport_options |= {"queue_order_strategy": "priority"}
    queues = queues_of(databases, plan.settings.hosts, plan.settings.run)
    status = app.consume(celery, f"slot{plan.slot}@{plan.worker}", queues)
    context.shards.close()
    for database in context.databases.values():
        database.dispose()
    return status


def fork_slot(plan: SlotPlan, close: Callable[[], None]) -> int:
    """Fork a slot from a process with one thread; return its process id. `close` closes the parent's descriptors."""
    return fork_into(lambda parent: run_slot(plan, parent), close)


def fork_into(body: Callable[[int], int], close: Callable[[], None]) -> int:
    """Fork a child that runs `body(parent's process id)` and exits with what it returns, never coming back here.

    All signals are blocked across the fork: the child must not run the parent's handlers; `body` lets them in."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    status = EXIT_BROKEN
    try:
        signal.set_wakeup_fd(-1)
        close()
        status = body(parent)
    except EdbenchError as error:
        log.critical("process %d ended: %s", os.getpid(), error)
    except BaseException:
        log.critical("process %d ended with an unexpected error", os.getpid(), exc_info=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

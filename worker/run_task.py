"""Read this first: a slot's whole dealing with one task is claim, work, finish.

The claim is fenced by (task, attempt): everything an attempt found is written in the one transaction of
`ledger.finish`, or dropped when another attempt has taken the task over. A bad document never gets here (the
task bodies book it as an exception); what does get here is a system that is broken: the job is suspended, or,
when it is the database that went away for a moment, the finish is tried again until the lease runs out.
"""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable

from core.errors import DatabaseFault, ExceptionCode, StorageFault, SystemFault, TaskLost
from core.places import job_location
from core.records import ClaimedTask, Phase, TaskResult
from monitoring.metrics.tally import Outcome
from sql import jobs, ledger, states
from sql.items import custodian_names
from sql.session import Database
from worker import expand, finalise, index, walk
from worker.context import SlotContext
from worker.ocr import phase as ocr
from worker.task import TaskWork

log = logging.getLogger(__name__)


def _replay(work: TaskWork) -> TaskResult:
    from worker import replay_task  # numpy's library starts threads, which must not be before the slots are forked

    return replay_task.run(work)


BODIES: dict[Phase, Callable[[TaskWork], TaskResult]] = {
    Phase.WALK: walk.run,
    Phase.EXPAND: expand.run,
    Phase.INDEX: index.run,
    Phase.OCR: ocr.run,
    Phase.REPLAY: _replay,
    Phase.FINALISE: finalise.run,
}
_WITH_PASSWORDS = (Phase.EXPAND, Phase.INDEX, Phase.OCR)  # they open items
_RETRY_SECONDS = 0.25
_SOURCE_TROUBLE = (ExceptionCode.VANISHED, ExceptionCode.UNREADABLE)


def handle(context: SlotContext, database: str, task: int) -> None:
    """Do one task, if it is still to be done. A stale or doubled message claims nothing."""
    db = context.databases[database]
    claimed = _claim(context, db, task)
    if claimed is None:
        return
    context.crumb.begin_task(database, claimed.job, claimed.id, claimed.attempt, claimed.phase)
    context.tally.begin(claimed.phase)
    context.recorder.select(claimed.job, claimed.phase)
    outcome, result = _attempt(context, db, claimed)
    context.tracer.flush()  # of an attempt that was not finished
    context.tally.end(claimed.phase, outcome, result)
    context.crumb.end_task()  # not in a `finally`: what escapes ends the slot, and the crumb must still say where


def _claim(context: SlotContext, db: Database, task: int) -> ClaimedTask | None:
    """Claim it. Connections that a restarted server left dead fail once, so a passing fault is tried once more: had
    the first claim been committed, the second would find nothing and the lease would bring the task back."""
    for last in (False, True):
        try:
            with db.transaction() as conn:
                return ledger.claim(conn, task, context.worker, context.slot)
        except DatabaseFault as e:
            if last or not e.transient:
                log.warning("task %d of %s was not claimed: %s", task, db.name, e)
                return None  # the dispatch deadline brings it back
    return None


def _attempt(context: SlotContext, db: Database, claimed: ClaimedTask) -> tuple[Outcome, TaskResult | None]:
    """How it ended, and what was committed."""
    try:
        work = _prepare(context, db, claimed)
        result = BODIES[claimed.phase](work)
        context.crumb.leave()
        if any(e.code in _SOURCE_TROUBLE for e in result.exceptions):
            work.check_source_root()  # a reader inside a handler may have met an unmounted source, not a bad file
        context.storage.sync_written()
        context.tracer.flush()  # before the job can be over
        _finish(context, db, claimed, result, work.job.options.lease_seconds)
        return Outcome.DONE, result
    except TaskLost as e:
        log.info("%s", e)
        context.shards.abandon(claimed.job)
        return Outcome.LOST, None
    except SystemFault as e:
        context.shards.abandon(claimed.job)
        _give_back(db, claimed, e)
        return Outcome.GIVEN_BACK, None
    except MemoryError:
        raise  # the slot ends and its supervisor reports where it was
    except Exception as e:
        context.crumb.leave()
        context.shards.abandon(claimed.job)
        log.exception("task %d (%s) failed", claimed.id, claimed.phase)
        _failed(db, claimed, e)
        return Outcome.FAILED, None


def _prepare(context: SlotContext, db: Database, claimed: ClaimedTask) -> TaskWork:
    with db.transaction() as conn:
        job = jobs.get_job(conn, claimed.job)
        convicted = ledger.convicted(conn, claimed.job)
        untouchable = ledger.untouchable(conn, claimed.job) if convicted else set()
        custodians = custodian_names(conn, claimed.job)
    if job.options.filer.digest != context.filer_digest:
        wanted = job.options.filer.source
        raise StorageFault(
            f"the job runs on the emulated filer {wanted!r} and worker {context.worker} emulates another or none:"
            f" start its workers with EDBENCH_FILER={wanted} and the same file there"
        )
    if job.options.ocr.asked:  # now, and not when there is hours' work behind it
        ocr.engine_of(job.options.ocr.languages, context.worker)
    context.storage.fsync = job.options.fsync
    context.tracer.begin(job.id, claimed.phase, wanted=job.options.trace)
    work = TaskWork(
        context=context,
        database=db,
        claimed=claimed,
        job=job,
        custodians=custodians,
        convicted=convicted,
        untouchable=untouchable,
    )
    # The job's folder was made when the job was: without it the storage is not the one the job writes to.
    context.storage.floor = os.path.join(work.root, job_location(work.job.id))
    context.storage.stat_floor()
    if claimed.phase is not Phase.FINALISE:
        work.check_source_root()
    if claimed.phase not in _WITH_PASSWORDS:
        return work
    return dataclasses.replace(work, passwords=context.banks.of(context.storage, work.root, job))


def _finish(context: SlotContext, db: Database, claimed: ClaimedTask, result: TaskResult, lease_seconds: float) -> None:
    """Write it all. A database that is away is waited for as long as the lease could last: the fence makes a
    second try safe, because a first one that did commit leaves nothing to fence."""
    deadline = context.clock.monotonic_ns() + int(lease_seconds * 1e9)
    while True:
        try:
            with db.transaction() as conn:
                ledger.finish(conn, claimed, result)
            return
        except DatabaseFault as e:
            if not e.transient or context.clock.monotonic_ns() > deadline:
                raise
            log.warning("task %d: finishing again: %s", claimed.id, e)
            context.clock.sleep(_RETRY_SECONDS)


def _give_back(db: Database, claimed: ClaimedTask, fault: SystemFault) -> None:
    """The system failed: the task is pending again, and the job suspended unless the fault is a passing one."""
    log.error("task %d (%s): %s", claimed.id, claimed.phase, fault)
    try:
        with db.transaction(durable=True) as conn:
            ledger.release(conn, claimed.id, claimed.attempt, failed=False)
            if not (isinstance(fault, DatabaseFault) and fault.transient):
                states.suspend(conn, claimed.job, str(fault))
    except DatabaseFault as e:
        log.error("task %d could not be given back, its lease will run out: %s", claimed.id, e)


def _failed(db: Database, claimed: ClaimedTask, error: Exception) -> None:
    """An unforeseen error of ours: counted against the task, so that it cannot go round for ever."""
    try:
        with db.transaction(durable=True) as conn:
            ledger.fail(conn, claimed.id, claimed.attempt, f"{type(error).__name__}: {error}"[:500])
    except DatabaseFault as e:
        log.error("task %d could not be given back, its lease will run out: %s", claimed.id, e)

"""Read this first: a slot's whole dealing with one task is claim, work, finish.

The claim is fenced by a random token that the slot makes: everything found under it is written in the one transaction of
`ledger.finish`, or dropped when the task is another claim's by then. A bad document never gets here (the
task bodies book it as an exception); what does get here is a system that is broken: the job is suspended, or,
when it is the database that went away for a moment, the finish is tried again until the lease runs out."""

from __future__ import annotations

import dataclasses
import logging
import os
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from core.errors import DatabaseFault, StorageFault, SystemFault, TaskLost
from core.job_types import registered, types_of
from core.moments import reached
from core.places import job_location
from core.records import ClaimedTask, Phase
from monitoring.tally import Outcome
from sql import jobs, ledger, states
from sql.connection import Connection
from sql.findings import TaskResult
from sql.ledger import LEDGER
from sql.session import Database
from worker.items.portions import Portions
from worker.ocr import reading as ocr
from worker.phases import expand, finalise, index, walk
from worker.phases.finalise import remove_leftovers
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity
from worker.slots.context import SlotContext, note_parsers

log = logging.getLogger(__name__)


_OWN = {types: types.bodies() for types in registered().values()}  # of registered job types (core.job_types)


def _finalise(work: TaskWork) -> TaskResult:
    types = types_of(work.job.options.of_type)
    result: TaskResult = _OWN.get(types, {}).get(Phase.FINALISE, finalise.run)(work)
    return result


BODIES: dict[Phase, Callable[[TaskWork], TaskResult]] = {
    Phase.WALK: walk.run,
    Phase.EXPAND: expand.run,
    Phase.INDEX: index.run,
    Phase.OCR: ocr.run,
    **{phase: body for own in _OWN.values() for phase, body in own.items()},
    Phase.FINALISE: _finalise,
}
_WITH_PASSWORDS = (Phase.EXPAND, Phase.INDEX, Phase.OCR)  # they open items
_RETRY_SECONDS = 0.25


def handle(context: SlotContext, database: str, job: uuid.UUID, task: uuid.UUID) -> None:
    """Do one task of a job, if it still has to be done. A stale or duplicate message claims nothing."""
    db = context.databases[database]
    context.breadcrumb.doing(Activity.CLAIMING)
    claimed = _claim(context, db, job, task)
    if claimed is None:
        context.breadcrumb.end_task()
        return
    reached("claimed", claimed.phase)
    context.breadcrumb.begin_task(database, claimed.job, claimed.id, claimed.token, claimed.phase)
    reached("work", claimed.phase)
    context.tally.begin(claimed.phase)
    context.recorder.select(claimed.job, claimed.phase)
    if context.filer is not None:
        context.filer.works_on(claimed.phase)
    outcome, result = _attempt(context, db, claimed)
    context.storage.let_go()
    context.tracer.flush()  # of a task that was not finished
    context.tally.end(claimed.phase, outcome, result)
    context.breadcrumb.end_task()  # not in a `finally`: what escapes ends the slot, and the breadcrumb must still show where


def _claim(context: SlotContext, db: Database, job: uuid.UUID, task: uuid.UUID) -> ClaimedTask | None:
    """Claim the task. Connections that a restarted server left dead fail once, so a passing fault is tried once more,
    with the same token: had the first claim been committed, the second finds it."""
    token = uuid.uuid4()
    for again in (False, True):
        reached("claim")
        try:
            parsers = note_parsers(context, db)
            with db.transaction() as conn:
                return ledger.claim(conn, job, task, token, context.worker, context.slot, parsers)
        except DatabaseFault as e:
            if again or not e.transient:
                log.warning("task %s of %s was not claimed: %s", task, db.name, e)
                return None  # the dispatch deadline brings it back
    return None


def _attempt(context: SlotContext, db: Database, claimed: ClaimedTask) -> tuple[Outcome, TaskResult | None]:
    """Work on the claimed task; return the outcome, and what was committed."""
    result: TaskResult | None = None
    try:
        work = _prepare(context, db, claimed)
        result = BODIES[claimed.phase](work)
        if work.portions.any:
            result = msgspec.structs.replace(result, portions=work.portions.written)
        work.before_writing(result)
        context.tracer.flush()  # before the job can be over
        _finish(context, db, claimed, result, work.job.options.lease_seconds)
        return Outcome.DONE, result
    except TaskLost as e:
        log.info("%s", e)
        context.shards.abandon(claimed.job)
        if result is not None:
            remove_leftovers(work, result)
        return Outcome.LOST, None
    except SystemFault as e:
        context.shards.abandon(claimed.job)
        _give_back(db, claimed, e)
        return Outcome.GIVEN_BACK, None
    except MemoryError:
        raise  # the slot ends and its supervisor reports where it was
    except Exception as e:
        context.breadcrumb.leave()
        context.shards.abandon(claimed.job)
        log.exception("task %s (%s) failed", claimed.id, claimed.phase)
        _failed(db, claimed, e)
        return Outcome.FAILED, None


def _prepare(context: SlotContext, db: Database, claimed: ClaimedTask) -> TaskWork:
    with db.transaction() as conn:
        job = jobs.get_job(conn, claimed.job)
        custodians = context.custodians.of(conn, claimed.job)
        spoilt = _spoilt(conn, claimed, job.options.limits.loose_seconds)
    types_of(job.options.of_type)  # raises PackageMissing
    if job.options.filer.digest != context.filer_digest:
        wanted = job.options.filer.source
        raise StorageFault(
            f"the job uses the emulated filer {wanted!r}, but worker {context.worker} emulates another or none: "
            f"start the workers with EDBENCH_FILER={wanted} and the same file"
        )
    if job.options.ocr.asked:  # now, not after hours of work
        ocr.engine_of(job.options.ocr.languages, context.worker)
    context.storage.fsync = job.options.fsync
    context.storage.discards = job.options.null
    context.tracer.begin(job.id, claimed.phase, wanted=job.options.trace)
    work = TaskWork(
        context=context,
        database=db,
        claimed=claimed,
        job=job,
        custodians=custodians,
        portions=Portions(database=db, claimed=claimed, clock=context.clock, seconds=job.options.lease_seconds),
        **spoilt,
    )
    context.storage.keep_below(work.root, own=True, hold=True)
    if not job.options.type.produces:  # these check the sources of other jobs where they read them
        context.storage.keep_below(job.source, hold=True)
    # The job's folder was made when the job was: without it the storage is not the one the job writes to.
    context.storage.floor = os.path.join(work.root, job_location(work.job.id))
    context.breadcrumb.doing(Activity.LOOKING, context.storage.floor)
    context.storage.stat_floor()
    if claimed.phase is not Phase.FINALISE and not job.options.type.produces:
        context.breadcrumb.doing(Activity.LOOKING, job.source)
        work = dataclasses.replace(work, source_device=work.check_source_root())
    work.portions.clear(context.breadcrumb.alive)
    context.breadcrumb.doing(Activity.WORKING)
    if claimed.phase not in _WITH_PASSWORDS:
        return work
    return dataclasses.replace(work, passwords=context.banks.of(context.storage, work.root, job))


def _spoilt(conn: Connection, claimed: ClaimedTask, at_least: float) -> dict[str, Any]:
    """Return fields of TaskWork: which items killed slots, and what loose files have cost."""
    if not LEDGER.cost_anything(conn, job=claimed.job, phase=claimed.phase.value):
        return {"convicted": {}, "untouchable": frozenset()}
    convicted = ledger.convicted(conn, claimed.job)
    return {
        "convicted": convicted,
        "untouchable": ledger.untouchable(conn, claimed.job) if convicted else frozenset(),
        "deaths": LEDGER.deaths(conn, job=claimed.job, phase=claimed.phase.value),
        "spent": ledger.spent(conn, claimed.job, claimed.phase, _loose_files(claimed), at_least),
    }


def _loose_files(claimed: ClaimedTask) -> set[uuid.UUID]:
    """Return the loose files of which this task takes parts that were handed on."""
    entries = claimed.payload.get("items", ()) if claimed.phase is Phase.EXPAND else ()
    return {uuid.UUID(entry["loose"]) for entry in entries}


def _finish(context: SlotContext, db: Database, claimed: ClaimedTask, result: TaskResult, lease_seconds: float) -> None:
    """Write the result. A database that is away is waited for as long as the lease could last: the fence makes a second
    try safe, because a first one that did commit leaves nothing to fence."""
    deadline = context.clock.monotonic_ns() + int(lease_seconds * 1e9)
    while True:
        try:
            with db.transaction(durable=result.durable) as conn:
                ledger.finish(conn, claimed, result)
                reached("finish", claimed.phase)
            reached("finished", claimed.phase)
            return
        except DatabaseFault as e:
            if not e.transient or context.clock.monotonic_ns() > deadline:
                raise
            log.warning("task %s: retrying to finish: %s", claimed.id, e)
            context.clock.sleep(_RETRY_SECONDS)


def _give_back(db: Database, claimed: ClaimedTask, fault: SystemFault) -> None:
    """Return the task to pending after a failure of the system, and suspend the job unless the fault is a passing one.
    A claim that does not hold the task cannot change the job: what it missed may have been swept away meanwhile. Nor
    can one that the job was resumed under: its fault may have been fixed meanwhile, so that counts only against the
    task."""
    log.error("task %s (%s): %s", claimed.id, claimed.phase, fault)
    try:
        with db.transaction(durable=True) as conn:
            if isinstance(fault, DatabaseFault) and fault.transient:
                ledger.release(conn, claimed.id, claimed.token, failed=False)
            elif LEDGER.resumed_since_claim(conn, task=claimed.id, token=claimed.token):
                ledger.fail(conn, claimed.id, claimed.token, str(fault))
            elif ledger.release(conn, claimed.id, claimed.token, failed=False):
                states.suspend(conn, claimed.job, str(fault))
    except DatabaseFault as e:
        log.error("task %s could not be released; it runs again when its lease expires: %s", claimed.id, e)


def _failed(db: Database, claimed: ClaimedTask, error: Exception) -> None:
    """Count an unforeseen error of ours against the task, so that it cannot be repeated for ever."""
    try:
        with db.transaction(durable=True) as conn:
            ledger.fail(conn, claimed.id, claimed.token, f"{type(error).__name__}: {error}"[:500])
    except DatabaseFault as e:
        log.error("task %s could not be released; it runs again when its lease expires: %s", claimed.id, e)

"""A worker whose tasks misbehave on demand: real supervisor, slots and Celery, with a handler of the tests' own.

Run as a program it forks such workers (`forked.serve`): NAME SLOTS GRACE, settings from EDBENCH_* variables. A task's
payload says what it does."""

import dataclasses
import logging
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from forked import serve

from core.errors import TaskLost
from core.operations import Op
from core.settings import read_settings
from monitoring.metrics import read_endpoint
from monitoring.tally import Outcome
from sql import ledger
from sql.findings import TaskResult
from worker.slots.breadcrumb import Activity
from worker.slots.context import SlotContext
from worker.slots.watch import Watched
from worker.supervisor import UNKILLABLE_SECONDS, Supervisor, WorkerPlan


def act(context: SlotContext, do: str, payload: dict[str, str]) -> None:
    """Misbehave."""
    if do == "abort":
        os.abort()
    elif do == "exit":
        os._exit(0)
    elif do == "memory":
        raise MemoryError
    elif do == "hoard":
        hoard = [bytearray(50_000_000) for _ in range(100)]
        raise AssertionError(f"{len(hoard)} allocations went through")
    elif do == "raise":
        raise RuntimeError("unforeseen")
    elif do == "wait":  # for the test to say go on
        while not Path(payload["until"]).exists():
            time.sleep(0.01)


def handle(context: SlotContext, database: str, job: uuid.UUID, task: uuid.UUID) -> None:
    """Claim, do what the payload says (the first time only), finish."""
    db = context.databases[database]
    with db.transaction() as conn:
        claimed = ledger.claim(conn, job, task, uuid.uuid4(), context.worker, context.slot)
    if claimed is None:
        return
    payload = claimed.payload
    context.breadcrumb.begin_task(database, claimed.job, task, claimed.token, claimed.phase)
    context.tally.begin(claimed.phase)
    context.recorder.select(claimed.job, claimed.phase)
    context.recorder.record(Op.OPEN, 0, 5_000, 0, b"/f", 0)
    context.tracer.begin(claimed.job, claimed.phase, wanted="stat" in payload)
    if "stat" in payload:
        context.storage.stat(os.fsencode(payload["stat"]))
        context.tracer.flush()
    (context.scratch / "left-behind").write_bytes(b"x")
    first = claimed.attempt == 1
    if "listing" in payload:
        context.breadcrumb.doing(Activity.LISTING, os.fsencode(payload["listing"]))
    if first and payload.get("where") == "between":
        act(context, payload["do"], payload)
    seconds = payload.get("seconds", 600) if first else payload.get("again", 600)
    context.breadcrumb.enter(uuid.UUID(payload["item"]), float(seconds))
    if first and payload.get("where") != "between":
        act(context, payload["do"], payload)
    context.breadcrumb.leave()
    outcome = Outcome.DONE
    try:
        with db.transaction() as conn:
            ledger.finish(conn, claimed, TaskResult())
    except TaskLost:
        logging.getLogger("harness").warning("lost task %s", task)
        outcome = Outcome.LOST
    context.tally.end(claimed.phase, outcome)
    context.breadcrumb.end_task()


class Unkillable(Supervisor):
    """Its slots do not end when they are killed, as one in uninterruptible sleep does not."""

    def _kill(self, watched: Watched, now: float) -> None:
        watched.killed_at = now - UNKILLABLE_SECONDS


def work(arguments: Sequence[str]) -> int:
    """The exit status."""
    name, slots, grace = arguments
    logging.basicConfig(format=f"%(asctime)s {name} %(process)d %(levelname)s %(message)s")
    settings = dataclasses.replace(read_settings(os.environ), slots=int(slots))
    plan = WorkerPlan(
        settings=settings,
        name=name,
        handle=handle,
        grace_seconds=float(grace),
        metrics=read_endpoint(os.environ),
        preload=lambda _: None,
    )
    return (Unkillable if os.environ.get("HARNESS_UNKILLABLE") else Supervisor)(plan).run()


if __name__ == "__main__":
    serve(work)

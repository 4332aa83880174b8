"""A slot that is stuck outside an item: it is ended, or named, and nothing waits for it without a word."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from forked import Forked
from installation import PATIENCE

from controller.databases import JobHandle, alone
from controller.jobs.overview import Overview
from controller.jobs.progress import Pace, one_line
from core.records import JobOptions
from sql import jobs, states, workers


def _stop(worker: Forked) -> int:
    worker.terminate()
    return worker.wait(PATIENCE)


def test_a_slot_that_hangs_outside_an_item_is_ended_and_its_task_charged(bench: Any) -> None:
    """Promise: a listing that never comes back costs the task an attempt, no item is convicted, and the log says what
    it was."""
    bench.tasks({"do": "wait", "until": "/nonexistent", "where": "between", "listing": "/source/deep"})
    bench.start(stall=1)
    bench.until(bench.done)
    assert bench.rows("SELECT * FROM death") == []
    assert bench.one("SELECT failures FROM task").failures == 1
    assert "has been listing /source/deep for" in bench.log()


@pytest.mark.parametrize("where", ["between", "item"])
def test_a_slot_that_cannot_be_killed_is_named_and_its_job_suspended(bench: Any, where: str) -> None:
    """Promise: the job says which slot does what since when; the task is free at once, its lease is renewed no more,
    nobody is convicted; after the mend a resumed job ends, on another slot; and the worker can still be stopped."""
    go = bench.scratch / "go"
    stuck = {"do": "wait", "until": str(go), "where": where, "seconds": 1, "listing": "/source/deep"}
    bench.tasks(stuck, lease=1.5)
    worker = bench.start(stall=1, unkillable=True)
    bench.send()
    row = bench.until(lambda: bench.rows("SELECT state, reason FROM job WHERE state = 'suspended'"))[0]
    what = "listing /source/deep" if where == "between" else "reading item 00000000-0000-0000-0000-000000000001"
    assert "worker w1: slot 0 (process " in row.reason
    assert f"has been {what} for" in row.reason
    assert "cannot be killed" in row.reason
    assert bench.one("SELECT state, failures FROM task") == ("pending", 0)
    with bench.database.transaction() as conn:
        states.request_resume(conn, bench.job)
    bench.start("w2")
    bench.until(bench.done)
    assert bench.rows("SELECT * FROM death") == []
    assert bench.one("SELECT attempt FROM task").attempt == 2
    assert _stop(worker) == 0


def test_what_a_slot_waits_for_is_told_to_whoever_asks_for_the_job(bench: Any) -> None:
    """Promise: while it lasts, and only for the job that it holds up; a worker that is gone says nothing."""
    bench.tasks({"do": "nothing"})
    incarnation, text = uuid.uuid4(), "slot 0 (process 7) has been listing /source for 41 s"
    with bench.database.transaction() as conn:
        workers.register(conn, incarnation=incarnation, name="w1", host="h", pid=1, boot_id="", slots=1, version="0")
        workers.seen(conn, incarnation, 0.0, 0.0, [{"job": str(bench.job), "text": text}])
        assert workers.waits(conn, uuid.uuid4()) == []
        progress = jobs.progress(conn, bench.job)
        assert progress.waiting == (f"w1: {text}",)
        assert one_line(Pace(JobOptions()).snapshot(progress, 0.0, 0.0)).endswith(f"waiting: w1: {text}")
        job = jobs.get_job(conn, bench.job)
    row = Overview().row_of(alone(JobHandle(bench.database, job)))
    assert (row.state, row.reason) == ("running", f"waiting: w1: {text}")
    with bench.database.transaction() as conn:
        workers.stopped(conn, incarnation)
        assert jobs.progress(conn, bench.job).waiting == ()

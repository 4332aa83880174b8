"""A job on an emulated filer is done by workers that emulate that one, and by no others."""

from __future__ import annotations

import dataclasses

from taskbench import TaskBench

from core.filer import load_filer
from core.records import JobOptions


def test_a_worker_without_the_jobs_filer_suspends_it(task_bench: TaskBench) -> None:
    """A result that says `titan` must not hold a single call that was not delayed; told with what to do."""
    model = load_filer("titan")
    assert model is not None
    task_bench.options = JobOptions(filer=model.choice)
    assert JobOptions.from_json(task_bench.options.to_json()) == task_bench.options
    task_bench.create()
    (task,) = task_bench.dispatch()
    task_bench.handle(task)
    row = task_bench.rows("SELECT state, reason FROM job")[0]
    assert row.state == "suspended"
    assert "EDBENCH_FILER=titan" in row.reason
    assert task_bench.value("SELECT count(*) FROM item") == 0


def test_a_worker_with_the_jobs_filer_does_it(task_bench: TaskBench) -> None:
    model = load_filer("titan")
    assert model is not None
    task_bench.options = JobOptions(filer=model.choice)
    (task_bench.source / "a.txt").write_bytes(b"a")
    task_bench.create()
    emulating = dataclasses.replace(task_bench.slot("w2"), filer_digest=model.digest)
    (task,) = task_bench.dispatch()
    task_bench.handle(task, emulating)
    assert [(r.state, r.reason) for r in task_bench.rows("SELECT state, reason FROM job")] == [("running", None)]
    assert task_bench.value("SELECT state FROM task WHERE id = %(id)s", id=task) == "done"

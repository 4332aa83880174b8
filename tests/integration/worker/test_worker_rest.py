"""The rest of a task goes to slots that have no work."""

import os
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from taskbench import TaskBench
from unpacking import make_zip

from core.operations import Op
from core.records import JobOptions, Phase
from sql.workers import NewWorker, register
from worker.phases import rest

FILES = 12


def _found(bench: TaskBench) -> list[set[Any]]:
    return [
        set(map(tuple, bench.rows(sql)))
        for sql in (
            "SELECT array_to_string(container_path, '/') AS path, encode(sha256, 'hex') AS sha FROM item",
            "SELECT array_to_string(container_path, '/') AS path, state, characters FROM item_text JOIN item ON item.id = item",
            "SELECT array_to_string(container_path, '/') AS path, code FROM exception JOIN item ON item.id = item",
            "SELECT sum(items)::int AS items, sum(raw_bytes)::int AS raw, sum(extracted_bytes)::int AS inside FROM task WHERE phase = 'expand'",
        )
    ]


@pytest.fixture
def tasks(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """A job over twelve files of one task; it returns the number of items of each task of phase expand."""
    for n in range(FILES - 1):
        (task_bench.source / f"{n:02}.zip").write_bytes(
            make_zip({"in.txt": b"text %d " % n * (1 + 99 * (n == 5))}, stored=True)
        )
    (task_bench.source / "broken.zip").write_bytes(make_zip({"in.txt": b"text"})[:-30])

    def run(slots: int, crowded: float = 1e9, **options: Any) -> list[int]:
        monkeypatch.setattr(rest, "EVERY_SECONDS", 0.0)
        monkeypatch.setattr(rest, "LEAST_SECONDS", 1e-9)
        monkeypatch.setattr(rest, "CROWDED", crowded)
        task_bench.options = JobOptions(**options)
        with task_bench.database.transaction() as conn:
            identity = {
                "incarnation": uuid.uuid4(),
                "name": "w1",
                "host": "h",
                "pid": 1,
                "boot_id": "b",
                "version": "0",
            }
            register(conn, NewWorker(**identity, slots=slots))
        task_bench.create()
        assert task_bench.run() == "completed_with_exceptions"
        return [row[0] for row in task_bench.rows("SELECT items FROM task WHERE phase = 'expand' ORDER BY items")]

    return run


@pytest.mark.parametrize("single_pass", [False, True])
def test_slots_without_work_get_what_is_left(
    task_bench: TaskBench, tasks: Callable[..., list[int]], single_pass: bool
) -> None:
    """Promise: what they find is what one slot finds, once; without idle slots the task stays whole, the largest file first."""
    assert tasks(1, single_pass=single_pass) == [2 * FILES]
    calls = task_bench.context.recorder.records
    source = os.fsencode(task_bench.source)
    assert next(call.path for call in calls if call.op is Op.OPEN and call.path.startswith(source)).endswith(b"/05.zip")
    whole = _found(task_bench)
    task_bench.rows("DELETE FROM job RETURNING 1")
    task_bench.rows("DELETE FROM worker RETURNING 1")
    task_bench.context.shards.close()
    (task_bench.storage_root).rename(task_bench.home / "before")
    assert len(tasks(3, single_pass=single_pass)) > 3
    assert _found(task_bench) == whole


def test_a_limit_of_tasks_at_a_time_is_kept(tasks: Callable[..., list[int]]) -> None:
    """Promise: a job that may have one task of the phase at a time gets no more tasks for idle slots."""
    assert tasks(3, phase_slots={Phase.EXPAND: 1}) == [2 * FILES]


def test_nothing_is_given_away_where_slots_wait_for_a_core(tasks: Callable[..., list[int]]) -> None:
    """Promise: more tasks do not take CPU time from those that run."""
    assert tasks(3, crowded=-1.0) == [2 * FILES]

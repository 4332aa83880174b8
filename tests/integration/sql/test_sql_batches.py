"""Pending tasks are cut or joined at the barrier, so that a phase has as many as its slots are worth."""

import uuid
from typing import Any

from core.records import JobOptions, NewTask, Phase
from sql import states
from sql.findings import TaskResult
from sql.states import TASKS_A_SLOT, WORTH
from sql.workers import NewWorker, register


def _worker(hands: Any, slots: int) -> None:
    with hands.database.transaction() as conn:
        register(
            conn, NewWorker(incarnation=uuid.uuid4(), name="w1", host="h", pid=1, boot_id="b", slots=slots, version="v")
        )


def _index_tasks(
    hands: Any, *batches: tuple[int, list[str]], options: JobOptions | None = None
) -> list[tuple[int, dict[str, Any]]]:
    """Enter phase index with these batches; what is pending then."""
    job = hands.create(1, options=options or JobOptions())
    follow_on = tuple(
        NewTask(phase=Phase.INDEX, weight=w, payload={"custodian": 3, "items": i, "notes": {i[0]: {"of": i[0]}}})
        for w, i in batches
    )
    hands.finish(hands.take(job), TaskResult(follow_on=follow_on))
    with hands.database.transaction(durable=True) as conn:
        assert states.advance(conn, job) is Phase.INDEX
    rows = hands.rows("SELECT weight, payload FROM task WHERE state = 'pending' AND job = %(job)s", job=job)
    return [(row.weight, row.payload) for row in rows]


def _entries(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{n}" for n in range(count)]


def test_few_batches_become_enough_for_every_slot(hands: Any) -> None:
    """Promise: nothing is lost or doubled, the heavier batch gives more parts, and each part knows its custodian."""
    _worker(hands, 4)
    tasks = _index_tasks(hands, (12 * WORTH, _entries("a", 400)), (4 * WORTH, _entries("b", 400)))
    assert len(tasks) == TASKS_A_SLOT * 4
    assert sorted(e for _, p in tasks for e in p["items"]) == sorted(_entries("a", 400) + _entries("b", 400))
    assert {p["custodian"] for _, p in tasks} == {3}
    heavy = [p for _, p in tasks if p["items"][0].startswith("a")]
    assert len(heavy) == 3 * (len(tasks) - len(heavy))
    assert all(abs(len(p["items"]) * len(heavy) - 400) <= len(heavy) for p in heavy)


def test_what_is_light_is_cut_into_one_task_a_slot(hands: Any) -> None:
    """Promise: no slot is without work, and none has several tasks that take less than what a task costs by itself; of enough
    batches one that is heavier than its share is cut all the same, or a slot would work on it while all others have ended."""
    _worker(hands, 4)
    light = _index_tasks(hands, (300, _entries("a", 400)), (100, _entries("b", 400)))
    assert sorted(len(payload["items"]) for _, payload in light) == [133, 133, 134, 400]
    tasks = _index_tasks(hands, (WORTH, _entries("h", 400)), *((10, _entries(f"{n}-", 100)) for n in range(8)))
    assert sorted(weight for weight, _ in tasks) == [10] * 8 + [WORTH // 4] * 4


def test_large_files_are_in_different_parts(hands: Any) -> None:
    """Promise: no part has several of the largest files, wherever they are in their task."""
    _worker(hands, 4)
    job = hands.create(1)
    files = [["", 9_000 if n in (0, 4, 8) else 10, 0] for n in range(80)]
    follow_on = (NewTask(phase=Phase.EXPAND, weight=1, payload={"custodian": 3, "files": files}),)
    hands.finish(hands.take(job), TaskResult(follow_on=follow_on))
    with hands.database.transaction(durable=True) as conn:
        assert states.advance(conn, job) is Phase.EXPAND
    rows = hands.rows("SELECT payload FROM task WHERE state = 'pending' AND job = %(job)s", job=job)
    assert sorted(sum(size > 10 for _, size, _ in row.payload["files"]) for row in rows) == [0, 1, 1, 1]


def test_small_batches_and_enough_batches_stay(hands: Any) -> None:
    """Promise: a task is not cut below what makes it worth its commit, and large jobs keep their batches."""
    _worker(hands, 4)
    assert len(_index_tasks(hands, (10, _entries("a", 20)))) == 1
    enough = [(100, _entries(f"{n}-", 100)) for n in range(TASKS_A_SLOT * 4)]
    assert len(_index_tasks(hands, *enough)) == len(enough)


def test_finalise_is_shared_out(hands: Any) -> None:
    """Promise: every fan-out folder is swept by one task, and one of them, no more, does what is to be done once."""
    _worker(hands, 4)
    job = hands.create(0)
    with hands.database.transaction(durable=True) as conn:
        assert states.advance(conn, job) is Phase.FINALISE
    shares = [row.payload["folders"] for row in hands.rows("SELECT payload FROM task WHERE job = %(job)s", job=job)]
    assert len(shares) == 4
    assert sorted(s for share in shares for s in share) == sorted([*"0123456789abcdef", ""])


def test_small_tasks_are_put_together(hands: Any) -> None:
    """Promise: of many tasks as many stay as were asked for, about equally heavy, and nothing is lost or doubled."""
    _worker(hands, 4)
    batches = [(10 + n, _entries(f"{n}-", 2)) for n in range(40)]
    tasks = _index_tasks(hands, *batches, options=JobOptions(index_tasks=5))
    assert len(tasks) == 5
    assert sorted(e for _, p in tasks for e in p["items"]) == sorted(e for _, items in batches for e in items)
    assert sum(weight for weight, _ in tasks) == sum(weight for weight, _ in batches)
    assert max(weight for weight, _ in tasks) - min(weight for weight, _ in tasks) <= 50
    assert {e: n for _, p in tasks for e, n in p["notes"].items()} == {i[0]: {"of": i[0]} for _, i in batches}


def test_fewer_tasks_than_asked_for_stay(hands: Any) -> None:
    """Promise: they are not cut for slots that may not work on them either."""
    _worker(hands, 4)
    assert len(_index_tasks(hands, (10, _entries("a", 400)), options=JobOptions(index_tasks=5))) == 1


def test_tasks_are_cut_for_as_many_as_may_be_out(hands: Any) -> None:
    """Promise: more slots than the job's index streams do not make for more and smaller segments."""
    _worker(hands, 40)
    tasks = _index_tasks(hands, (6 * WORTH, _entries("a", 4_000)), options=JobOptions(index_streams=2))
    assert len(tasks) == 2 * TASKS_A_SLOT


def test_what_made_a_task_stays_known(hands: Any) -> None:
    """Promise: parts are of the task that theirs is of, joined tasks of one of several, and say so; tasks of two parser sets
    are not joined."""
    _worker(hands, 4)
    _index_tasks(hands, (3_000, _entries("a", 400)))
    origins = "SELECT DISTINCT origin, origin_token FROM task WHERE state = 'pending'"
    made = "SELECT id, token FROM task WHERE state = 'done'"
    assert hands.rows(origins) == hands.rows(made)
    for table in ("task", "job"):
        hands.run(f"DELETE FROM {table}")
    job = hands.create(4, options=JobOptions(index_tasks=2))
    sets = [uuid.uuid4(), uuid.uuid4()]
    for number in range(4):
        claimed = hands.take(job)
        payload = {"items": _entries(f"{number}-", 2)}
        hands.finish(claimed, TaskResult(follow_on=(NewTask(phase=Phase.INDEX, weight=5, payload=payload),)))
        hands.run("UPDATE task SET parsers = %(of)s WHERE id = %(id)s", of=sets[number // 3], id=claimed.id)
    with hands.database.transaction(durable=True) as conn:
        assert states.advance(conn, job) is Phase.INDEX
    rows = hands.rows(
        "SELECT t.payload, t.origin_token, o.parsers FROM task t JOIN task o ON o.id = t.origin WHERE t.state = 'pending'"
    )
    joined = {row.parsers: (sorted(row.payload["items"]), row.origin_token is None) for row in rows}
    some = sorted(entry for number in range(3) for entry in _entries(f"{number}-", 2))
    assert len(rows) == 2
    assert joined[sets[1]] == (_entries("3-", 2), False)
    assert joined[sets[0]] == (some, True)

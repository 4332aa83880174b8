"""The task protocol, one function at a time, against real SQL."""

from __future__ import annotations

import dataclasses
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from installation import PATIENCE

from core.errors import TaskLost
from core.records import ExceptionLevel, JobOptions, JobState, NewTask, Phase, Shard
from readers.errors import ExceptionCode
from readers.records import TextState
from sql import costs, ledger, states
from sql.costs import Death
from sql.findings import ContainerCount, IndexOwner, ItemException, ItemText, TaskResult
from sql.session import Database


def test_a_claim_takes_the_task_once(hands: Any) -> None:
    """Promise: of doubled messages one claims; it gets the payload, attempt 1 and a lease of the job's length."""
    job = hands.create(1, JobOptions(lease_seconds=3600.0))
    (task,) = hands.dispatch(job)
    claimed = hands.claim(task)
    assert (claimed.id, claimed.job, claimed.phase, claimed.attempt) == (task, job, Phase.WALK, 1)
    assert claimed.payload == {"n": 0}
    assert hands.claim(task) is None
    assert hands.value("SELECT token FROM task") == claimed.token
    left, worker, slot = hands.rows("SELECT extract(epoch FROM lease - now()), worker, slot FROM task")[0]
    assert 3000 < left <= 3600
    assert (worker, slot) == ("w1", 0)


def test_a_message_of_a_pending_task_claims_nothing(hands: Any) -> None:
    """Promise: a message that outlived its deadline is stale, and so is one of a task that never existed."""
    job = hands.create(1)
    (task,) = hands.dispatch(job)
    with hands.database.transaction() as conn:
        assert ledger.undispatch(conn, [task]) == 1
    assert hands.claim(task) is None
    assert hands.claim(uuid.uuid4()) is None


def test_a_claim_is_found_again_by_its_token(hands: Any) -> None:
    """Promise: a slot that lost its connection at the commit of its claim asks again and has it, counted once; also
    while the job is to pause. Its token opens no other task."""
    job = hands.create(2)
    (task, other), token = hands.dispatch(job), uuid.uuid4()
    first = hands.claim(task, token=token)
    with hands.database.transaction() as conn:
        assert states.request_pause(conn, job) is JobState.PAUSING
    assert hands.claim(task, token=token) == first
    assert first.attempt == hands.value("SELECT max(attempt) FROM task") == 1
    assert hands.claim(other, token=token) is None
    hands.finish(first)
    assert hands.claim(task, token=token) is None


def test_a_message_claims_only_for_the_job_it_names(hands: Any) -> None:
    """Promise: a message that is for another job claims nothing, whatever number its task has."""
    job, another = hands.create(1), hands.create(1)
    (task,) = hands.dispatch(job)
    assert hands.claim(task, another) is None
    assert hands.claim(task, job) is not None


def test_the_first_claim_starts_the_clocks(hands: Any) -> None:
    """Promise: elapsed runs from the first claim of the job and of the phase, not from later ones."""
    job = hands.create(2)
    first, second = hands.dispatch(job)
    assert hands.rows("SELECT first_claim_at FROM job")[0][0] is None
    hands.claim(first)
    before = hands.rows("SELECT first_claim_at, (SELECT started_at FROM job_phase) FROM job")[0]
    hands.claim(second)
    assert hands.rows("SELECT first_claim_at, (SELECT started_at FROM job_phase) FROM job")[0] == before
    assert before[0] is not None
    assert before[0] == before[1]


def test_eight_slots_race_for_one_message(hands: Any) -> None:
    """Promise: exactly one of many simultaneous claims gets the task."""
    job = hands.create(1)
    (task,) = hands.dispatch(job)
    barrier = threading.Barrier(8)

    def claim(number: int) -> object:
        own = Database("db1", hands.database.url, pool_size=1)
        try:
            with own.transaction() as conn:
                conn.exec_driver_sql("SELECT 1")
                barrier.wait()
                return ledger.claim(conn, job, task, uuid.uuid4(), f"w{number}", number)
        finally:
            own.dispose()

    with ThreadPoolExecutor(8) as threads:
        won = [claimed for claimed in threads.map(claim, range(8)) if claimed is not None]
    assert len(won) == 1
    assert hands.value("SELECT attempt FROM task") == 1


def test_finish_writes_everything(hands: Any) -> None:
    """Promise: items, exceptions, counts, texts, owners, shard, sums and follow-on tasks are all there."""
    job = hands.create(1)
    claimed = hands.take(job)
    loose = hands.item(job, b"dir/na\xffme", container=True, mtime_ns=5)
    child = hands.item(
        job, b"#1", loose.id, location=b"jobs/x", message_id_hash=b"\2" * 16, container_path=("a", "b\\")
    )
    shard = Shard(id=uuid.uuid4(), engine="tantivy", location=b"jobs/s", documents=4, size=40)
    result = TaskResult(
        items=(loose, child),
        exceptions=(
            ItemException(
                item=loose.id, code=ExceptionCode.CORRUPT, level=ExceptionLevel.NODE, detail="bad\0", missing=2
            ),
        ),
        containers=(ContainerCount(item=loose.id, announced=3, emitted=1, failed=2),),
        texts=(ItemText(item=child.id, state=TextState.OK, characters=9, pages=1, metadata={"subject": "a\0b"}),),
        owners=(IndexOwner(item=child.id, shard=shard.id),),
        shard=shard,
        follow_on=(NewTask(phase=Phase.EXPAND, weight=7, payload={"x": [1]}),),
        raw_bytes=10,
        extracted_bytes=20,
        index_bytes=30,
    )
    hands.finish(claimed, result)
    row = hands.rows("SELECT * FROM item WHERE parent IS NULL")[0]
    assert (row.id, bytes(row.name), row.display) == (loose.id, b"dir/na\xffme", "dir/na\\xffme")
    assert (bytes(row.path), row.container_path, row.mtime_ns) == (b"dir/na\xffme", ["a"], 5)
    row = hands.rows("SELECT * FROM item WHERE parent IS NOT NULL")[0]
    assert (row.parent, bytes(row.ordinal), row.path) == (loose.id, b"#1", None)
    assert (bytes(row.location), bytes(row.message_id_hash)) == (b"jobs/x", b"\2" * 16)
    assert row.container_path == ["a", "b\\"]
    assert (bytes(row.sha256), row.content_hash) == (b"\1" * 32, None)
    row = hands.rows("SELECT * FROM exception")[0]
    assert (row.item, row.code, row.level, row.phase) == (loose.id, "corrupt", "node", "walk")
    assert (row.detail, row.missing, row.task, row.token) == ("bad\ufffd", 2, claimed.id, claimed.token)
    assert hands.rows("SELECT announced, emitted, failed, remainder_unknown FROM container_count") == [(3, 1, 2, False)]
    assert hands.rows("SELECT item, state, metadata FROM item_text") == [(child.id, "ok", {"subject": "a\ufffdb"})]
    assert hands.rows("SELECT item, shard, owner FROM item_index") == [(child.id, shard.id, claimed.token.hex)]
    assert hands.rows("SELECT id, documents, bytes FROM shard") == [(shard.id, 4, 40)]
    sums = hands.rows(
        "SELECT state, raw_bytes, extracted_bytes, index_bytes, items, lease FROM task WHERE state = 'done'"
    )
    assert sums == [("done", 10, 20, 30, 2, None)]
    assert hands.rows("SELECT phase, weight, payload, origin, origin_token FROM task WHERE state = 'pending'") == [
        ("expand", 7, {"x": [1]}, claimed.id, claimed.token)
    ]


def test_a_fenced_finish_leaves_nothing(hands: Any) -> None:
    """Promise: a claim that lost its task can write nothing at all; the one that has it can."""
    job = hands.create(1)
    stale = hands.take(job)
    hands.run("UPDATE task SET lease = now() - interval '1 second'")
    with hands.database.transaction() as conn:
        assert ledger.return_expired(conn) == ledger.Returned(dispatched=0, running=1)
    fresh = hands.take(job)
    assert (fresh.id, fresh.attempt) == (stale.id, 2)
    result = TaskResult(items=(hands.item(job, b"a"),))
    with pytest.raises(TaskLost, match=str(stale.token)):
        hands.finish(stale, result)
    assert hands.value("SELECT count(*) FROM item") == 0
    hands.finish(fresh, result)
    with pytest.raises(TaskLost):
        hands.finish(fresh, result)
    assert hands.value("SELECT count(*) FROM item") == 1


def test_ranges_of_a_container_add_up(hands: Any) -> None:
    """Promise: counts of ranges add, what is announced stays, a shard's documents never fall, items stay as
    first written."""
    job = hands.create(2)
    one, two = hands.take(job), hands.take(job)
    box = hands.item(job, b"box", container=True)
    shard = uuid.uuid4()
    hands.finish(
        one,
        TaskResult(
            items=(box,),
            containers=(ContainerCount(item=box.id, announced=9, emitted=4, failed=0),),
            shard=Shard(id=shard, engine="tantivy", location=b"s", documents=8, size=80),
        ),
    )
    hands.finish(
        two,
        TaskResult(
            items=(hands.item(job, b"box", media_type="other/type"),),
            containers=(ContainerCount(item=box.id, announced=None, emitted=3, failed=1, remainder_unknown=True),),
            shard=Shard(id=shard, engine="tantivy", location=b"s", documents=5, size=50),
        ),
    )
    assert hands.rows("SELECT announced, emitted, failed, remainder_unknown FROM container_count") == [(9, 7, 1, True)]
    assert hands.rows("SELECT media_type FROM item") == [("text/plain",)]
    assert hands.rows("SELECT documents, bytes FROM shard") == [(8, 80)]


def test_a_cancelling_job_lets_its_tasks_finish(hands: Any) -> None:
    """Promise: what was done when the cancel came is recorded, and cancelled comes only after it."""
    job = hands.create(2)
    claimed = hands.take(job)
    with hands.database.transaction() as conn:
        assert states.request_cancel(conn, job) is JobState.CANCELLING
        assert states.settle(conn, job) is JobState.CANCELLING
    hands.finish(claimed, TaskResult(items=(hands.item(job, b"a"),)))
    with hands.database.transaction() as conn:
        assert states.settle(conn, job) is JobState.CANCELLED
    assert hands.value("SELECT count(*) FROM item") == 1


def test_release_and_renew_are_fenced(hands: Any) -> None:
    """Promise: a supervisor can neither return nor prolong what is no longer its own."""
    job = hands.create(2, JobOptions(lease_seconds=3600.0))
    mine, other = hands.take(job), hands.take(job)
    hands.run("UPDATE task SET lease = now() + interval '1 second'")
    with hands.database.transaction() as conn:
        assert ledger.renew(conn, []) == set()
        pair = (mine.id, mine.token)
        assert ledger.renew(conn, [pair, (mine.id, other.token), (other.id, uuid.uuid4())]) == {pair}
        assert not ledger.release(conn, mine.id, other.token, failed=True)
        assert ledger.release(conn, other.id, other.token, failed=True)
        assert not ledger.release(conn, other.id, other.token, failed=True)
    left = hands.value("SELECT extract(epoch FROM lease - now()) FROM task WHERE id = %(id)s", id=mine.id)
    assert left > 3000
    assert hands.rows("SELECT state, failures FROM task WHERE id = %(id)s", id=other.id) == [("pending", 1)]


def test_expiry_takes_only_what_is_late(hands: Any) -> None:
    """Promise: a lost message and a lost slot give their tasks back, at no charge; the others keep theirs."""
    job = hands.create(4)
    late, ok = hands.dispatch(job, 2)
    lost, well = hands.take(job), hands.take(job)
    hands.run("UPDATE task SET deadline = now() - interval '1 s' WHERE id = %(id)s", id=late)
    hands.run("UPDATE task SET lease = now() - interval '1 s' WHERE id = %(id)s", id=lost.id)
    with hands.database.transaction() as conn:
        assert ledger.return_expired(conn) == ledger.Returned(dispatched=1, running=1)
        assert ledger.return_expired(conn) == ledger.Returned(dispatched=0, running=0)
    assert [hands.state(t) for t in (late, ok, lost.id, well.id)] == ["pending", "dispatched", "pending", "running"]
    assert hands.value("SELECT sum(failures) FROM task") == 0


def test_the_largest_go_first_and_only_of_the_phase(hands: Any) -> None:
    """Promise: dispatch order is by weight within the job's phase, up to the limit, for running jobs only."""
    weights = [5, 9, 1, 9]
    tasks = [NewTask(phase=Phase.WALK, weight=w, payload={}) for w in weights]
    job = hands.create([*tasks, NewTask(phase=Phase.EXPAND, weight=100, payload={})])
    got = hands.dispatch(job, 3)
    assert [hands.value("SELECT weight FROM task WHERE id = %(id)s", id=t) for t in got] == [9, 9, 5]
    assert len(hands.dispatch(job)) == 1
    assert hands.dispatch(job) == []
    paused = hands.create(1)
    with hands.database.transaction() as conn:
        states.request_pause(conn, paused)
    assert hands.dispatch(paused) == []


def test_undispatch_all_keeps_what_it_is_told(hands: Any) -> None:
    """Promise: after a broker came back empty, everything is sent again but what was just sent."""
    job = hands.create(4)
    sent = hands.dispatch(job, 3)
    running = hands.take(job)
    with hands.database.transaction() as conn:
        assert ledger.undispatch_all(conn, sent[:1]) == 2
    assert [hands.state(t) for t in sent] == ["dispatched", "pending", "pending"]
    assert hands.state(running.id) == "running"


def test_two_deaths_convict_an_item(hands: Any) -> None:
    """Promise: one death convicts nobody, reporting it twice is one death, two claims do; others stay free."""
    job = hands.create(1)
    item, other, task = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    first, second, third, fourth = (uuid.uuid4() for _ in range(4))

    def die(token: uuid.UUID, item: uuid.UUID, cause: ExceptionCode, detail: str) -> None:
        death = Death(task=task, item=item, cause=cause, detail=detail)
        with hands.database.transaction() as conn:
            ledger.record_death(conn, job, Phase.EXPAND, token, death, "w1")

    die(first, item, ExceptionCode.KILLED_PARSER, "signal 6")
    die(first, item, ExceptionCode.KILLED_PARSER, "signal 6")
    die(second, other, ExceptionCode.TIMEOUT, "60 s")
    with hands.database.transaction() as conn:
        assert ledger.convicted(conn, job) == {}
    die(third, item, ExceptionCode.TIMEOUT, "61 s")
    with hands.database.transaction() as conn:
        assert ledger.convicted(conn, job) == {item: (ExceptionCode.TIMEOUT, "61 s")}
        assert ledger.untouchable(conn, job) == set()
    die(fourth, item, ExceptionCode.TIMEOUT, "61 s")
    with hands.database.transaction() as conn:
        assert ledger.untouchable(conn, job) == {item}


def test_what_loose_files_cost(hands: Any) -> None:
    """Promise: deaths come back by phase as they were told, the one without an item convicts nobody, and the seconds of
    several tasks add up."""
    job, loose, dear = hands.create(1), uuid.uuid4(), uuid.uuid4()
    full = Death(task=uuid.uuid4(), item=None, loose=loose, taken=7, cause=ExceptionCode.MEMORY, detail="full")
    late = dataclasses.replace(full, task=uuid.uuid4(), parent=dear, seconds=1.5, taken=0)
    with hands.database.transaction() as conn:
        for death in (full, late):
            ledger.record_death(conn, job, Phase.EXPAND, uuid.uuid4(), death, "w1")
        found = costs.deaths(conn, job, Phase.EXPAND)
        assert sorted(found, key=lambda death: death.seconds) == [full, late]
        assert costs.deaths(conn, job, Phase.INDEX) == []
        assert ledger.convicted(conn, job) == {}
        for seconds in ({loose: 1.5}, {loose: 1.0, dear: 50.0}, {}):
            costs.add_spent(conn, job, Phase.EXPAND, seconds)
        assert costs.spent(conn, job, Phase.EXPAND, [loose], 100.0) == {loose: 2.5}
        assert costs.spent(conn, job, Phase.EXPAND, [], 50.0) == {dear: 50.0}
        assert costs.spent(conn, job, Phase.INDEX, [loose], 0.0) == {}


def test_whether_anything_was_costly_is_asked_first(hands: Any) -> None:
    """Promise: a death is known in every phase of its job, seconds in their own, and none in another job: else a slot would
    read what kills it again."""
    killed, slow, sound = (hands.create(1) for _ in range(3))
    death = Death(task=uuid.uuid4(), item=uuid.uuid4(), cause=ExceptionCode.TIMEOUT, detail="60 s")
    with hands.database.transaction() as conn:
        assert not any(costs.any_of(conn, job, Phase.EXPAND) for job in (killed, slow, sound))
        ledger.record_death(conn, killed, Phase.EXPAND, uuid.uuid4(), death, "w1")
        costs.add_spent(conn, slow, Phase.INDEX, {uuid.uuid4(): 50.0})
        known = {
            job: [costs.any_of(conn, job, phase) for phase in (Phase.EXPAND, Phase.INDEX)]
            for job in (killed, slow, sound)
        }
    assert known == {killed: [True, True], slow: [False, True], sound: [False, False]}


def test_the_fifth_failure_suspends_the_job(hands: Any) -> None:
    """Promise: a task that always fails stops its job with the reason instead of running for ever; a resume
    gives it all its attempts again."""
    job = hands.create(1)
    for n in range(1, 6):
        claimed = hands.take(job)
        with hands.database.transaction() as conn:
            assert not ledger.fail(conn, claimed.id, uuid.uuid4(), "not mine")
            assert ledger.fail(conn, claimed.id, claimed.token, f"boom {n}")
        state, reason = hands.rows("SELECT state, reason FROM job")[0]
        assert (state == "suspended") is (n == 5)
    assert "boom 5" in reason
    with hands.database.transaction() as conn:
        states.request_resume(conn, job)
    assert hands.value("SELECT failures FROM task") == 0
    assert hands.take(job).attempt == 6


def test_notify_only_when_nothing_was_pending(hands: Any) -> None:
    """Promise: follow-on tasks wake the queue manager exactly when it had nothing left (NOTIFY is not free)."""
    job = hands.create(2)
    first, second = hands.take(job), hands.take(job)
    follow_on = TaskResult(follow_on=(NewTask(phase=Phase.WALK, weight=1, payload={}),))
    with hands.database.listen() as held:
        held.subscribe(ledger.CHANNEL)
        hands.finish(first, follow_on)
        assert held.wait(PATIENCE)
        hands.finish(second, follow_on)
        assert not held.wait(0.2)


def test_a_job_is_held_at_the_barrier_it_names(hands: Any) -> None:
    """Promise: no task of the phase is given out until the job is let go, once, and the time it stood is not elapsed."""
    job = hands.create(1, JobOptions(hold_before=Phase.INDEX, lease_seconds=3600.0))
    hands.finish(hands.take(job), TaskResult(follow_on=(NewTask(phase=Phase.INDEX, weight=1, payload={}),)))
    with hands.database.transaction() as conn:
        assert states.advance(conn, job) is JobState.HELD
    assert hands.dispatch(job) == []
    hands.run("UPDATE job SET first_claim_at = now() - interval '5 s', stopped_at = now() - interval '2 s'")
    with hands.database.transaction() as conn:
        assert states.request_resume(conn, job) is JobState.RUNNING
    assert hands.rows("SELECT state, reason FROM job_pause") == [("held", None)]
    assert hands.value("SELECT stopped_seconds >= 2 FROM job")
    hands.finish(hands.take(job))
    with hands.database.transaction() as conn:
        assert states.advance(conn, job) is Phase.FINALISE

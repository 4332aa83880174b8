"""The task protocol, one function at a time, against real SQL."""

import dataclasses
import json
import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from installation import COMMAND_SECONDS, PATIENCE, until
from statements import statements_of
from taskbench import TaskBench
from unpacking import make_zip

import sql.requeue
from benchmarks.driver import bare_job
from core.errors import DatabaseFault, TaskLost, UsageError
from core.records import ClaimedTask, ExceptionLevel, JobOptions, JobState, NewTask, Phase, Shard
from readers.errors import ExceptionCode
from readers.records import TextState
from sql import bulk, jobs, ledger, states
from sql.connection import Plans
from sql.findings import ContainerCount, IndexOwner, ItemException, ItemText, TaskResult
from sql.interface import QUERIES
from sql.ledger import LEDGER, Death
from sql.requeue import ROOTS_AT_ONCE, requeue, requeued_files
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
                conn.execute("SELECT 1")
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


def test_undispatch_all_keeps_the_given_tasks(hands: Any) -> None:
    """Promise: after a broker came back empty, everything is sent again but what was just sent."""
    job = hands.create(4)
    sent = hands.dispatch(job, 3)
    running = hands.take(job)
    with hands.database.transaction() as conn:
        assert LEDGER.undispatch_all(conn, keep=sent[:1]) == 2
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
        found = LEDGER.deaths(conn, job=job, phase=Phase.EXPAND.value)
        assert sorted(found, key=lambda death: death.seconds) == [full, late]
        assert LEDGER.deaths(conn, job=job, phase=Phase.INDEX.value) == []
        assert ledger.convicted(conn, job) == {}
        for seconds in ({loose: 1.5}, {loose: 1.0, dear: 50.0}, {}):
            ledger.add_spent(conn, job, Phase.EXPAND, seconds)
        assert ledger.spent(conn, job, Phase.EXPAND, [loose], 100.0) == {loose: 2.5}
        assert ledger.spent(conn, job, Phase.EXPAND, [], 50.0) == {dear: 50.0}
        assert ledger.spent(conn, job, Phase.INDEX, [loose], 0.0) == {}


def test_whether_anything_was_costly_is_asked_first(hands: Any) -> None:
    """Promise: a death is known in every phase of its job, seconds in their own, and none in another job: else a slot would
    read what kills it again."""
    killed, slow, sound = (hands.create(1) for _ in range(3))
    death = Death(task=uuid.uuid4(), item=uuid.uuid4(), cause=ExceptionCode.TIMEOUT, detail="60 s")
    with hands.database.transaction() as conn:
        assert not any(LEDGER.cost_anything(conn, job=job, phase=Phase.EXPAND.value) for job in (killed, slow, sound))
        ledger.record_death(conn, killed, Phase.EXPAND, uuid.uuid4(), death, "w1")
        ledger.add_spent(conn, slow, Phase.INDEX, {uuid.uuid4(): 50.0})
        known = {
            job: [LEDGER.cost_anything(conn, job=job, phase=phase.value) for phase in (Phase.EXPAND, Phase.INDEX)]
            for job in (killed, slow, sound)
        }
    assert known == {killed: [True, True], slow: [False, True], sound: [False, False]}


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


SLOTS = 6


class _Race:
    """Slots that dawdle, and a queue manager that returns their leases behind their backs."""

    def __init__(self, hands: Any) -> None:
        self.hands = hands
        self.job = hands.create(
            [NewTask(phase=Phase.WALK, weight=n, payload={}) for n in range(60)], JobOptions(lease_seconds=0.1)
        )
        self.box = hands.item(self.job, b"box", container=True)
        with hands.database.transaction() as conn:
            bulk.insert_items(conn, self.job, [self.box])
        self.over = threading.Event()
        self.dawdler = threading.Lock()  # whoever gets it works until its lease has lapsed
        self.sent: list[uuid.UUID] = []
        self.finished: list[uuid.UUID] = []
        self.lost = 0

    def slot(self, number: int) -> None:
        database = Database("db1", self.hands.database.url, pool_size=1)
        dice = random.Random(number)
        try:
            while not self.over.is_set():
                task = dice.choice(self.sent[-30:] or [uuid.uuid4()])  # messages come late, doubled and in any order
                with database.transaction() as conn:
                    claimed = ledger.claim(conn, self.job, task, uuid.uuid4(), f"w{number}", number)
                if claimed is None:
                    time.sleep(0.001)
                    continue
                if self.dawdler.acquire(blocking=False):
                    until(lambda claimed=claimed: self.lapsed(claimed) or self.over.is_set(), "its lease lapses")
                time.sleep(dice.choice([0.0, 0.0, 0.0, 0.2]))
                follow_on = [NewTask(phase=Phase.EXPAND, weight=1, payload={})] if claimed.phase is Phase.WALK else []
                result = TaskResult(
                    items=(self.hands.item(self.job, claimed.id.bytes, self.box.id),),
                    containers=(ContainerCount(item=self.box.id, announced=None, emitted=1, failed=0),),
                    follow_on=tuple(follow_on),
                )
                try:
                    with database.transaction() as conn:
                        ledger.finish(conn, claimed, result)
                    self.finished.append(claimed.id)
                except TaskLost:
                    self.lost += 1
        finally:
            self.over.set()
            database.dispose()

    def lapsed(self, claimed: ClaimedTask) -> bool:
        """Whether the task is not this claim's any more."""
        found = self.hands.rows("SELECT state, token FROM task WHERE id = %(id)s", id=claimed.id)[0]
        return (found.state, found.token) != ("running", claimed.token)

    def manage(self) -> None:
        """The queue manager's part, with a pause now and then; deadlocks would show as DatabaseFault."""
        database = self.hands.database
        last = time.monotonic() + COMMAND_SECONDS
        turn = 0
        try:
            while not self.over.is_set() and time.monotonic() < last:
                turn += 1
                with database.transaction() as conn:
                    LEDGER.return_expired(conn)
                    self.sent += ledger.dispatch(conn, self.job, 2 * SLOTS)
                with database.transaction(durable=True) as conn:
                    if turn % 40 == 20:
                        states.suspend(conn, self.job, "just so")
                    elif turn % 40 == 25:
                        states.request_resume(conn, self.job)
                    states.advance(conn, self.job)
                    if jobs.get_job(conn, self.job).state.over:
                        return
                time.sleep(0.002)
        finally:
            self.over.set()


def test_nothing_is_lost_or_doubled_between_many_sessions(hands: Any) -> None:
    """Promise: with six slots, leases shorter than the work and pauses in between, every task takes effect once
    and no session runs into a deadlock."""
    race = _Race(hands)
    with ThreadPoolExecutor(SLOTS + 1) as threads:
        ends = [threads.submit(race.slot, n) for n in range(SLOTS)]
        ends.append(threads.submit(race.manage))
        faults = [end.exception() for end in ends]
    assert not any(isinstance(fault, DatabaseFault) for fault in faults), faults
    assert faults == [None] * len(faults)
    assert hands.value("SELECT state FROM job") == "completed"
    done = hands.value("SELECT count(*) FROM task WHERE state = 'done'")
    assert done == hands.value("SELECT count(*) FROM task") == 60 + 60 + 1
    assert len(race.finished) == len(set(race.finished)) == done
    assert hands.value("SELECT emitted FROM container_count") == done
    assert hands.value("SELECT count(*) FROM item WHERE parent IS NOT NULL") == done
    assert race.lost > 0, "no lease lapsed under its holder: the race did not happen"


def test_items_go_in_by_the_thousand(hands: Any) -> None:
    """Promise: the database is not what limits the pipeline (`make bench` has items a second): the number of
    statements does not grow with that of items, but for what bounds the memory of one."""
    job = hands.create(1)
    items = [hands.item(job, b"#%d" % n, None) for n in range(10_000)]
    claimed = hands.take(job)
    with statements_of(hands.database) as asked:
        hands.finish(claimed, TaskResult(items=tuple(items)))
    assert len(asked) < 20, asked
    assert hands.value("SELECT count(*) FROM item") == 10_000


_TASKS = 20_000
_INSERT = """
INSERT INTO task (job, phase, state, weight, payload)
SELECT %(job)s, 'walk', %(state)s, n %% 100, '{}' FROM generate_series(1, %(tasks)s) n
"""
_LOOKS: dict[str, dict[str, Any]] = {
    "dispatch": {"limit": 10},
    "demand": {"limit": 10},
    "has_pending": {"phases": ["walk", "index"]},
    "phase_open": {"phase": "walk"},
}


@pytest.mark.parametrize("prepared", [False, True])
def test_a_look_reads_only_what_it_takes(database: Database, prepared: bool) -> None:
    """Promise: a million tasks do not slow the queue manager down: with thousands pending and thousands done, a look for ten
    touches a few pages, not all that are pending nor all that are done. So it is in a fresh table, of which the server has no
    statistics, and with the plan of a prepared statement, which is made for any parameters."""
    with database.transaction() as conn:
        job = bare_job(conn, "")
        for state in ("done", "pending"):
            conn.execute(_INSERT, {"job": job, "tasks": _TASKS, "state": state})
    touched = {}
    for query, parameters in _LOOKS.items():
        with database.transaction() as conn:
            sql = QUERIES[query].sql
            if prepared:
                conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
                plans = Plans()
                plans.sent_for(sql)
                prepare, _, sql = plans.sent_for(sql).rpartition("; ")
                conn.raw.cursor().execute(prepare)
            explained = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql
            plan = conn.execute(explained, {"job": job} | parameters).scalar_one()
            top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
            touched[query] = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    assert max(touched.values()) < 300, touched


_SUMS = ("items", "items_indexed", "containers", "exceptions", "raw_bytes", "extracted_bytes")


def _sums(bench: TaskBench) -> dict[str, Any]:
    with bench.database.transaction() as conn:
        look = jobs.progress(conn, bench.job)
    return {key: getattr(look, key) for key in _SUMS}


def _make(bench: TaskBench) -> dict[str, bytes]:
    """Two good files and two bad ones; what the bad ones should be."""
    good = {
        "b.zip": make_zip({"one.txt": b"first words", "two.txt": b"second words"}),
        "c.zip": make_zip({"three.txt": b"third words"}),
    }
    (bench.source / "a.txt").write_bytes(b"plain words")
    (bench.source / "d.zip").write_bytes(make_zip({"four.txt": b"fourth words"}))
    (bench.source / "b.zip").write_bytes(good["b.zip"][:-30])
    (bench.source / "c.zip").write_bytes(b"")
    bench.create()
    assert bench.run() == "completed_with_exceptions"
    return good


@pytest.mark.parametrize(("single_pass", "at_once"), [(False, 1), (True, ROOTS_AT_ONCE)])
def test_repaired_files_leave_no_trace_of_their_failure(
    task_bench: TaskBench, single_pass: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, bytes, files and index owners are those of a job that never failed; the good files are not read again. So
    it is whether one transaction's statements take them all or one after the other."""
    monkeypatch.setattr(sql.requeue, "ROOTS_AT_ONCE", at_once)
    bench = task_bench
    bench.options = JobOptions(single_pass=single_pass)
    good = _make(bench)
    untouched = bench.rows("SELECT item, owner FROM item_index WHERE item IN (SELECT id FROM item WHERE depth = 0)")
    for name, data in good.items():
        (bench.source / name).write_bytes(data)
    assert bench.requeue() == 2
    assert bench.reason() == ("paused", None)
    before = bench.value("SELECT stopped_at < clock_timestamp() FROM job")
    assert before
    bench.resume()
    assert bench.run() == "completed"
    (gap,) = bench.rows("SELECT state, finished_at > started_at FROM job_pause")
    assert tuple(gap) == ("completed_with_exceptions", True)
    sums = _sums(bench)
    assert sums["exceptions"] == 0
    assert (sums["items"], sums["items_indexed"], sums["containers"]) == (8, 8, 3)
    assert sums["raw_bytes"] == sum(path.stat().st_size for path in bench.source.iterdir())
    assert sums["extracted_bytes"] == sum(len(f"{word} words") for word in ("first", "second", "third", "fourth"))
    assert bench.value("SELECT count(*) FROM item_index") == 8
    assert bench.value("SELECT count(*) FROM item WHERE location IS NOT NULL") == len(
        [path for path in bench.items_folder.rglob("*") if path.is_file()]
    )
    kept = bench.rows("SELECT item, owner FROM item_index")
    assert len(set(map(tuple, untouched)) & set(map(tuple, kept))) == 2
    with bench.database.transaction() as conn:
        assert requeued_files(conn, bench.job) == 2


def test_what_is_not_repaired_fails_again(task_bench: TaskBench) -> None:
    _make(task_bench)
    before, codes = _sums(task_bench), task_bench.codes()
    assert task_bench.requeue("zero_bytes") == 1
    task_bench.resume()
    assert task_bench.run() == "completed_with_exceptions"
    assert (_sums(task_bench), task_bench.codes()) == (before, codes)


def test_the_time_between_counts_for_nothing(task_bench: TaskBench) -> None:
    """A day passes between the end and the requeue: elapsed and the phases' seconds do not grow by it."""
    _make(task_bench)
    day = "- interval '1 day'"
    task_bench.rows(
        f"UPDATE job SET first_claim_at = first_claim_at {day}, finished_at = finished_at {day} RETURNING 1"
    )
    task_bench.rows(f"UPDATE job_phase SET started_at = started_at {day}, finished_at = finished_at {day} RETURNING 1")
    task_bench.requeue()
    task_bench.resume()
    assert task_bench.run() == "completed_with_exceptions"
    with task_bench.database.transaction() as conn:
        assert jobs.JOBS.elapsed(conn, job=task_bench.job) < 3600
        assert all(0 <= seconds < 3600 for seconds in jobs.phase_elapsed(conn, task_bench.job).values())


def test_a_directory_that_could_not_be_listed_is_walked_again(task_bench: TaskBench) -> None:
    bench = task_bench
    (bench.source / "box").mkdir()
    (bench.source / "box" / "a.txt").write_bytes(b"words")
    bench.create([b"box", b"gone"])
    assert bench.run() == "completed_with_exceptions"
    (bench.source / "gone").mkdir()
    (bench.source / "gone" / "b.txt").write_bytes(b"more words")
    bench.options = JobOptions()
    assert bench.requeue() == 1
    bench.resume()
    assert bench.run() == "completed"
    assert bench.paths() == {"box/a.txt", "gone/b.txt"}


def test_only_a_job_that_completed_with_exceptions_has_any(task_bench: TaskBench) -> None:
    (task_bench.source / "a.txt").symlink_to("nowhere")
    task_bench.create()
    with pytest.raises(UsageError, match="is running"):
        task_bench.requeue()
    assert task_bench.run() == "completed_with_exceptions"
    with pytest.raises(UsageError, match="no exceptions"):
        task_bench.requeue()
    with pytest.raises(UsageError, match="is deleted"), task_bench.database.transaction() as conn:
        requeue(conn, uuid.uuid4(), task_bench.options)
    assert task_bench.value("SELECT phase FROM job") == Phase.FINALISE.value

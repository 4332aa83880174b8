"""Creating, finding, measuring and deleting jobs."""

import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from installation import PATIENCE

from core.errors import DatabaseFault, UsageError
from core.records import JobOptions, JobState, Limits, NewTask, Phase, Shard
from readers.records import TextState
from sql import deletion, jobs, ledger, states
from sql.connection import Connection
from sql.findings import ContainerCount, IndexOwner, ItemText, TaskResult
from sql.models import metadata
from sql.session import Database
from sql.workers import WORKERS, NewWorker, register


def test_a_job_comes_back_as_it_was_created(hands: Any) -> None:
    """Promise: source bytes, device and inode numbers of any size and all options survive the database."""
    options = JobOptions(single_pass=True, limits=Limits(depth=3, expansion_ratio=2.5), batch_files=7)
    job = hands.create(2, options, name="nul\0")
    with hands.database.transaction() as conn:
        got = jobs.get_job(conn, job)
        people = jobs.JOBS.custodians(conn, job=job)
        (summary,) = jobs.list_jobs(conn)
    assert (got.id, got.state, got.phase, got.reason) == (job, JobState.RUNNING, Phase.WALK, None)
    assert (got.source, got.source_device, got.source_inode) == (b"/source/\xff", 2**64 - 7, 2**63 + 1)
    assert got.options == options
    assert [(c.number, c.name) for c in people] == [(0, b"_root"), (1, b"m\xfcller")]
    assert summary.job == got
    assert (summary.client, summary.project, summary.workers_planned) == ("client", "project", 2)
    with hands.database.transaction() as conn, pytest.raises(UsageError, match="there is no job"):
        jobs.get_job(conn, uuid.uuid4())


def test_creating_a_job_wakes_the_queue_manager(hands: Any) -> None:
    """Promise: a new job does not wait for the next poll."""
    with hands.database.listen() as held:
        held.subscribe(ledger.CHANNEL)
        hands.create(1)
        assert held.wait(PATIENCE)


def test_progress_adds_up_what_tasks_found(hands: Any) -> None:
    """Promise: items, bytes and tasks by phase come from finished tasks, and the total is not called known
    while more may turn up."""
    job = hands.create(2)
    box = hands.item(job, b"box", container=True)
    text = ItemText(item=box.id, state=TextState.OK, characters=1, pages=1)
    hands.finish(
        hands.take(job),
        TaskResult(
            items=(box,),
            containers=(ContainerCount(item=box.id, announced=None, emitted=0, failed=0),),
            follow_on=(NewTask(phase=Phase.INDEX, weight=50, payload={}),),
            raw_bytes=10,
            extracted_bytes=5,
        ),
    )
    with hands.database.transaction() as conn:
        now = jobs.progress(conn, job)
    walk = now.phases[Phase.WALK]
    assert (walk.open, walk.done, walk.weight_open, walk.weight_done) == (1, 1, 0, 1)
    assert (now.items, now.items_indexed, now.containers, now.exceptions) == (1, 0, 1, 0)
    assert not now.total_known
    hands.finish(hands.take(job))
    with hands.database.transaction() as conn:
        states.advance(conn, job)
    shard = Shard(id=uuid.uuid4(), engine="tantivy", location=b"s", documents=1, size=2)
    hands.finish(hands.take(job), TaskResult(texts=(text,), raw_bytes=10, index_bytes=3, shard=shard))
    with hands.database.transaction() as conn:
        now = jobs.progress(conn, job)
    assert (now.phase, now.total_known, now.items_indexed) == (Phase.INDEX, True, 1)
    assert (now.raw_bytes, now.extracted_bytes, now.index_bytes, now.index_written_bytes) == (10, 5, 2, 3)
    assert now.elapsed_s > 0


ITEMS = 7


class Failing(Database):
    """A database that goes away after so many transactions."""

    left = 0

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        if not self.left:
            raise DatabaseFault("database db1: gone", transient=True)
        self.left -= 1
        with super().transaction(durable=durable) as conn:
            yield conn


def _finished_job(hands: Any) -> uuid.UUID:
    """A job with rows in many tables, more of each than one transaction may delete."""
    job: uuid.UUID = hands.create([NewTask(phase=Phase.WALK, weight=1, payload={}) for _ in range(ITEMS)])
    items = [hands.item(job, b"%d" % n) for n in range(ITEMS)]
    shard = Shard(id=uuid.uuid4(), engine="tantivy", location=b"s", documents=1)
    result = TaskResult(
        items=tuple(items),
        containers=(ContainerCount(item=items[0].id, announced=None, emitted=0, failed=0),),
        texts=tuple(ItemText(item=i.id, state=TextState.OK, characters=1, pages=1) for i in items),
        owners=tuple(IndexOwner(item=i.id, shard=shard.id) for i in items),
        shard=shard,
    )
    hands.finish(hands.take(job), result)
    with hands.database.transaction() as conn:
        states.request_cancel(conn, job)
    return job


def _only_left(hands: Any, keep: uuid.UUID, job: uuid.UUID) -> None:
    """No row of `job` is left, and every one of `keep`."""
    for table in metadata.tables.values():
        if "job" in table.c:
            assert hands.value(f"SELECT count(*) FROM {table.name} WHERE job = %(job)s", job=job) == 0, table.name
    assert hands.rows("SELECT id FROM job") == [(keep,)]
    assert hands.value("SELECT count(*) FROM task") == 2


def test_what_a_slot_wrote_late_goes_with_its_job(hands: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: what was written after the tables had been emptied goes in the last transaction. A job that is not over is
    not deleted."""
    monkeypatch.setattr(deletion, "_tables", list)
    keep, job = hands.create(2), _finished_job(hands)
    with hands.database.transaction() as conn, pytest.raises(UsageError, match="cancel it first"):
        deletion.begin(conn, keep)
    with hands.database.transaction() as conn:
        deletion.begin(conn, job)
    deletion.delete_rows(hands.database, job)
    _only_left(hands, keep, job)


def test_a_deletion_continues_where_it_was_interrupted(hands: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: whatever transaction is its last, the job is still named, as `deleting`, nothing but deleting changes
    it, and the next call ends it; other jobs keep every row."""
    monkeypatch.setattr(deletion, "ROWS_AT_ONCE", 2)
    keep, job = hands.create(2), _finished_job(hands)
    with hands.database.transaction() as conn:
        assert deletion.begin(conn, job), "it begins once"
    failing = Failing("db1", hands.database.url)
    for calls in itertools.count(1):
        failing.left = calls
        try:
            deletion.delete_rows(failing, job)
            break
        except DatabaseFault:
            with hands.database.transaction() as conn:
                assert jobs.get_job(conn, job).state.value == "deleting"
                with pytest.raises(UsageError, match="is deleting"):
                    states.request_resume(conn, job)
                assert not deletion.begin(conn, job)
    failing.dispose()
    _only_left(hands, keep, job)


def _register(database: Database, slots: int) -> uuid.UUID:
    incarnation = uuid.uuid4()
    with database.transaction() as conn:
        register(
            conn, NewWorker(incarnation=incarnation, name="w1", host="h", pid=1, boot_id="b", slots=slots, version="0")
        )
    return incarnation


def test_live_slots_are_those_of_workers_seen_lately(database: Database) -> None:
    """Promise: the window follows the workers that live: the silent and the departed do not count."""
    silent, departed, well = (_register(database, n) for n in (1, 2, 4))
    with database.transaction() as conn:
        assert WORKERS.live_slots(conn) == 7
        WORKERS.worker_stopped(conn, incarnation=departed)
        assert WORKERS.live_slots(conn) == 5
        conn.execute("UPDATE worker SET seen_at = now() - interval '11 seconds'")
        assert WORKERS.live_slots(conn) == 0
        WORKERS.worker_seen(conn, incarnation=well)
        assert WORKERS.live_slots(conn) == 4
        rows = {row.incarnation: row for row in WORKERS.list_workers(conn)}
    assert rows[well].live
    assert not rows[silent].live
    assert rows[departed].stopped_at is not None

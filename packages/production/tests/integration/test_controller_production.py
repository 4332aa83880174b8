"""Productions beside each other, and beside whoever requeues or deletes what they take: no number is given twice, and nothing
changes under a job."""

import json
import os
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from produced import filer, handle, produce
from shelf import Shelf
from taskbench import TaskBench

from controller.databases import JobHandle, Jobs, alone
from controller.jobs.jobs import cancel_job, delete_job, pause_job, requeue_exceptions
from controller.search.named import tag_items
from core.errors import UsageError
from core.job_types import JobType
from core.records import GroupKind, JobState, Phase
from production import create
from production.choosing import GoesBy, hold, lock_sources, pick
from production.options import MARKER
from sql import deletion, states
from sql.jobs import GroupRow

_MANY = 12  # messages of one name
PATIENCE = 300  # seconds, for what takes none


@dataclass(slots=True)
class Productions:
    """Of one discovery; nobody draws pages, they are said to be so many."""

    bench: TaskBench
    source: JobHandle

    def job(self, job: uuid.UUID) -> JobHandle:
        """As it is now."""
        return handle(self.bench.database, job)

    def create(self, kind: JobType, images: JobHandle | None = None, **chosen: Any) -> JobHandle:
        """Numbers begin with `A`, but for those of pages that were made before."""
        usual = {"out": str(self.bench.home / f"out-{uuid.uuid4().hex}"), "prefix": "EDB" if images else "A"}
        return produce(self.bench.context.settings, [self.source], kind, images, **(usual | chosen))

    def counted(self, job: JobHandle, *pages: int) -> object:
        """Phase render has found so many pages of its items; what comes of the barrier behind it."""
        for place, many in enumerate(pages):
            self.bench.rows(
                "UPDATE production_item SET pages = %(p)s WHERE job = %(j)s AND number = %(n)s RETURNING 1",
                j=job.id, p=many, n=job.job.options.of_type.first + place,
            )  # fmt: skip
        self.bench.rows("UPDATE task SET state = 'done' WHERE job = %(j)s AND phase = 'render' RETURNING 1", j=job.id)
        return self.barrier(job)

    def barrier(self, job: JobHandle) -> object:
        """As the queue manager, by its login."""
        with self.bench.managers.transaction(durable=True) as conn:
            return states.advance(conn, job.id)

    def resumed(self, job: JobHandle) -> object:
        """What comes of it."""
        with self.bench.database.transaction(durable=True) as conn:
            states.request_resume(conn, job.id)
        return self.barrier(job)

    def ended(self, job: JobHandle) -> JobHandle:
        """As if the rest of it were done."""
        ends = "UPDATE job SET state = 'completed', finished_at = clock_timestamp() WHERE id = %(j)s RETURNING 1"
        self.bench.rows(ends, j=job.id)
        return self.job(job.id)

    def processed(self, *pages: int, **chosen: Any) -> JobHandle:
        """A processing job that is over."""
        made = self.create(JobType.PROCESSING, **chosen)
        assert self.counted(made, *pages) is Phase.STAMP
        return self.ended(made)

    def first_pages(self, job: JobHandle) -> list[int | None]:
        """Of its items."""
        found = self.bench.rows("SELECT first_page FROM production_item WHERE job = %(j)s ORDER BY number", j=job.id)
        return [page for (page,) in found]

    def state(self, job: JobHandle) -> tuple[str, str]:
        """And why, if it is suspended."""
        ((state, reason),) = self.bench.rows("SELECT state, reason FROM job WHERE id = %(j)s", j=job.id)
        return state, reason or ""


def _discovered(bench: TaskBench, files: dict[str, bytes]) -> Productions:
    for name, data in files.items():
        (bench.source / name).write_bytes(data)
    bench.create()
    bench.run()
    return Productions(bench, handle(bench.database, bench.job))


@pytest.fixture
def made(task_bench: TaskBench) -> Productions:
    """Of three texts."""
    return _discovered(task_bench, {f"{name}.txt": name.encode() for name in "abc"})


def test_an_export_is_held_against_pages(made: Productions) -> None:
    """The second page of one item is no other item's number, whatever the type of the job."""
    pages = made.processed(1, 3, 1)
    assert made.first_pages(pages) == [1, 2, 5]
    with pytest.raises(UsageError, match=f"job {pages.id} .*: give --first 6, or another --prefix"):
        made.create(JobType.EXPORT)
    with pytest.raises(UsageError, match="give --first 6"):
        made.create(JobType.EXPORT, first=5)
    made.create(JobType.EXPORT, first=6)
    made.create(JobType.EXPORT, prefix="B")
    made.create(JobType.EXTRACTION)


def test_pages_that_would_have_an_exports_numbers_are_not_numbered(made: Productions) -> None:
    """The job is suspended at the barrier, and says where to begin; it goes on once those numbers are free. Items of one page
    each have the numbers that they have as items."""
    export, alike = made.create(JobType.EXPORT), made.create(JobType.PROCESSING)
    assert made.counted(alike, 1, 1, 1) is Phase.STAMP
    cancel_job(alike)
    pages = made.create(JobType.PROCESSING)
    assert made.counted(pages, 1, 3, 1) is JobState.SUSPENDED
    state, reason = made.state(pages)
    assert state == "suspended"
    assert f"job {export.id} " in reason
    assert reason.endswith("cancel this job and create it again with --first 4, or delete that job")
    assert made.first_pages(pages) == [None] * 3
    assert made.resumed(pages) is JobState.SUSPENDED
    cancel_job(export)
    assert made.resumed(pages) is Phase.STAMP
    assert made.first_pages(pages) == [1, 2, 5]


def test_pages_of_two_jobs_meet_at_the_later_barrier(made: Productions) -> None:
    one = made.create(JobType.PROCESSING)
    other = made.create(JobType.PROCESSING, first=4)
    assert made.counted(other, 1, 1, 1) is Phase.STAMP
    assert made.counted(one, 1, 3, 1) is JobState.SUSPENDED
    assert "--first 7" in made.state(one)[1]
    apart = made.create(JobType.PROCESSING, first=7)
    assert made.counted(apart, 9, 9, 9) is Phase.STAMP
    with pytest.raises(UsageError, match=f"job {apart.id} .*: give --first 34"):
        made.create(JobType.PROCESSING, first=11)


def test_volumes_hold_what_is_written(made: Productions) -> None:
    def volumes(kind: JobType) -> list[int]:
        job = made.create(kind, volume_bytes=2, prefix=kind.value)
        found = made.bench.rows("SELECT volume FROM production_item WHERE job = %(j)s ORDER BY number", j=job.id)
        return [volume for (volume,) in found]

    assert volumes(JobType.EXTRACTION) == [1, 1, 2]
    assert volumes(JobType.EXPORT) == volumes(JobType.PROCESSING) == [1, 2, 3]


def test_an_export_that_leaves_pages_out_is_no_other(made: Productions) -> None:
    """Numbers that it has not given are nobody else's in it: all of the pages may be exported beside."""
    pages = made.processed(1, 3, 1)
    less = made.create(JobType.EXPORT, pages)
    made.bench.rows("DELETE FROM production_item WHERE job = %(j)s AND number = 2 RETURNING 1", j=less.id)
    made.create(JobType.EXPORT, pages)
    made.processed(1, 3, 1)
    with pytest.raises(UsageError, match="give --first 6"):
        made.create(JobType.EXPORT, first=5)


def test_the_same_pages_may_be_made_again_but_no_others(made: Productions) -> None:
    made.processed(1, 2, 1)
    made.processed(1, 2, 1)
    more = made.create(JobType.PROCESSING)
    assert made.counted(more, 2, 2, 1) is JobState.SUSPENDED
    assert "--first 5" in made.state(more)[1]


def test_numbers_of_pages_are_the_exports_that_took_them(made: Productions) -> None:
    pages = made.processed(1, 3, 1)
    exports = [made.ended(made.create(JobType.EXPORT, pages)) for _ in range(2)]
    delete_job(pages, filer(), made.bench.storage_root)
    again = made.create(JobType.PROCESSING)
    assert made.counted(again, 2, 3, 1) is JobState.SUSPENDED
    assert any(str(export.id) in made.state(again)[1] for export in exports)
    assert "--first 6" in made.state(again)[1]


def test_an_export_of_pages_is_held_against_others(made: Productions) -> None:
    plain = made.create(JobType.EXPORT, prefix="B")
    pages = made.processed(1, 3, 1)
    made.bench.rows(
        "UPDATE job SET options = jsonb_set(options, '{production,prefix}', '\"A\"') WHERE id = %(j)s RETURNING 1",
        j=plain.id,
    )
    with pytest.raises(
        UsageError, match=f"job {plain.id} .*: run the processing job again with --first 6 or another --prefix"
    ):
        made.create(JobType.EXPORT, pages)


def test_numbers_of_other_digits_are_compared_as_they_are_written(made: Productions) -> None:
    """`A10` is `A10` with one digit at least and with two; `A1` and `A01` are not the same."""
    made.create(JobType.EXPORT, digits=1, first=9)
    made.create(JobType.EXPORT, digits=3, first=9)
    with pytest.raises(UsageError, match="give --first 12"):
        made.create(JobType.EXPORT, digits=1, first=10, prefix="a")  # one file where storage ignores case
    made.create(JobType.EXPORT, digits=2, first=7)
    with pytest.raises(UsageError, match="give --first 12"):
        made.create(JobType.EXPORT, digits=2, first=10)


def test_nothing_is_written_into_the_evidence_of_another_job(made: Productions) -> None:
    """Its next discovery would find natives and texts of this one as its own. What was made for a job that is refused goes
    again, with the directories above it, but for what was there."""
    bench = made.bench
    theirs = bench.home / "other matter"
    (theirs / "bob").mkdir(parents=True)
    other = Shelf(bench.database, os.fsencode(theirs)).stored()
    for out in (theirs / "bob" / "prod", theirs, theirs.parent):
        with pytest.raises(UsageError, match=f"the evidence {theirs} of job .* is inside the other") as refused:
            made.create(JobType.EXPORT, out=str(out))
        assert refused.value.field == "out"
    assert list(theirs.rglob("*")) == [theirs / "bob"]
    (bench.home / "prods").mkdir()
    with pytest.raises(UsageError, match="no item is chosen"):
        made.create(JobType.EXPORT, out=str(bench.home / "prods/typo/a/b"), query="zzzz")
    assert list((bench.home / "prods").iterdir()) == []
    with bench.database.transaction(durable=True) as conn:
        assert deletion.begin(conn, other.id)
    made.create(JobType.EXPORT, out=str(theirs / "bob" / "prod"))


def test_a_discovery_is_not_requeued_under_a_job_that_takes_its_items(task_bench: TaskBench) -> None:
    made = _discovered(task_bench, {"a.txt": b"a", "empty.txt": b""})
    taking, before = made.create(JobType.EXTRACTION), task_bench.value("SELECT count(*) FROM item")
    line = f"job {taking.id} uses items or pages of job {made.source.id}; cancel that job, or wait"
    with pytest.raises(UsageError, match=line):
        requeue_exceptions(alone(made.source), storage_root=task_bench.storage_root)
    assert made.state(made.source)[0] == "completed_with_exceptions"
    assert task_bench.value("SELECT count(*) FROM item") == before
    cancel_job(taking)
    assert requeue_exceptions(alone(made.source), storage_root=task_bench.storage_root) == 1


def test_of_a_group_all_jobs_are_requeued_or_none(task_bench: TaskBench) -> None:
    """One whose items are taken keeps the others as they are, else nobody would hear of it."""
    made = _discovered(task_bench, {"a.txt": b"a", "empty.txt": b""})
    task_bench.job = uuid.uuid4()
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    other, database = made.job(task_bench.job), task_bench.database
    group = GroupRow(
        id=uuid.uuid4(), name="g", kind=GroupKind.SHARDED, source=b"/s", source_copies=1, members=(), created_at=datetime.now(UTC)
    )  # fmt: skip
    jobs = Jobs(each=(other, made.source), home=database, group=group)
    taking = made.create(JobType.EXTRACTION)
    with pytest.raises(UsageError, match=f"job {taking.id} uses items or pages of job {made.source.id}"):
        requeue_exceptions(jobs, storage_root=task_bench.storage_root)
    assert made.state(other)[0] == "completed_with_exceptions"
    cancel_job(taking)
    assert requeue_exceptions(jobs, storage_root=task_bench.storage_root) == 2


def test_pages_of_items_that_were_processed_again_are_not_exported(task_bench: TaskBench) -> None:
    made = _discovered(task_bench, {"a.txt": b"a", "empty.txt": b""})
    pages = made.processed(1, 1)
    assert requeue_exceptions(alone(made.source), storage_root=task_bench.storage_root) == 1
    (task_bench.source / "empty.txt").write_bytes(b"words")
    with task_bench.database.transaction(durable=True) as conn:
        states.request_resume(conn, made.source.id)
    assert task_bench.run() == "completed"
    made.source = made.job(made.source.id)
    with pytest.raises(
        UsageError, match=f"job {made.source.id} was requeued after job {pages.id}.* run the processing job again"
    ):
        made.create(JobType.EXPORT, pages)
    made.create(JobType.EXPORT, made.processed(1, 1))


def test_what_an_export_takes_is_not_deleted(made: Productions) -> None:
    pages = made.processed(1, 1, 1)
    export = made.create(JobType.EXPORT, pages)
    for taken in (pages, made.source):
        line = f"job {export.id} uses items or pages of job {taken.id}; delete that job, or wait"
        with pytest.raises(UsageError, match=line):
            delete_job(taken, filer(), made.bench.storage_root)
        assert made.state(taken)[0].startswith("completed")
    cancel_job(export)
    delete_job(pages, filer(), made.bench.storage_root)


def test_what_somebody_has_begun_to_delete_is_not_taken(made: Productions) -> None:
    """Though it was whole when it was looked at: no row of a job is made, and the directory is nobody's."""
    pages = made.processed(1, 1, 1)
    for taken, line, of in ((pages, f"--images {pages.id} is now deleting", pages), (made.source, "is deleting", None)):
        with made.bench.database.transaction(durable=True) as conn:
            assert deletion.begin(conn, taken.id)
        with pytest.raises(UsageError, match=line):
            made.create(JobType.EXPORT, of)
    assert made.bench.value("SELECT count(*) FROM job") == 2
    kept = [str(path.parent) for path in made.bench.home.glob("out-*/*")]
    assert kept == [pages.job.options.of_type.out]  # its marker
    folders = {path.name for path in (made.bench.storage_root / "jobs").iterdir()}
    assert folders == {made.source.id.hex, pages.id.hex}


def test_a_creation_that_was_killed_leaves_a_marker_that_is_named(
    made: Productions, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = made.bench.home / "out"
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(create, "_create", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        try:
            made.create(JobType.EXPORT, out=str(out))
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    gone = json.loads((out / MARKER).read_text())["job"]
    with pytest.raises(UsageError, match=f"belongs to job {gone}; delete that job, or remove {MARKER}") as refused:
        made.create(JobType.EXPORT, out=str(out))
    assert refused.value.field == "out"
    (out / MARKER).write_text("")
    with pytest.raises(UsageError, match=r"belongs to job \(unreadable\)"):
        made.create(JobType.EXPORT, out=str(out))
    (out / MARKER).unlink()
    export = made.create(JobType.EXPORT, out=str(out))
    assert json.loads((out / MARKER).read_text())["job"] == export.id.hex
    folders = {path.name for path in (made.bench.storage_root / "jobs").iterdir()}
    assert folders == {made.source.id.hex, export.id.hex}


def _waiting(bench: TaskBench) -> bool:
    """Whether somebody waits for a lock, before long."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if bench.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            return True
    return False


def test_items_are_tagged_while_a_job_is_made_of_them(made: Productions) -> None:
    item = made.bench.value("SELECT id FROM item ORDER BY id LIMIT 1")
    with ThreadPoolExecutor(2) as others:
        with made.bench.database.transaction(durable=True) as conn:
            hold(conn, [made.source], None)
            tagged = others.submit(tag_items, [made.source], "hot", [item])
            assert tagged.result(PATIENCE).changed == 1
            with pytest.raises(UsageError, match="only a running job can be paused"):
                others.submit(pause_job, made.source).result(PATIENCE)
            deleted = others.submit(delete_job, made.source, filer(), made.bench.storage_root)
            assert _waiting(made.bench)
            lock_sources(conn, [made.source], GoesBy((), 0))  # what it does at its end, though somebody waits
        assert deleted.result(PATIENCE) == ""


def test_a_requeue_waits_until_a_job_is_made(task_bench: TaskBench) -> None:
    made = _discovered(task_bench, {"a.txt": b"a", "empty.txt": b""})
    with ThreadPoolExecutor(1) as other:
        with task_bench.database.transaction(durable=True) as conn:
            hold(conn, [made.source], None)
            requeued = other.submit(requeue_exceptions, alone(made.source), storage_root=task_bench.storage_root)
            assert _waiting(task_bench)
            lock_sources(conn, [made.source], GoesBy((), 0))
        assert requeued.result(PATIENCE) == 1


def test_a_tag_that_a_job_goes_by_is_not_given_while_it_is_made(
    made: Productions, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = (item for (item,) in made.bench.rows("SELECT id FROM item ORDER BY id"))
    tag_items([made.source], "privileged", [one])

    def tag_while_choosing(*asked: Any) -> Any:
        picked = pick(*asked)
        tag_items([made.source], "hot", [one])  # another tag is nobody's business
        tag_items([made.source], "privileged", [two])
        return picked

    with monkeypatch.context() as patch:
        patch.setattr(create, "pick", tag_while_choosing)
        with pytest.raises(UsageError, match=r"meanwhile \(privileged\); run the command again"):
            made.create(JobType.EXTRACTION, withhold=("privileged",))
        assert made.bench.value("SELECT count(*) FROM job") == 1
        made.create(JobType.EXTRACTION, withhold=("hot",))  # had by then all that it was going to have
    assert made.create(JobType.EXPORT, withhold=("privileged",)).job.options.of_type.items == 1


def test_messages_of_one_path_have_their_numbers_as_they_lie_in_the_store(task_bench: TaskBench) -> None:
    """By id they would have others in each discovery of the same evidence; each has what is attached to it behind it."""
    part = b"--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nnumber %d\n--b--\n\n"
    head = b"From ann Mon Jan  1 00:00:00 2024\nSubject: same\nContent-Type: multipart/mixed; boundary=b\n\n"
    made = _discovered(task_bench, {"box.mbox": b"".join(head + part % number for number in range(_MANY))})
    named = "UPDATE item SET container_path[2] = 'same' WHERE array_length(container_path, 1) > 1 RETURNING 1"
    assert len(task_bench.rows(named)) == 2 * _MANY  # as those of a PST are: by their subjects
    job = made.create(JobType.EXTRACTION)
    rows = task_bench.rows(
        "SELECT i.container_path, coalesce(above.ordinal, i.ordinal) AS ordinal FROM production_item p"
        " JOIN item i ON i.id = p.item LEFT JOIN item above ON above.id = i.parent AND NOT above.container"
        " WHERE p.job = %(j)s ORDER BY p.number",
        j=job.id,
    )
    assert len(rows) == 2 * _MANY
    assert len({tuple(row.container_path) for row in rows}) == 2
    places = [int(bytes(row.ordinal)[1:]) for row in rows]
    assert places == sorted(places)
    assert [len(row.container_path) for row in rows] == [2, 3] * _MANY

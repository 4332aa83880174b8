"""Claim, work, finish on a real ledger with real files."""

import dataclasses
import errno
import logging
import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest
from statements import statements_of
from taskbench import TaskBench
from unpacking import make_docx, make_mail, make_mbox, make_tar, make_zip

from core.errors import StorageFault
from core.operations import NullRecorder
from core.records import JobOptions, NewTask, Phase
from core.storage.errors import opening_error
from core.storage.layer import ReadFile, Storage
from monitoring.tally import BUSY, TASKS, Outcome
from readers.records import Kind
from search.engine import open_reader
from sql import ledger, states
from sql.findings import TaskResult
from worker import run_task
from worker.phases.task import TaskWork
from worker.slots.context import Custodians

if TYPE_CHECKING:
    from typing_extensions import Buffer

LARGE = b"original word\n" * 1_200_000  # more than is worked on from memory


def _corpus(source: Path) -> None:
    (source / "mail.mbox").write_bytes(make_mbox(*(make_mail(f"s{n}", f"findme {n}\n") for n in range(40))))
    (source / "sub").mkdir()
    (source / "sub" / "a.zip").write_bytes(make_zip({"in.zip": make_zip({"x.txt": b"findme deep"}), "y.txt": b"y"}))
    (source / "sub" / "t.tar.gz").write_bytes(make_tar({"d.docx": make_docx("findme docx"), "e.txt": b"e"}))
    (source / "empty").write_bytes(b"")


def _hits(bench: TaskBench, tmp_path: Path, query: str) -> list[uuid.UUID]:
    """What a search finds: hits whose owner is the one the database names."""
    owners = {r.item: (r.shard, r.owner) for r in bench.rows("SELECT * FROM item_index")}
    found = []
    for row in bench.rows("SELECT id, engine FROM shard"):
        reader = open_reader(row.engine, bench.shard_folder(row.id), tmp_path / "view" / uuid.uuid4().hex)
        found += [h.item for h in reader.search(query, 1_000) if owners.get(h.item) == (row.id, h.owner)]
    return found


@pytest.mark.parametrize("single_pass", [False, True])
@pytest.mark.parametrize("split_bytes", [64_000_000, 500])
def test_a_whole_job(task_bench: TaskBench, tmp_path: Path, single_pass: bool, split_bytes: int) -> None:
    task_bench.options = JobOptions(single_pass=single_pass, split_bytes=split_bytes, batch_files=7)
    _corpus(task_bench.source)
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    assert len(task_bench.paths()) == 4 + 40 + 3 + 3
    assert task_bench.codes() == {"empty": ["zero_bytes"]}
    assert task_bench.value("SELECT count(*) FROM item_text") == 50
    assert task_bench.value("SELECT count(*) FROM item_index") == 50
    assert len(set(_hits(task_bench, tmp_path, "findme"))) == len(_hits(task_bench, tmp_path, "findme")) == 42
    written = {bytes(r.location) for r in task_bench.rows("SELECT location FROM item WHERE location IS NOT NULL")}
    assert len(written) == 46
    on_disk = {os.fsencode(p.relative_to(task_bench.storage_root)) for p in task_bench.items_folder.rglob("*/*")}
    assert {p for p in on_disk if (task_bench.storage_root / p.decode()).is_file()} == written
    sums = task_bench.rows("SELECT sum(raw_bytes) AS raw, sum(extracted_bytes) AS extracted FROM task")[0]
    assert sums.raw == sum(p.stat().st_size for p in task_bench.source.rglob("*") if p.is_file())
    assert sums.extracted == task_bench.value("SELECT sum(bytes) FROM item WHERE parent IS NOT NULL")
    uneven = "SELECT count(*) FROM container_count WHERE announced IS NOT NULL AND announced <> emitted + failed"
    assert task_bench.value(uneven) == 0


def test_a_stale_or_doubled_message_claims_nothing(task_bench: TaskBench) -> None:
    task_bench.create()
    task_bench.handle(uuid.uuid4())
    pending = task_bench.value("SELECT id FROM task")
    task_bench.handle(pending)
    assert task_bench.rows("SELECT state, attempt FROM task") == [("pending", 0)]
    (task,) = task_bench.dispatch()
    task_bench.handle(task)
    task_bench.handle(task)
    assert task_bench.rows("SELECT state, attempt FROM task") == [("done", 1)]


def _to_index(bench: TaskBench) -> uuid.UUID:
    (bench.source / "a.txt").write_bytes(b"findme once")
    bench.create()
    bench.until(Phase.INDEX)
    (task,) = bench.dispatch()
    return task


def _ended(bench: TaskBench, phase: Phase) -> dict[Outcome, int]:
    """How the tasks of a phase ended, by the slot's tally."""
    words = bench.context.tally.read()
    assert words[BUSY[phase]] > 0
    return {o: words[TASKS[phase, o]] for o in Outcome if words[TASKS[phase, o]]}


def test_the_work_of_a_lost_task_is_dropped(
    task_bench: TaskBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = _to_index(task_bench)
    task_bench.take_over(monkeypatch, Phase.INDEX, task)
    task_bench.handle(task)
    assert _ended(task_bench, Phase.INDEX) == {Outcome.LOST: 1}
    assert task_bench.value("SELECT count(*) FROM item_index") == 0
    assert task_bench.value("SELECT count(*) FROM shard") == 0
    monkeypatch.undo()
    task_bench.drain()
    assert len(_hits(task_bench, tmp_path, "findme")) == 1
    (row,) = task_bench.rows(
        "SELECT t.attempt, x.owner = replace(t.token::text, '-', '') AS own FROM item_index x, task t WHERE t.id = %(t)s",
        t=task,
    )
    assert tuple(row) == (2, True)


def test_what_a_failed_attempt_added_does_not_ride_along(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents added but not published when a task failed are not in the shard's next publication."""
    task = _to_index(task_bench)
    shard = task_bench.context.shards.of(task_bench.job, "tantivy")
    before = shard.id
    with monkeypatch.context() as patch:
        patch.setattr(type(shard), "publish", lambda *_: (_ for _ in ()).throw(ZeroDivisionError("oops")))
        task_bench.handle(task)
    assert task_bench.rows("SELECT state, failures FROM task WHERE id = %(t)s", t=task) == [("pending", 1)]
    task_bench.drain()
    (row,) = task_bench.rows("SELECT id, documents FROM shard")
    assert row.id != before
    assert row.documents == 1


def test_an_unforeseen_error_suspends_in_the_end(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours is counted against the task; after the limit the job is suspended and says what it was."""
    monkeypatch.setitem(run_task.BODIES, Phase.WALK, lambda work: 1 // 0)
    task_bench.create()
    for n in range(1, ledger.FAILURES_LIMIT + 1):
        (task,) = task_bench.dispatch()
        task_bench.handle(task)
        assert task_bench.value("SELECT failures FROM task") == n
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "ZeroDivisionError" in str(reason)
    assert _ended(task_bench, Phase.WALK) == {Outcome.FAILED: ledger.FAILURES_LIMIT}


class _Full(Storage):
    """A filer without space."""

    def create(self, path: bytes) -> object:  # type: ignore[override]
        raise StorageFault("cannot write: No space left on device; free space", errno=errno.ENOSPC)

    def _create(self, path: bytes, mode: int = 0, *, hollow: bool = False) -> object:  # type: ignore[override]
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_filer_suspends_and_resume_continues(task_bench: TaskBench, tmp_path: Path) -> None:
    """ENOSPC is the system's failure: suspended with a reason that says what to do, nothing charged to the task."""
    _corpus(task_bench.source)
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    full = task_bench.slot("w2", _Full(NullRecorder()))
    (task,) = task_bench.dispatch()
    task_bench.handle(task, full)
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "No space left on device" in str(reason)
    assert "free space" in str(reason)
    task_bench.context = dataclasses.replace(task_bench.context, tally=full.tally)
    assert _ended(task_bench, Phase.EXPAND) == {Outcome.GIVEN_BACK: 1}
    assert task_bench.rows("SELECT state, failures FROM task WHERE id = %(t)s", t=task) == [("pending", 0)]
    task_bench.rows("UPDATE job SET state = 'running', reason = NULL, stopped_at = NULL RETURNING 1")
    assert task_bench.run() == "completed_with_exceptions"
    assert len(_hits(task_bench, tmp_path, "findme")) == 42


@pytest.mark.parametrize("how", ["gone", "replaced"])
@pytest.mark.parametrize("phase", [Phase.WALK, Phase.EXPAND, Phase.INDEX])
def test_a_source_that_is_not_the_one_suspends(task_bench: TaskBench, how: str, phase: Phase) -> None:
    _corpus(task_bench.source)
    task_bench.create()
    task_bench.until(phase)
    before = task_bench.codes()
    task_bench.source.rename(task_bench.home / "elsewhere")
    if how == "replaced":
        task_bench.source.mkdir()
    task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "source" in str(reason)
    assert "mount" in str(reason)
    assert task_bench.codes() == before


class _Unmounting(Storage):
    """A storage whose source goes away at an open of one file."""

    trigger = b""
    act = staticmethod(lambda: None)

    def open(self, path: bytes) -> ReadFile:
        if path.endswith(self.trigger):
            self.act()
        return super().open(path)


def test_a_source_that_goes_away_inside_a_handler_suspends(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A big container whose reader fails because the source is gone is not booked as damaged: the job is suspended."""
    monkeypatch.setattr("worker.phases.expand.KEEP_BYTES", 100)
    # The only file: with others, their own failing would have the source looked at.
    (task_bench.source / "mail.mbox").write_bytes(make_mbox(*(make_mail(f"s{n}") for n in range(9))))
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    storage = _Unmounting(NullRecorder())
    storage.trigger = b"mail.mbox"
    opened = []

    def act() -> None:
        opened.append(1)
        if len(opened) == 4:  # size, digest, head; this one is the handler's
            shutil.rmtree(task_bench.source)

    storage.act = act  # type: ignore[assignment]
    context = task_bench.slot("w2", storage)
    for task in task_bench.dispatch():
        task_bench.handle(task, context)
    assert len(opened) >= 4
    assert task_bench.reason()[0] == "suspended"
    assert task_bench.codes() == {}


def test_a_storage_root_without_the_jobs_folder_suspends(task_bench: TaskBench) -> None:
    _corpus(task_bench.source)
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    shutil.rmtree(task_bench.storage_root)
    task_bench.storage_root.mkdir()
    task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "mount" in str(reason)
    assert list(task_bench.storage_root.iterdir()) == []


def test_files_that_change_after_the_walk(task_bench: TaskBench) -> None:
    for name in ("gone", "link", "fifo", "directory", "stays"):
        (task_bench.source / name).write_bytes(b"text")
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    for name in ("gone", "link", "fifo", "directory"):
        (task_bench.source / name).unlink()
    (task_bench.source / "link").symlink_to("/etc/hostname")
    os.mkfifo(task_bench.source / "fifo")
    (task_bench.source / "directory").mkdir()
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {
        "gone": ["vanished"],
        "link": ["symlink"],
        "fifo": ["special_file"],
        "directory": ["unreadable"],
    }
    found = dict(map(tuple, task_bench.rows("SELECT display, state FROM item JOIN item_text ON item = id")))
    assert found == {"gone": "failed", "link": "failed", "fifo": "failed", "directory": "failed", "stays": "ok"}


def test_text_is_of_the_bytes_that_have_the_hash_or_there_is_an_exception(task_bench: TaskBench) -> None:
    """Source files that change between the two passes of a discovery, worked on in memory and larger than that."""
    source, words, large = task_bench.source, b"originalword, the first version of %s", 17_000_000
    for name in ("calm", "grown", "emptied", "twin", "touched", "removed"):
        (source / name).write_bytes(words % name.encode())
    for name in ("calm", "grown", "twin", "touched", "cut"):
        (source / f"{name}-large").write_bytes((words % name.encode()).ljust(60, b".") * (large // 60) + b"\n")
    task_bench.create()
    task_bench.until(Phase.INDEX)
    for file in (source / "grown", source / "grown-large"):
        with file.open("ab") as end:
            end.write(b" and appendedword\n")
    (source / "emptied").write_bytes(b"")
    (source / "removed").unlink()
    os.truncate(source / "cut-large", large // 2)
    for file in (source / "twin", source / "twin-large"):  # other bytes under the same modification time
        before = file.stat()
        file.write_bytes(file.read_bytes().replace(b"original", b"replaced"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for file in (source / "touched", source / "touched-large"):
        os.utime(file)
    assert task_bench.run() == "completed_with_exceptions"
    changed = {name: ["changed_during_processing"] for name in ("emptied", "twin", "twin-large", "cut-large")}
    assert task_bench.codes() == changed | {"removed": ["vanished"]}
    rows = task_bench.rows("SELECT display, bytes, characters, state FROM item JOIN item_text ON item = id")
    assert len(rows) == 11
    for row in rows:
        failed = row.display in task_bench.codes()  # else it is a text in ASCII that was hashed and taken whole
        assert (row.characters, row.state) == ((0, "failed") if failed else (row.bytes, "ok")), row.display


def test_bytes_that_the_storage_changes_are_an_exception_of_their_item(task_bench: TaskBench) -> None:
    """Children are read again: what is indexed is what was hashed, also from storage that loses or changes bytes."""
    members = {f"{name}.txt": b"originalword" for name in ("calm", "changed", "cut", "emptied")}
    (task_bench.source / "a.zip").write_bytes(
        make_zip(members | {"large.txt": LARGE, "calm-large.txt": LARGE + b"!"}, stored=True)
    )
    task_bench.create()
    task_bench.until(Phase.INDEX)

    def written(name: str) -> Path:
        location = task_bench.value("SELECT location FROM item WHERE display = %(n)s", n=name)
        return task_bench.storage_root / bytes(location).decode()

    for name in ("changed.txt", "large.txt"):
        written(name).write_bytes(written(name).read_bytes().replace(b"original", b"replaced"))
    os.truncate(written("cut.txt"), 5)
    os.truncate(written("emptied.txt"), 0)
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {f"a.zip/{n}.txt": ["hash_differs"] for n in ("changed", "cut", "emptied", "large")}
    rows = task_bench.rows("SELECT display, characters FROM item JOIN item_text ON item = id WHERE state = 'ok'")
    assert {tuple(row) for row in rows} == {("calm.txt", 12), ("calm-large.txt", len(LARGE) + 1)}


class _Losing(Storage):
    """Changes each file of `changes` after it was written, without an error."""

    changes: ClassVar[dict[int, Callable[[Path], object]]] = {}  # by size

    def write_file(
        self, path: bytes, chunks: Iterable["Buffer"], *, private: bool = False, hollow: bool = False
    ) -> int:
        size = super().write_file(path, chunks, private=private, hollow=hollow)
        self.changes.get(size, lambda _: None)(Path(os.fsdecode(path)))
        return size


def _replace(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"original", b"replaced"))


@pytest.mark.parametrize("single_pass", [False, True])
def test_large_children_that_the_storage_changes_at_once(task_bench: TaskBench, single_pass: bool) -> None:
    """A child that is read back in the same task is checked as one that another task reads."""
    task_bench.options = JobOptions(single_pass=single_pass)
    mails = make_mbox(*(b"Subject: s%d\n\n" % n + LARGE[:1_000_000] for n in range(17)))
    members = {"changed.txt": LARGE, "cut.mbox": mails, "calm.txt": LARGE + b"!", "emptied.txt": LARGE + b"??"}
    (task_bench.source / "a.zip").write_bytes(make_zip(members, stored=True))
    storage = _Losing(NullRecorder())
    storage.changes = {
        len(LARGE): _replace,
        len(mails): lambda file: os.truncate(file, len(mails) // 2),
        len(LARGE) + 2: lambda file: os.truncate(file, 0),
    }
    task_bench.context = dataclasses.replace(task_bench.context, storage=storage)
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    differs = ["hash_differs"]  # of the archive: for the member that is not even identified
    assert task_bench.codes() == {"a.zip": differs, "a.zip/changed.txt": differs, "a.zip/cut.mbox": differs}
    rows = task_bench.rows("SELECT display, characters FROM item JOIN item_text ON item = id WHERE state = 'ok'")
    assert {tuple(row) for row in rows} == {("calm.txt", len(LARGE) + 1)}


def test_ranges_of_a_container_that_the_storage_cut(task_bench: TaskBench) -> None:
    """A range that begins after the end of what is left is not a range without messages."""
    task_bench.options = JobOptions(split_bytes=6_000_000)
    mails = make_mbox(*(b"Subject: s%d\n\n" % n + LARGE[:1_400_000] for n in range(14)))
    (task_bench.source / "a.zip").write_bytes(make_zip({"in.mbox": mails}, stored=True))
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    (task,) = task_bench.dispatch()
    task_bench.handle(task)
    location = task_bench.value("SELECT location FROM item WHERE display = 'in.mbox'")
    os.truncate(task_bench.storage_root / bytes(location).decode(), mails.find(b"\nFrom ", len(mails) // 2) + 1)
    assert task_bench.run() == "completed_with_exceptions"
    ranges = len(mails) // 6_000_000 + 1
    assert task_bench.codes() == {"a.zip/in.mbox": ["hash_differs"] * ranges}
    assert task_bench.paths() == {"a.zip", "a.zip/in.mbox"}


@pytest.mark.parametrize("keep", [16_000_000, 100])
def test_a_source_file_that_ends_too_early_is_an_exception(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    """A storage that returns no more bytes before the size that it stated has not given the file."""
    monkeypatch.setattr("worker.phases.expand.KEEP_BYTES", keep)
    (task_bench.source / "short.txt").write_bytes(b"findme " * 1_000)
    (task_bench.source / "whole.txt").write_bytes(b"findme")
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    pread = os.pread
    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", lambda fd, size, at: pread(fd, size, at)[: max(0, 4096 - at)])
        task_bench.drain()
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {"short.txt": ["changed_during_processing"]}
    rows = task_bench.rows("SELECT display, sha256 IS NULL, state FROM item JOIN item_text ON item = id ORDER BY 1")
    assert [tuple(row) for row in rows] == [("short.txt", True, "failed"), ("whole.txt", False, "ok")]


def test_an_own_file_that_is_lost_suspends(task_bench: TaskBench) -> None:
    _corpus(task_bench.source)
    task_bench.create()
    task_bench.until(Phase.INDEX)
    # A container would not do: it is not read again.
    location = task_bench.value("SELECT location FROM item WHERE name = 'y.txt'::bytea")
    (task_bench.storage_root / bytes(location).decode()).unlink()
    task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "written by this job" in str(reason)


def test_a_deleted_job_is_nobodys_task(task_bench: TaskBench, caplog: pytest.LogCaptureFixture) -> None:
    task_bench.create(tasks=[NewTask(phase=Phase.WALK, weight=1, payload={"directories": [], "custodian": 0})])
    (task,) = task_bench.dispatch()
    with task_bench.database.transaction() as conn:
        claimed = ledger.claim(conn, task_bench.job, task, uuid.uuid4(), "w1", 0)
    assert claimed is not None
    task_bench.rows("DELETE FROM job RETURNING 1")
    with caplog.at_level(logging.CRITICAL):
        run_task._attempt(task_bench.context, task_bench.database, claimed)
    assert task_bench.rows("SELECT 1 FROM task") == []


def test_an_unreadable_file_is_an_exception_of_its_own(task_bench: TaskBench) -> None:
    (task_bench.source / "bad.txt").write_bytes(b"x")
    (task_bench.source / "good.txt").write_bytes(b"findme")

    class Denied(Storage):
        def open(self, path: bytes) -> ReadFile:
            if path.endswith(b"bad.txt"):
                raise opening_error(path, OSError(errno.EACCES, "denied"))
            return super().open(path)

    task_bench.context = dataclasses.replace(task_bench.context, storage=Denied(NullRecorder()))
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {"bad.txt": ["unreadable"]}
    assert {Kind(r.kind) for r in task_bench.rows("SELECT kind FROM item")} == {Kind.LOOSE_FILE}


def test_a_fault_met_without_the_task_suspends_no_job(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _to_index(task_bench)

    def broken(work: TaskWork) -> TaskResult:
        task_bench.lose(task)
        raise StorageFault("a file written by this job is gone")

    with monkeypatch.context() as patch:
        patch.setitem(run_task.BODIES, Phase.INDEX, broken)
        task_bench.handle(task)
    assert task_bench.reason() == ("running", None)


def test_a_fault_of_before_a_resume_does_not_suspend_again(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another slot met the same and suspended the job, it was mended and resumed: who says it late has it counted against
    its task, so that one `resume` is enough and a fault that stays still ends in a suspension."""
    task = _to_index(task_bench)

    def late(work: TaskWork) -> TaskResult:
        for change in (
            lambda conn: states.suspend(conn, work.job.id, "full"),
            lambda conn: states.request_resume(conn, work.job.id),
        ):
            with task_bench.database.transaction(durable=True) as conn:
                change(conn)
        raise StorageFault("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setitem(run_task.BODIES, Phase.INDEX, late)
        task_bench.handle(task)
    assert task_bench.reason() == ("running", None)
    assert task_bench.rows("SELECT state, failures FROM task WHERE id = %(t)s", t=task) == [("pending", 1)]


def test_the_first_publication_of_a_shard_is_flushed(task_bench: TaskBench) -> None:
    """A slot goes on with its shard: its row may not be lost in a crash, or phase finalise would take the files away."""
    task = _to_index(task_bench)
    with statements_of(task_bench.slots) as asked:
        task_bench.handle(task)
    assert len([one for one in asked if "synchronous_commit" in one]) == 1


def test_custodians_are_asked_for_once_a_job(task_bench: TaskBench) -> None:
    """A slot that goes from job to job names each one's custodians, and asks anew only then: there may be 100,000."""
    custodians = Custodians()
    task_bench.create()
    with task_bench.database.transaction() as conn:
        assert custodians.of(conn, task_bench.job) == {0: "ann"}
        conn.execute("UPDATE custodian SET display = 'bea'")
        assert custodians.of(conn, task_bench.job) == {0: "ann"}
        assert custodians.of(conn, uuid.uuid4()) == {}
        assert custodians.of(conn, task_bench.job) == {0: "bea"}

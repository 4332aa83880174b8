"""Phase finalise: what no row names goes, what a row names stays."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import Connection
from taskbench import TaskBench
from unpacking import make_zip

from core.operations import MemoryRecorder, Op
from core.records import JobOptions, Layout, Phase
from sql.findings import TaskResult
from sql.items import locations
from worker import run_task
from worker.phases import finalise
from worker.phases.task import TaskWork


def _files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("layout", list(Layout))
def test_leaves_exactly_what_the_database_knows(task_bench: TaskBench, layout: Layout) -> None:
    """Orphans, temporary files, copies in a wrong place and unknown shards are removed; everything else is kept."""
    task_bench.options = JobOptions(layout=layout)
    (task_bench.source / "a.zip").write_bytes(make_zip({f"{n}.txt": b"x%d" % n for n in range(20)}))
    task_bench.create()
    task_bench.until(Phase.FINALISE)
    kept = _files(task_bench.storage_root)
    assert len(kept) > 20
    one = next(p for p in sorted(task_bench.items_folder.rglob("*")) if p.is_file())
    top = one.parent.parent
    (top / "ee").mkdir(exist_ok=True)
    orphan = uuid.uuid4().hex
    for stray in (
        top / "ee" / orphan,
        top / "ee" / f"{orphan}.0123456789ab.tmp",
        top / "ee" / "strange",
        top / "ee" / one.name,  # a row names this item, but not here
        one.with_name(one.name + ".0123456789ab.tmp"),
    ):
        if stray != one:
            stray.write_bytes(b"stray")
    shard = task_bench.value("SELECT id FROM shard")
    (task_bench.shard_folder(shard) / "segment.idx.0123456789ab.tmp").write_bytes(b"half")
    unknown = task_bench.shard_folder(uuid.uuid4())
    unknown.mkdir()
    (unknown / "meta.json").write_bytes(b"{}")
    elsewhere = task_bench.storage_root / "jobs" / "other" / "items" / "ee"
    elsewhere.mkdir(parents=True)
    (elsewhere / orphan).write_bytes(b"another job's")
    if layout is Layout.PER_WORKER:
        other = task_bench.items_folder / "w9" / one.parent.name
        other.mkdir(parents=True)
        (other / one.name).write_bytes(b"of an attempt that was taken over")
    task_bench.drain()
    assert _files(task_bench.storage_root) == kept | {f"jobs/other/items/ee/{orphan}"}
    assert not unknown.exists()
    assert str(task_bench.advance()) == "completed"
    calls = task_bench.context.recorder
    assert isinstance(calls, MemoryRecorder)
    assert any(r.op is Op.FSYNC for r in calls.records)


def test_folders_with_few_files_are_asked_for_together(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However files lie in folders, the ledger is asked once for so many of them, and the last few count as the first."""
    (task_bench.source / "a.zip").write_bytes(make_zip({f"{n}.txt": b"x%d" % n for n in range(20)}))
    task_bench.create()
    task_bench.until(Phase.FINALISE)
    kept = _files(task_bench.storage_root)
    for folder in (b"00", b"7f", b"ff"):
        where = task_bench.items_folder / folder.decode()
        where.mkdir(exist_ok=True)
        (where / uuid.uuid4().hex).write_bytes(b"stray")
    asked: list[int] = []

    def counting(conn: Connection, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, bytes | None]:
        asked.append(len(ids))
        return locations(conn, ids)

    monkeypatch.setattr(finalise, "locations", counting)
    monkeypatch.setattr(finalise, "_ROWS_AT_ONCE", 7)
    task_bench.drain()
    assert _files(task_bench.storage_root) == kept
    assert asked == [7, 7, 7, 2]


def test_a_second_finalise_changes_nothing(task_bench: TaskBench) -> None:
    (task_bench.source / "a.zip").write_bytes(make_zip({"x.txt": b"x"}))
    task_bench.create()
    assert task_bench.run() == "completed"
    kept = _files(task_bench.storage_root)
    task_bench.rows("UPDATE task SET state = 'pending' WHERE phase = 'finalise' RETURNING 1")
    task_bench.rows("UPDATE job SET state = 'running', finished_at = NULL RETURNING 1")
    task_bench.drain()
    assert task_bench.reason()[0] == "running"
    assert _files(task_bench.storage_root) == kept


def test_a_job_that_wrote_nothing(task_bench: TaskBench) -> None:
    (task_bench.source / "a.txt").write_bytes(b"")
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"


@pytest.mark.parametrize("layout", list(Layout))
def test_a_slot_that_comes_too_late_removes_what_it_wrote(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, layout: Layout
) -> None:
    """It was stopped while another did its task and the job ended: what it wrote since has no row, and is its to remove."""
    bench = task_bench
    bench.options = JobOptions(layout=layout, single_pass=True)
    (bench.source / "a.zip").write_bytes(make_zip({f"{n}.txt": b"x%d" % n for n in range(5)}))
    bench.create()
    bench.until(Phase.EXPAND)
    body, kept = run_task.BODIES[Phase.EXPAND], set()

    def late(work: TaskWork) -> TaskResult:
        monkeypatch.undo()
        bench.rows("UPDATE task SET state = 'pending', lease = NULL WHERE id = %(t)s RETURNING 1", t=work.claimed.id)
        other, bench.context = bench.context, bench.slot("w2")
        assert bench.run() == "completed"
        bench.close()
        bench.context = other
        kept.update(_files(bench.storage_root))
        return body(work)

    monkeypatch.setitem(run_task.BODIES, Phase.EXPAND, late)
    (task,) = bench.dispatch()
    bench.handle(task)
    assert len(kept) > 5
    assert _files(bench.storage_root) == kept

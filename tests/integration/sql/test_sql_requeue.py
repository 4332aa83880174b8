"""Exceptions gone over again: in the end the job is as if the files had been good from the beginning."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from taskbench import TaskBench
from zipped import texts_zipped

import sql.requeue
from core.errors import UsageError
from core.records import JobOptions, Phase
from sql import jobs
from sql.jobs import request_resume
from sql.requeue import ROOTS_AT_ONCE, requeue, requeued_files

pytestmark = pytest.mark.services

_SUMS = ("items", "items_indexed", "containers", "exceptions", "raw_bytes", "extracted_bytes")


def _sums(bench: TaskBench) -> dict[str, Any]:
    with bench.database.transaction() as conn:
        look = jobs.progress(conn, bench.job)
    return {key: getattr(look, key) for key in _SUMS}


def _requeue(bench: TaskBench, code: str | None = None) -> int:
    with bench.database.transaction(durable=True) as conn:
        return requeue(conn, bench.job, bench.options, code)


def _resume(bench: TaskBench) -> str:
    with bench.database.transaction(durable=True) as conn:
        request_resume(conn, bench.job)
    return bench.run()


def _make(bench: TaskBench) -> dict[str, bytes]:
    """Two good files and two bad ones; what the bad ones should be."""
    good = {"b.zip": texts_zipped(one=b"first words", two=b"second words"), "c.zip": texts_zipped(three=b"third words")}
    (bench.source / "a.txt").write_bytes(b"plain words")
    (bench.source / "d.zip").write_bytes(texts_zipped(four=b"fourth words"))
    (bench.source / "b.zip").write_bytes(good["b.zip"][:-30])
    (bench.source / "c.zip").write_bytes(b"")
    bench.create()
    assert bench.run() == "completed_with_exceptions"
    return good


@pytest.mark.parametrize(("single_pass", "at_once"), [(False, 1), (True, ROOTS_AT_ONCE)])
def test_mended_files_leave_no_trace_of_their_failure(
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
    assert _requeue(bench) == 2
    assert bench.reason() == ("paused", None)
    before = bench.value("SELECT stopped_at < clock_timestamp() FROM job")
    assert before
    assert _resume(bench) == "completed"
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


def test_what_is_not_mended_fails_again(task_bench: TaskBench) -> None:
    _make(task_bench)
    before, codes = _sums(task_bench), task_bench.codes()
    assert _requeue(task_bench, "zero_bytes") == 1
    assert _resume(task_bench) == "completed_with_exceptions"
    assert (_sums(task_bench), task_bench.codes()) == (before, codes)


def test_the_time_between_counts_for_nothing(task_bench: TaskBench) -> None:
    """A day passes between the end and the requeue: elapsed and the phases' seconds do not grow by it."""
    _make(task_bench)
    day = "- interval '1 day'"
    task_bench.rows(
        f"UPDATE job SET first_claim_at = first_claim_at {day}, finished_at = finished_at {day} RETURNING 1"
    )
    task_bench.rows(f"UPDATE job_phase SET started_at = started_at {day}, finished_at = finished_at {day} RETURNING 1")
    _requeue(task_bench)
    assert _resume(task_bench) == "completed_with_exceptions"
    with task_bench.database.transaction() as conn:
        assert jobs.elapsed(conn, task_bench.job) < 3600
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
    assert _requeue(bench) == 1
    assert _resume(bench) == "completed"
    assert bench.paths() == {"box/a.txt", "gone/b.txt"}


def test_only_a_job_that_completed_with_exceptions_has_any(task_bench: TaskBench) -> None:
    (task_bench.source / "a.txt").symlink_to("nowhere")
    task_bench.create()
    with pytest.raises(UsageError, match="is running"):
        _requeue(task_bench)
    assert task_bench.run() == "completed_with_exceptions"
    with pytest.raises(UsageError, match="no exceptions"):
        _requeue(task_bench)
    with pytest.raises(UsageError, match="is deleted"), task_bench.database.transaction() as conn:
        requeue(conn, uuid.uuid4(), task_bench.options)
    assert task_bench.value("SELECT phase FROM job") == Phase.FINALISE.value

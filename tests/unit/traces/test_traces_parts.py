"""Parts of a trace on their way from scratch to the storage root."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from core.places import job_location
from traces.parts import WorkerParts, deliver_left_behind, done_until, parts_directory, worker_parts
from worker.slots.watch import WorkerScratch

JOB, DELETED = uuid.UUID(int=1), uuid.UUID(int=2)
WORKER = uuid.UUID(int=7)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "storage" / os.fsdecode(job_location(JOB))).mkdir(parents=True)
    return tmp_path


def some_parts(home: Path, job: uuid.UUID = JOB, count: int = 2) -> WorkerParts:
    parts = worker_parts(home / "scratch", WORKER, home / "storage")
    for number in range(count):
        path = parts.new(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"calls %d" % number)
    return parts


def delivered(home: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in parts_directory(home / "storage", JOB).glob("*.calls"))


def test_parts_are_delivered_one_at_a_time(home: Path) -> None:
    parts = some_parts(home)
    assert parts.jobs() == [JOB]
    steps = [parts.deliver_one(JOB) for _ in range(3)]
    assert (steps, delivered(home), parts.jobs()) == ([True, True, False], [b"calls 0", b"calls 1"], [])
    assert done_until(home / "storage", JOB, WORKER) < 0.0
    parts.mark_done(JOB, WORKER, 1234.567891)
    assert done_until(home / "storage", JOB, WORKER) == 1234.567891


def test_parts_of_a_deleted_job_are_dropped(home: Path) -> None:
    parts = some_parts(home, DELETED)
    (home / "storage").rename(home / "away")
    with pytest.raises(FileNotFoundError, match="storage root"):
        parts.deliver_one(DELETED)
    parts.deliver_all()
    assert parts.jobs() == [DELETED]
    (home / "away").rename(home / "storage")
    parts.deliver_all()
    parts.mark_done(DELETED, WORKER, 1.0)
    assert not parts.directory.exists()
    assert not parts_directory(home / "storage", DELETED).parent.exists()


def test_what_a_dead_worker_left_is_delivered_and_what_a_living_one_has_is_not(home: Path) -> None:
    living = WorkerScratch(home / "scratch", WORKER)
    some_parts(home)
    deliver_left_behind(home / "scratch", home / "storage")
    assert delivered(home) == []
    living.close()
    deliver_left_behind(home / "scratch", home / "storage")
    assert delivered(home) == [b"calls 0", b"calls 1"]
    assert list((home / "scratch" / "traces").iterdir()) == []
    deliver_left_behind(home / "none", home / "storage")


def test_what_is_no_job_among_the_parts_is_not_taken_for_one(tmp_path: Path) -> None:
    job = uuid.uuid4()
    for name in (job.hex, "lost+found", "0", f"{job}"):
        (tmp_path / "traces" / name).mkdir(parents=True)
    assert WorkerParts(tmp_path / "traces", tmp_path).jobs() == [job]

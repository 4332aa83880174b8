"""What a slot keeps of its calls, and that nothing of it stands in a call's way."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path

import pytest

from core.operations import MemoryRecorder, Op
from core.records import Phase
from core.storage.layer import Storage
from traces.parts import WorkerParts, worker_parts
from traces.spool import read_spool
from worker.slots import context as tracing
from worker.slots.context import SpoolTracer

JOB, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


class Slot:
    """A slot's storage with its tracer."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = bytes(home / "file")
        (home / "file").write_bytes(b"abc")
        self.recorder = MemoryRecorder()
        self.storage = Storage(self.recorder)
        self.parts: WorkerParts = worker_parts(home / "scratch", uuid.UUID(int=9), home)
        self.tracer = SpoolTracer(self.parts, "w1", 3, self.storage, self.recorder)

    def read(self) -> None:
        with self.storage.open(self.path) as file:
            file.read()

    def kept(self, job: uuid.UUID) -> list[list[tuple[Phase, list[Op]]]]:
        """By part: the phase and the ops of each block."""
        out = []
        for path in sorted((self.parts.directory / job.hex).glob("*"), key=lambda path: path.stat().st_mtime_ns):
            head, blocks = read_spool(path)
            assert (head.job, head.worker, head.slot) == (job, "w1", 3)
            out.append([(Phase(head.phases[b.phase]), [call.op for call in b.calls]) for b in blocks])
        return out


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot(tmp_path)


READ = [Op.OPEN, Op.READ, Op.CLOSE]


def test_calls_are_kept_by_task_and_passed_on(slot: Slot) -> None:
    """Each under its job and phase; those of a job that wants no trace go by untouched."""
    slot.tracer.begin(JOB, Phase.WALK, wanted=True)
    slot.read()
    slot.tracer.begin(OTHER, Phase.EXPAND, wanted=False)
    slot.read()
    slot.tracer.begin(JOB, Phase.INDEX, wanted=True)
    slot.storage.stat(slot.path)
    slot.tracer.flush()
    assert slot.kept(JOB) == [[(Phase.WALK, READ), (Phase.INDEX, [Op.STAT])]]
    assert slot.parts.jobs() == [JOB]
    assert [r.op for r in slot.recorder.records] == [*READ, *READ, Op.STAT]
    slot.tracer.close()


def test_a_call_beside_others_stands_where_it_began(slot: Slot) -> None:
    """It is told when it is over: the trace would have it begin after those that it went on beside."""
    slot.tracer.begin(JOB, Phase.FINALISE, wanted=True)
    with slot.storage.sync_beside(bytes(slot.home)):
        slot.read()
    assert [record.op for record in slot.recorder.records] == [Op.OPEN, *READ, Op.FSYNC, Op.CLOSE]
    slot.tracer.flush()
    assert slot.kept(JOB) == [[(Phase.FINALISE, [Op.OPEN, Op.FSYNC, *READ, Op.CLOSE])]]


def test_many_calls_of_one_task_are_written_between(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, and a slot that dies in a long task loses the last of its calls only."""
    monkeypatch.setattr(tracing, "MOST_HELD", 2)
    slot.tracer.begin(JOB, Phase.WALK, wanted=True)
    slot.read()
    assert slot.kept(JOB) == [[(Phase.WALK, [Op.OPEN, Op.READ])]]


def test_a_job_that_goes_on_after_its_part_was_delivered_gets_another(slot: Slot) -> None:
    """A part that was taken away would be written to in vain."""
    slot.tracer.begin(JOB, Phase.WALK, wanted=True)
    slot.read()
    slot.tracer.flush()
    (part,) = (slot.parts.directory / JOB.hex).iterdir()
    part.unlink()
    slot.tracer.begin(JOB, Phase.INDEX, wanted=True)
    slot.read()
    slot.tracer.flush()
    assert slot.kept(JOB) == [[(Phase.INDEX, READ)]]


def test_parts_of_many_jobs_need_few_descriptors(slot: Slot) -> None:
    """One that was let go of is taken up as another part."""
    jobs = [uuid.UUID(int=100 + n) for n in range(6)]
    for job in (*jobs, jobs[0]):
        slot.tracer.begin(job, Phase.WALK, wanted=True)
        slot.storage.stat(slot.path)
    slot.tracer.flush()
    assert [len(slot.kept(job)) for job in jobs] == [2, 1, 1, 1, 1, 1]


def test_scratch_in_trouble_costs_calls_and_no_job(slot: Slot, caplog: pytest.LogCaptureFixture) -> None:
    """Told once; the storage calls go on."""
    (slot.home / "scratch").write_bytes(b"a file where a directory is needed")
    with caplog.at_level(logging.WARNING):
        for phase in (Phase.WALK, Phase.EXPAND, Phase.INDEX):
            slot.tracer.begin(JOB, phase, wanted=True)
            slot.read()
            slot.tracer.flush()
    assert [r.message for r in caplog.records if "missing from the trace" in r.message] == [caplog.records[0].message]
    assert len(slot.recorder.records) == 9

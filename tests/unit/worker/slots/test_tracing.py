"""What a slot keeps of its calls, and that nothing of it stands in a call's way."""

import dataclasses
import logging
import os
import uuid
from pathlib import Path

import pytest
from recording import MemoryRecorder

from core.operations import Op
from core.records import Phase
from core.storage.layer import Storage
from traces.parts import WorkerParts, read_spool, worker_parts
from worker.slots import context as tracing
from worker.slots.breadcrumb import REPORT_SECONDS, Activity
from worker.slots.context import SpoolTracer
from worker.slots.table import RowWriter, SlotRow, SlotTable, cannot_be_ended, doing, waiting
from worker.slots.watch import QUICK_SECONDS, RowClock, Watched

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
    with slot.storage.begin_sync(bytes(slot.home)):
        slot.read()
    assert [record.op for record in slot.recorder.records] == [Op.OPEN, *READ, Op.FSYNC, Op.CLOSE]
    slot.tracer.flush()
    assert slot.kept(JOB) == [[(Phase.FINALISE, [Op.OPEN, Op.FSYNC, *READ, Op.CLOSE])]]


def test_many_calls_of_one_task_are_written_between(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_HELD", 2)
    slot.tracer.begin(JOB, Phase.WALK, wanted=True)
    slot.read()
    assert slot.kept(JOB) == [[(Phase.WALK, [Op.OPEN, Op.READ])]]


def test_a_job_that_continues_after_its_part_was_delivered_gets_another(slot: Slot) -> None:
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
    jobs = [uuid.UUID(int=100 + n) for n in range(6)]
    for job in (*jobs, jobs[0]):
        slot.tracer.begin(job, Phase.WALK, wanted=True)
        slot.storage.stat(slot.path)
    slot.tracer.flush()
    assert [len(slot.kept(job)) for job in jobs] == [2, 1, 1, 1, 1, 1]


def test_scratch_in_trouble_costs_calls_and_no_job(slot: Slot, caplog: pytest.LogCaptureFixture) -> None:
    (slot.home / "scratch").write_bytes(b"a file where a directory is needed")
    with caplog.at_level(logging.WARNING):
        for phase in (Phase.WALK, Phase.EXPAND, Phase.INDEX):
            slot.tracer.begin(JOB, phase, wanted=True)
            slot.read()
            slot.tracer.flush()
    assert [r.message for r in caplog.records if "missing from the trace" in r.message] == [caplog.records[0].message]
    assert len(slot.recorder.records) == 9


def _row(sequence: int, deadline: float, *, item: bool = True) -> SlotRow:
    reading = uuid.uuid4() if item else None
    return SlotRow(sequence=sequence, pid=1, incarnation=uuid.uuid4(), at=None, item=reading, deadline=deadline)


def test_a_slot_is_overdue_after_its_deadline_and_only_then() -> None:
    clock = RowClock()
    assert not clock.overdue(_row(1, 10.0), 9.0, stopped_for=0.0)
    assert clock.overdue(_row(1, 10.0), 10.1, stopped_for=0.0)
    assert not clock.overdue(_row(2, 0.0, item=False), 10.2, stopped_for=0.0)


def test_time_in_which_the_slot_was_stopped_does_not_count() -> None:
    """Each second stopped moves the deadline; the next item starts without them."""
    clock = RowClock()
    row = _row(1, 10.0)
    clock.overdue(row, 5.0, stopped_for=0.0)
    for second in range(6, 26):
        assert not clock.overdue(row, float(second), stopped_for=1.0)
    assert not clock.overdue(row, 29.9, stopped_for=0.0)
    assert clock.overdue(row, 30.1, stopped_for=0.0)
    assert clock.overdue(_row(2, 30.0), 30.1, stopped_for=0.0)


def test_a_slot_that_keeps_dying_is_started_ever_more_slowly_but_always() -> None:
    watched = Watched(0)
    now = 0.0
    pauses = []
    for pid in range(1, 12):
        watched.begin(pid, now)
        now += 0.1
        watched.end(now)
        pauses.append(round(watched.due - now, 6))
        now = watched.due
    assert pauses[0] == 0
    assert pauses == sorted(pauses)
    assert 1 < pauses[-1] < 60
    watched.begin(99, now)
    watched.end(now + QUICK_SECONDS + 1)
    assert watched.due == now + QUICK_SECONDS + 1


def test_what_lasts_long_is_reported_ever_more_rarely() -> None:
    watched = Watched(0)

    def recorded(since: float) -> list[float]:
        row = dataclasses.replace(_row(1, since + 1_000.0), since=since)
        return [n for n in range(0, 200, 5) if watched.worth_reporting(row, since + n)]

    assert recorded(50.0) == [20, 40, 80, 160]
    assert recorded(500.0) == [20, 40, 80, 160]
    assert not watched.worth_reporting(_row(2, 0.0), 10_000.0)  # it may take as long as it likes


JOB_WAITING = uuid.uuid4()


def _writer(table: SlotTable) -> RowWriter:
    writer = RowWriter(table, 0, os.getpid(), uuid.uuid4(), lambda: 100.0)
    writer.begin_task("db1", JOB_WAITING, uuid.uuid4(), uuid.uuid4(), Phase.WALK)
    return writer


def test_short_things_and_those_without_a_deadline_are_not_reported() -> None:
    table = SlotTable(1, ["db1"])
    writer = _writer(table)
    writer.doing(Activity.LISTING, b"/source/\xff")
    later = 100.0 + REPORT_SECONDS
    assert waiting(3, table.read(0), later - 1) is None
    shown = f"slot 3 (process {os.getpid()}) has been listing /source/\\xff for {REPORT_SECONDS:.0f} s"
    assert waiting(3, table.read(0), later) == {"job": str(JOB_WAITING), "text": shown}


def test_an_item_is_named_and_so_are_kernel_and_mount() -> None:
    """One line that says slot, process, what, since when, where in the kernel, on which mount, and what to do."""
    table = SlotTable(1, ["db1"])
    writer = _writer(table)
    item = uuid.uuid4()
    writer.enter(item, 60.0)
    assert f"has been reading item {item} for 30 s" in doing(0, table.read(0), 130.0)
    writer.doing(Activity.LOOKING, b"/proc/self")
    line = cannot_be_ended("w1", 0, table.read(0), 700.0)
    assert line.startswith(
        f"worker w1: slot 0 (process {os.getpid()}) has been reading the attributes of /proc/self for 600 s"
    )
    assert "cannot be killed (state R" in line
    assert "; /proc is " in line
    assert line.endswith("repair that storage, then resume the job")
    assert "\n" not in line

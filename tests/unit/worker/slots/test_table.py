"""The slot table: rows are whole for whoever reads them, and regions are apart."""

import dataclasses
import itertools
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StorageFault
from core.operations import Op
from core.records import Phase
from monitoring.live import LiveRecorder, RegionReader
from readers.errors import ExceptionCode
from worker.slots.breadcrumb import DETAIL_BYTES, Activity, patience
from worker.slots.slot import EXIT_BROKEN, EXIT_MEMORY
from worker.slots.table import RowWriter, SlotRow, SlotTable, TaskAt
from worker.slots.watch import Circumstances, WorkerScratch, judge

_DATABASES = ["db1", "db2"]
_STEPS = st.one_of(
    st.tuples(
        st.just("begin"),
        st.sampled_from(_DATABASES),
        st.uuids(),
        st.uuids(),
        st.integers(1, 2**128 - 1).map(lambda n: uuid.UUID(int=n)),  # a claim token is never 0
        st.sampled_from(list(Phase)),
    ),
    st.tuples(st.just("enter"), st.uuids(), st.floats(0, 1e6)),
    st.tuples(st.just("leave")),
    st.tuples(
        st.just("doing"), st.sampled_from(list(Activity)), st.binary(max_size=400).filter(lambda b: b"\0" not in b)
    ),
    st.tuples(st.just("alive")),
    st.tuples(st.just("end")),
)


@given(st.lists(st.tuples(st.integers(0, 2), _STEPS), max_size=30))
def test_rows_say_what_was_written_last(steps: list[tuple[int, tuple[object, ...]]]) -> None:
    table = SlotTable(3, _DATABASES)
    incarnations = [uuid.uuid4() for _ in range(3)]
    writers = [RowWriter(table, n, 100 + n, incarnations[n], lambda: 1_000.0, 50.0) for n in range(3)]
    for writer in writers:
        writer.publish()
    idle = {"item": None, "deadline": 0.0, "activity": Activity.IDLE, "detail": b""}
    expected: list[dict[str, object]] = [{"at": None} | idle for _ in range(3)]
    for slot, (name, *arguments) in steps:
        writer, row = writers[slot], expected[slot]
        before = table.read(slot).sequence
        if name == "begin":
            writer.begin_task(*arguments)  # type: ignore[arg-type]
            row.update(idle, at=tuple(arguments), activity=Activity.WORKING, deadline=1_050.0)
        elif name == "enter":
            writer.enter(*arguments)  # type: ignore[arg-type]
            deadline = 1_000.0 + arguments[1]  # type: ignore[operator]
            row.update(item=arguments[0], deadline=deadline, activity=Activity.READING, detail=b"")
        elif name == "leave":
            writer.leave()
            row.update(idle, activity=Activity.WORKING, deadline=1_050.0)
        elif name == "doing":
            activity, detail = arguments
            writer.doing(activity, detail)  # type: ignore[arg-type]
            lasts = patience(activity, 50.0)  # type: ignore[arg-type]
            row.update(idle, activity=activity, detail=detail[:DETAIL_BYTES])  # type: ignore[index]
            row["deadline"] = 1_000.0 + lasts if lasts else 0.0
        elif name == "alive":
            if row["item"] is not None:
                continue
            writer.alive()
        else:
            writer.end_task()
            row.update(idle, at=None)
        assert table.read(slot).sequence == before + 1
    for slot, seen in enumerate(table.read_all()):
        at = seen.at
        assert (seen.pid, seen.incarnation) == (100 + slot, incarnations[slot])
        assert (at and (at.database, at.job, at.task, at.token, at.phase)) == expected[slot]["at"]
        assert (seen.item, seen.deadline) == (expected[slot]["item"], expected[slot]["deadline"])
        assert (seen.activity, seen.detail) == (expected[slot]["activity"], expected[slot]["detail"])


def _scribble(table: SlotTable, rows: int | None) -> None:
    """As fast as possible, so many rows (None: for ever) whose fields all follow from one number."""
    writer = RowWriter(table, 0, os.getpid(), uuid.UUID(int=0), monotonic=lambda: 0.0)
    for n in itertools.count(1) if rows is None else range(1, rows + 1):
        writer.begin_task("db1", uuid.UUID(int=n), uuid.UUID(int=n), uuid.UUID(int=n), Phase.WALK)
        writer.enter(uuid.UUID(int=n), float(n))


def test_a_row_is_whole_at_every_step_of_its_writer() -> None:
    table = SlotTable(1, _DATABASES)
    seen = []

    def look(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        frame.f_trace_opcodes = True
        row = table.read(0)
        if row.at is not None:
            _consistent(row)
        seen.append(row.sequence)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        _scribble(table, 20)
    finally:
        sys.settrace(before)
    assert seen == sorted(seen)
    assert len(set(seen)) > 2 * 20
    assert len(seen) > 40 * len(set(seen))


def test_no_reader_sees_a_torn_row_and_a_killed_writer_leaves_a_whole_one() -> None:
    for _ in range(5):
        table = SlotTable(1, _DATABASES)
        pid = os.fork()
        if not pid:
            _scribble(table, None)
        try:
            seen: set[int] = set()
            end = time.monotonic() + 300
            while len(seen) < 20:  # each may cost a change of process, where both share a busy processor
                assert time.monotonic() < end
                row = table.read(0)
                if row.at is not None and row.sequence not in seen:
                    _consistent(row)
                    seen.add(row.sequence)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        _consistent(table.read(0))


def _consistent(row: object) -> None:
    n = row.at.task.int  # type: ignore[attr-defined]
    assert row.at.job.int == row.at.token.int == n  # type: ignore[attr-defined]
    if row.item is not None:  # type: ignore[attr-defined]
        assert row.activity is Activity.READING  # type: ignore[attr-defined]
        assert row.item.int == n  # type: ignore[attr-defined]
        assert row.deadline == float(n)  # type: ignore[attr-defined]


def test_a_cleared_row_states_nothing_and_the_next_slot_continues_from_it() -> None:
    table = SlotTable(1, _DATABASES)
    writer = RowWriter(table, 0, 7, uuid.uuid4())
    writer.begin_task("db2", uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), Phase.INDEX)
    died_at = table.read(0).sequence
    table.clear(0)
    row = table.read(0)
    assert (row.pid, row.at, row.item) == (0, None, None)
    RowWriter(table, 0, 8, uuid.uuid4()).publish()
    assert table.read(0).sequence == died_at + 2


def test_an_unknown_database_is_refused() -> None:
    writer = RowWriter(SlotTable(1, _DATABASES), 0, 7, uuid.uuid4())
    with pytest.raises(ValueError, match="not in"):
        writer.begin_task("db3", uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), Phase.INDEX)


def test_regions_belong_to_one_slot_each() -> None:
    table = SlotTable(2, _DATABASES)
    recorder = LiveRecorder(table.region(1))
    job = uuid.uuid4()
    recorder.select(job, Phase.EXPAND)
    recorder.record(Op.READ, 0, 2_000, 10, b"/f", 0)
    assert RegionReader(table.region(0)).collect() == []
    (delta,) = RegionReader(table.region(1)).collect()
    assert (delta.job, delta.calls, delta.bytes) == (job, 1, 10)
    assert [row.pid for row in table.read_all()] == [0, 0]


def test_progress_moves_the_deadline_but_not_the_beginning() -> None:
    """`since` says how long the whole of it has lasted, whatever signs of life there were."""
    now = [100.0]
    table = SlotTable(1, _DATABASES)
    writer = RowWriter(table, 0, 7, uuid.uuid4(), lambda: now[0], 10.0)
    writer.doing(Activity.LISTING, b"/source")
    now[0] = 105.0
    writer.alive()
    row = table.read(0)
    assert (row.activity, row.detail, row.since, row.deadline) == (Activity.LISTING, b"/source", 100.0, 115.0)


def test_a_slot_that_was_given_up_is_known_by_its_process() -> None:
    table = SlotTable(2, _DATABASES)
    for slot in (0, 1):
        RowWriter(table, slot, 7 + slot, uuid.uuid4()).publish()
    table.give_up(1, 8)
    assert [row.given_up for row in table.read_all()] == [False, True]
    table.clear(1)
    RowWriter(table, 1, 9, uuid.uuid4()).publish()
    assert [row.given_up for row in table.read_all()] == [False, False]


_ITEM = uuid.uuid4()
_AT = TaskAt(database="db1", job=uuid.uuid4(), task=uuid.uuid4(), token=uuid.uuid4(), phase=Phase.EXPAND)
_ALONE = Circumstances()


def _row(*, at: TaskAt | None = _AT, item: uuid.UUID | None = _ITEM) -> SlotRow:
    return SlotRow(sequence=1, pid=1, incarnation=uuid.uuid4(), at=at, item=item, deadline=0.0)


def _exit(status: int) -> int:
    return status << 8


@pytest.mark.parametrize(
    ("status", "how", "cause"),
    [
        (signal.SIGSEGV, _ALONE, ExceptionCode.KILLED_PARSER),
        (signal.SIGABRT, _ALONE, ExceptionCode.KILLED_PARSER),
        (signal.SIGABRT, Circumstances(asked=True), ExceptionCode.KILLED_PARSER),
        (signal.SIGKILL, Circumstances(out_of_memory=True), ExceptionCode.MEMORY),
        (signal.SIGKILL, Circumstances(overdue=True), ExceptionCode.TIMEOUT),
        (_exit(EXIT_MEMORY), _ALONE, ExceptionCode.MEMORY),
        (_exit(EXIT_BROKEN), _ALONE, ExceptionCode.KILLED_PARSER),
        (_exit(0), _ALONE, ExceptionCode.KILLED_PARSER),
    ],
)
def test_a_death_while_reading_convicts_the_item(status: int, how: Circumstances, cause: ExceptionCode) -> None:
    report = judge(_row(), status, how)
    assert (report.at, report.item, report.cause, report.failed) == (_AT, _ITEM, cause, False)


@pytest.mark.parametrize(
    ("status", "how"),
    [
        (signal.SIGTERM, _ALONE),
        (signal.SIGINT, _ALONE),
        (signal.SIGHUP, _ALONE),
        (signal.SIGKILL, Circumstances(asked=True, killed=True)),
        (_exit(0), Circumstances(asked=True)),
    ],
)
def test_a_stop_convicts_no_item(status: int, how: Circumstances) -> None:
    report = judge(_row(), status, how)
    assert (report.item, report.failed) == (None, False)


@pytest.mark.parametrize(
    ("status", "failed"), [(signal.SIGSEGV, True), (_exit(EXIT_BROKEN), True), (signal.SIGKILL, True)]
)
def test_a_crash_between_items_is_charged_to_the_task(status: int, failed: bool) -> None:
    report = judge(_row(item=None), status, _ALONE)
    assert (report.item, report.failed) == (None, failed)


def test_a_kill_from_outside_convicts_no_item() -> None:
    """SIGKILL that is neither the deadline nor the kernel's is somebody's doing, not the item's."""
    report = judge(_row(), signal.SIGKILL, _ALONE)
    assert (report.item, report.failed) == (None, True)


def test_an_idle_slot_has_nothing_to_report() -> None:
    assert judge(_row(at=None, item=None), signal.SIGSEGV, _ALONE) is None


def test_a_slot_that_hung_outside_an_item_is_charged_to_its_task_with_what_it_did() -> None:
    row = dataclasses.replace(_row(item=None), activity=Activity.LISTING, detail=b"/mnt/x")
    report = judge(row, signal.SIGKILL, Circumstances(overdue=True))
    assert (report.item, report.failed, report.suspend) == (None, True, False)
    assert report.detail == "still listing /mnt/x at its deadline"


def test_only_directories_without_an_owner_are_removed(tmp_path: Path) -> None:
    alive = WorkerScratch(tmp_path, uuid.uuid4())
    alive.make(0, uuid.uuid4())
    dead = tmp_path / "workers" / "dead"
    (dead / "slot-0-x").mkdir(parents=True)
    (dead / "slot-0-x" / "segment").write_bytes(b"x")
    mine = WorkerScratch(tmp_path, uuid.uuid4())
    mine.remove_stale()
    assert set((tmp_path / "workers").iterdir()) == {alive.directory, mine.directory}
    mine.close()
    assert set((tmp_path / "workers").iterdir()) == {alive.directory}


def test_scratch_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "workers").write_bytes(b"")
    with pytest.raises(StorageFault, match="EDBENCH_SCRATCH"):
        WorkerScratch(tmp_path, uuid.uuid4())

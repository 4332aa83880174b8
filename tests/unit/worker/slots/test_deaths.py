"""Who is to blame for a slot's death (design §3.8)."""

from __future__ import annotations

import dataclasses
import signal
import uuid

import pytest

from core.records import Phase
from readers.errors import ExceptionCode
from worker.slots.breadcrumb import Activity
from worker.slots.slot import EXIT_BROKEN, EXIT_MEMORY
from worker.slots.table import SlotRow, TaskAt
from worker.slots.watch import Circumstances, judge

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
    assert report is not None
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
def test_a_stop_convicts_nobody(status: int, how: Circumstances) -> None:
    report = judge(_row(), status, how)
    assert report is not None
    assert (report.item, report.failed) == (None, False)


@pytest.mark.parametrize(
    ("status", "failed"), [(signal.SIGSEGV, True), (_exit(EXIT_BROKEN), True), (signal.SIGKILL, True)]
)
def test_a_crash_between_items_is_charged_to_the_task(status: int, failed: bool) -> None:
    report = judge(_row(item=None), status, _ALONE)
    assert report is not None
    assert (report.item, report.failed) == (None, failed)


def test_a_kill_from_outside_convicts_nobody() -> None:
    """SIGKILL that is neither the deadline nor the kernel's is somebody's doing, not the item's."""
    report = judge(_row(), signal.SIGKILL, _ALONE)
    assert report is not None
    assert (report.item, report.failed) == (None, True)


def test_an_idle_slot_has_nothing_to_report() -> None:
    assert judge(_row(at=None, item=None), signal.SIGSEGV, _ALONE) is None


def test_a_slot_that_hung_outside_an_item_is_charged_to_its_task_with_what_it_did() -> None:
    row = dataclasses.replace(_row(item=None), activity=Activity.LISTING, detail=b"/mnt/x")
    report = judge(row, signal.SIGKILL, Circumstances(overdue=True))
    assert report is not None
    assert (report.item, report.failed, report.suspend) == (None, True, False)
    assert report.detail == "still listing /mnt/x at its deadline"

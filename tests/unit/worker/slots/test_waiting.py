"""What is said of a slot that has been at one thing for long."""

from __future__ import annotations

import os
import uuid

from core.records import Phase
from worker.slots.breadcrumb import TELL_SECONDS, Activity
from worker.slots.table import RowWriter, SlotTable, cannot_be_ended, doing, waiting

JOB = uuid.uuid4()


def _writer(table: SlotTable) -> RowWriter:
    writer = RowWriter(table, 0, os.getpid(), uuid.uuid4(), lambda: 100.0)
    writer.begin_task("db1", JOB, uuid.uuid4(), uuid.uuid4(), Phase.WALK)
    return writer


def test_short_things_and_those_without_a_deadline_are_not_said() -> None:
    table = SlotTable(1, ["db1"])
    writer = _writer(table)
    writer.doing(Activity.LISTING, b"/source/\xff")
    later = 100.0 + TELL_SECONDS
    assert waiting(3, table.read(0), later - 1) is None
    said = f"slot 3 (process {os.getpid()}) has been listing /source/\\xff for {TELL_SECONDS:.0f} s"
    assert waiting(3, table.read(0), later) == {"job": str(JOB), "text": said}
    writer.doing(Activity.REPLAYING)
    assert waiting(3, table.read(0), later) is None


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

"""Deadlines and pauses of one slot."""

from __future__ import annotations

import dataclasses
import uuid

from worker.slots.table import SlotRow
from worker.slots.watch import QUICK_SECONDS, RowClock, Watched


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


def test_what_lasts_long_is_told_ever_more_rarely() -> None:
    watched = Watched(0)

    def told(since: float) -> list[float]:
        row = dataclasses.replace(_row(1, since + 1_000.0), since=since)
        return [n for n in range(0, 200, 5) if watched.worth_telling(row, since + n)]

    assert told(50.0) == [20, 40, 80, 160]
    assert told(500.0) == [20, 40, 80, 160]
    assert not watched.worth_telling(_row(2, 0.0), 10_000.0)  # it may take as long as it likes

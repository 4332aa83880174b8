"""One slot as its supervisor sees it: its process, its item's deadline, its deaths so far."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path

from worker.slot_table import SlotRow

QUICK_SECONDS = 1.0  # a slot that lives no longer than this has not got anywhere
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)  # before the next fork, after so many quick deaths in a row


@dataclass(slots=True)
class ItemClock:
    """How long the slot has been at its present item, not counting the time it was stopped."""

    sequence: int = -1
    stopped: float = 0.0

    def overdue(self, row: SlotRow, now: float, *, stopped_for: float) -> bool:
        """Whether the deadline has passed at monotonic `now`; `stopped_for`: seconds since the last look to forgive."""
        if row.sequence != self.sequence:
            self.sequence = row.sequence
            self.stopped = 0.0
        else:
            self.stopped += stopped_for
        return row.item is not None and now > row.deadline + self.stopped


@dataclass(slots=True)
class Watched:
    """One slot number: the process that has it now, or when the next one is due."""

    slot: int
    pid: int = 0  # 0: none now
    incarnation: uuid.UUID = field(default_factory=uuid.uuid4)
    scratch: Path = Path()
    started: float = 0.0
    due: float = 0.0  # when pid is 0: fork at this time
    quick_deaths: int = 0
    asked: bool = False  # got SIGTERM from us
    killed: bool = False  # got SIGKILL from us at the end of the grace
    overdue: bool = False  # got SIGKILL from us at its item's deadline
    clock: ItemClock = field(default_factory=ItemClock)

    def begin(self, pid: int, now: float) -> None:
        """A new process has the number."""
        self.pid = pid
        self.started = now
        self.asked = self.killed = self.overdue = False
        self.clock = ItemClock()

    def end(self, now: float) -> None:
        """The process is gone; the next one is due at once unless they keep dying."""
        quick = now - self.started < QUICK_SECONDS
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        self.pid = 0
        self.due = now + _PAUSES[min(max(0, self.quick_deaths - 1), len(_PAUSES) - 1)]

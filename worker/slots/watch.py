"""One slot as its supervisor sees it: its process, the deadline of what it does, its deaths so far."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path

from worker.slots.activity import TELL_SECONDS
from worker.slots.table import SlotRow

QUICK_SECONDS = 1.0  # a slot that lives no longer than this has not got anywhere
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)  # before the next fork, after so many quick deaths in a row


@dataclass(slots=True)
class RowClock:
    """How long the slot has been at what its row says, not counting the time it was stopped."""

    sequence: int = -1
    stopped: float = 0.0

    def overdue(self, row: SlotRow, now: float, *, stopped_for: float) -> bool:
        """Whether the deadline has passed at monotonic `now`; `stopped_for`: seconds since the last look to forgive."""
        if row.sequence != self.sequence:
            self.sequence = row.sequence
            self.stopped = 0.0
        else:
            self.stopped += stopped_for
        return row.deadline > 0 and now > row.deadline + self.stopped


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
    overdue: bool = False  # got SIGKILL from us at the deadline of what it did
    killed_at: float = 0.0  # when it got either
    given_up: bool = False  # and did not end
    say_after: float = TELL_SECONDS  # that it is to be at one thing before that is said the next time
    clock: RowClock = field(default_factory=RowClock)

    def begin(self, pid: int, now: float) -> None:
        """A new process has the number."""
        self.pid = pid
        self.started = now
        self.asked = self.killed = self.overdue = self.given_up = False
        self.say_after = TELL_SECONDS
        self.clock = RowClock()

    def worth_telling(self, row: SlotRow, now: float) -> bool:
        """Whether it has been at one thing for so long that it is to be said; after that, each time it has been twice
        as long."""
        lasts = now - row.since if row.deadline > 0 else 0.0
        if lasts < TELL_SECONDS:
            self.say_after = TELL_SECONDS
        if lasts < self.say_after:
            return False
        self.say_after *= 2
        return True

    def end(self, now: float) -> None:
        """The process is gone; the next one is due at once unless they keep dying."""
        quick = now - self.started < QUICK_SECONDS
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        self.pid = 0
        self.due = now + _PAUSES[min(max(0, self.quick_deaths - 1), len(_PAUSES) - 1)]

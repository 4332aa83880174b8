"""What a slot leaves behind should it die."""

from __future__ import annotations

import uuid
from typing import Protocol

from core.records import Phase
from worker.slots.activity import Activity


class Breadcrumb(Protocol):
    """What a slot leaves in its row of the slot table, so that its death can be attributed (design §3.8)."""

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        """The slot has claimed this task; its supervisor renews the lease from now on."""

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        """The slot is about to read `item` and must say something again within `seconds`."""

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        """From now on, until the next one or the end of the task, the slot works on this loose file (None: on none) and
        what lies in it, of which it has taken out so many items: whatever it dies of there is charged to the loose file.
        `enter` or `leave` makes it known."""

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        """The item entered next lies directly in `parent` (None: it is the loose file), and so many items were taken
        out of the loose file."""

    def leave(self) -> None:
        """The slot reads no item now; dying here convicts nobody."""

    def doing(self, activity: Activity, detail: bytes = b"") -> None:
        """The slot reads no item now but does this, to a path perhaps; it must say something again in a while."""

    def alive(self) -> None:
        """It is still doing that, and has come on; not while it reads an item."""

    def end_task(self) -> None:
        """The task is over for this slot, finished or given back."""


class NoBreadcrumb:
    """Leaves no trace; for tools that have a supervisor of another kind (`inspect`)."""

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        return None

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        return None

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        return None

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        return None

    def leave(self) -> None:
        return None

    def doing(self, activity: Activity, detail: bytes = b"") -> None:
        return None

    def alive(self) -> None:
        return None

    def end_task(self) -> None:
        return None

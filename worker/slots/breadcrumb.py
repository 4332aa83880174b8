"""What a slot leaves behind should it die."""

from __future__ import annotations

import enum
import uuid
from typing import Protocol

from core.names import display_name
from core.records import Phase

TELL_SECONDS = 20.0  # what lasts longer is reported, in the log and by `edbench job show`
DETAIL_BYTES = 160  # of a path that fit into a slot's row


class Activity(enum.IntEnum):
    """The numbers are only those of one worker's memory."""

    IDLE = 0
    CLAIMING = 1
    LOOKING = 2
    LISTING = 3
    STATTING = 4
    READING = 5
    WORKING = 6
    PUBLISHING = 7
    SYNCING = 8
    REMOVING = 9
    COMMITTING = 10
    FETCHING = 12
    COPYING = 13
    REPORTING = 14
    WRITING = 15
    RENDERING = 16


_WORDS = {
    Activity.IDLE: "waiting for a task",
    Activity.CLAIMING: "claiming a task in the database",
    Activity.LOOKING: "reading the attributes of {}",
    Activity.LISTING: "listing {}",
    Activity.STATTING: "reading the attributes of the files in {}",
    Activity.READING: "reading item {}",
    Activity.WORKING: "working between two items",
    Activity.PUBLISHING: "publishing index files to {}",
    Activity.SYNCING: "syncing {} to stable storage",
    Activity.REMOVING: "removing files in {}",
    Activity.COMMITTING: "writing its findings to the database",
    Activity.FETCHING: "fetching the index shard {}",
    Activity.COPYING: "copying item {}",
    Activity.REPORTING: "writing the load files to {}",
    Activity.WRITING: "writing texts to {}",
    Activity.RENDERING: "rendering documents with LibreOffice",
}
_PATIENCE = {
    Activity.IDLE: 0.0,
    Activity.SYNCING: 6.0,  # one call may have to write all that a large cache holds
}


def patience(activity: Activity, seconds: float) -> float:
    """How long it may continue without a sign, where a slot's setting is `seconds`; 0: for ever."""
    return _PATIENCE.get(activity, 1.0) * seconds


def words(activity: Activity, detail: bytes) -> str:
    """For people, after "slot 2 has been"."""
    shown = display_name(detail)
    return _WORDS[activity].format(shown + "…" if len(detail) >= DETAIL_BYTES else shown)


class Breadcrumb(Protocol):
    """What a slot leaves in its row of the slot table, so that its death can be attributed (design §3.8)."""

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        """The slot has claimed this task; its supervisor renews the lease from now on."""

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        """The slot is about to read `item` and must say something again within `seconds`."""

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        """From now on, until the next one or the end of the task, the slot works on this loose file (None: on none) and
        its contents, of which it has taken out so many items: any death there is charged to the loose file. `enter` or
        `leave` makes it known."""

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        """The item entered next is directly in `parent` (None: it is the loose file), and so many items were taken out
        of the loose file."""

    def leave(self) -> None:
        """The slot reads no item now; a death here convicts none."""

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

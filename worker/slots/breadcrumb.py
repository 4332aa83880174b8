"""Breadcrumb: the record that a slot leaves for the case of its death."""

from __future__ import annotations

import enum
import uuid

from core.names import display_name
from core.records import Phase

REPORT_SECONDS = 20.0  # what lasts longer is reported, in the log and by `edbench job show`
DETAIL_BYTES = 160  # of a path that fit into a slot's row


class Activity(enum.IntEnum):
    """Activity of a slot. The numbers are only those of one worker's memory."""

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
    """Return how many seconds an activity may last without a sign, if a slot's setting is `seconds`; 0: for ever."""
    return _PATIENCE.get(activity, 1.0) * seconds


def words(activity: Activity, detail: bytes) -> str:
    """Describe an activity, to follow "slot 2 has been"."""
    shown = display_name(detail)
    return _WORDS[activity].format(shown + "…" if len(detail) >= DETAIL_BYTES else shown)


class Breadcrumb:
    """Leaves no trace; a slot's own (`worker.slots.table.RowWriter`) records all in its row of the slot table, so that its
    death can be attributed (design §3.8)."""

    __slots__ = ()

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        """Note that the slot has claimed this task; its supervisor renews the lease from now on."""

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        """Note that the slot is about to read `item` and must give another sign within `seconds`."""

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        """Note that the slot works on this loose file (None: on none) and its contents, until the next call or the end
        of the task, and has taken `taken` items out of it: any death there is charged to the loose file. `enter` or
        `leave` publishes it."""

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        """Note that the item entered next is directly in `parent` (None: it is the loose file), and that `taken` items
        were taken out of the loose file."""

    def leave(self) -> None:
        """Note that the slot reads no item now; a death here convicts none."""

    def doing(self, activity: Activity, detail: bytes = b"") -> None:
        """Note that the slot reads no item but does this, to a path perhaps; it must give another sign in a while."""

    def alive(self) -> None:
        """Note that the slot is making progress with the same activity; not while it reads an item."""

    def end_task(self) -> None:
        """Note that the task is over for this slot, finished or given back."""

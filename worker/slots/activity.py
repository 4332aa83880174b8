"""What a slot is doing when it reads no item, and how long that may take before somebody has to be told."""

from __future__ import annotations

import enum

from core.names import display_name

TELL_SECONDS = 20.0  # what lasts longer is said, in the log and by `edbench job show`
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
    REPLAYING = 11
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
    Activity.REPLAYING: "replaying calls",
    Activity.FETCHING: "fetching the index shard {}",
    Activity.COPYING: "copying item {}",
    Activity.REPORTING: "writing the load files to {}",
    Activity.WRITING: "writing texts to {}",
    Activity.RENDERING: "rendering documents with LibreOffice",
}
_PATIENCE = {
    Activity.IDLE: 0.0,
    Activity.SYNCING: 6.0,  # one call may have to write all that a large cache holds
    Activity.REPLAYING: 0.0,  # its pauses are those of the trace, and each of its clients waits for the others
}


def patience(activity: Activity, seconds: float) -> float:
    """How long it may go on without a sign, where a slot's setting is `seconds`; 0: for ever."""
    return _PATIENCE.get(activity, 1.0) * seconds


def words(activity: Activity, detail: bytes) -> str:
    """For people, after "slot 2 has been"."""
    shown = display_name(detail)
    return _WORDS[activity].format(shown + "…" if len(detail) >= DETAIL_BYTES else shown)

"""What appointments, meetings and tasks of Outlook say in properties ([MS-OXOCAL] 2.2.1, [MS-OXOTASK] 2.2.2): metadata of the item, for
no field of a mail message stands for them, and its bytes and hash are those of the message without."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from readers import clean
from readers.outlook.mapi import named
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.properties import Properties

FIELD_KEYS = ("location", "start", "end", "task_owner", "task_state")
LEFT_OF_FIELDS = (
    "members of distribution lists; journal entries' and notes' own fields; children, hobbies and accounts of contacts"
)
_FIRST, _LAST = -11_644_473_600, 79_000_000_000  # of 1601 to 4473: a day in 4501 stands for none
_TASK = "ipm.task"
_STATES = ("not started", "in progress", "complete", "waiting on someone else", "deferred")


def noted(own: Properties) -> dict[str, str]:
    """Place, beginning and end of an appointment; of a task when it begins and is due, whose it is and how far it is."""
    return dict(clean.values(_pairs(own))) if named.has_fields(own.text(mapi.MESSAGE_CLASS)) else {}


def _pairs(own: Properties) -> Iterator[tuple[str, str | None]]:
    if not (own.text(mapi.MESSAGE_CLASS) or "").lower().startswith(_TASK):  # Outlook gives others a state of theirs too
        yield "location", own.text(named.LOCATION) or own.text(named.WHERE)
        yield "start", iso(own, named.BEGINS)
        yield "end", iso(own, named.ENDS)
        return
    yield "start", iso(own, named.TASK_BEGINS)
    yield "end", iso(own, named.TASK_DUE)
    yield "task_owner", own.text(named.TASK_OWNER)
    state = own.number(named.TASK_STATUS)
    yield "task_state", _STATES[state] if state is not None and 0 <= state < len(_STATES) else None


def iso(own: Properties, ident: int) -> str | None:
    """A time in UTC; None where there is none, which Outlook notes as a day in the year 4501."""
    seconds = own.time(ident)
    if seconds is None or not _FIRST <= seconds < _LAST:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

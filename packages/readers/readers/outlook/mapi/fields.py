"""Properties of Outlook's appointments, meetings and tasks ([MS-OXOCAL] 2.2.1, [MS-OXOTASK] 2.2.2) as metadata of the
item: a mail message has no fields for them, so its bytes and hash do not depend on them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from readers import clean
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.properties import Properties

# Properties that have names ([MS-OXPROPS] 1.3.2): their ids differ from store to store, so they get ids of ours,
# which are larger than any that a file has.

NAMED: Final = 0x8000  # the first id of a property that has a name
OURS: Final = 0x10000  # the first of our ids
_APPOINTMENT, _TASK, _ADDRESS, _MEETING = 0x10000, 0x20000, 0x30000, 0x40000
LOCATION, BEGINS, ENDS, WHERE = _APPOINTMENT | 0x8208, _APPOINTMENT | 0x820D, _APPOINTMENT | 0x820E, _MEETING | 0x0002
TASK_STATUS, TASK_BEGINS, TASK_DUE, TASK_OWNER = _TASK | 0x8101, _TASK | 0x8104, _TASK | 0x8105, _TASK | 0x811F
HOME_ADDRESS, WORK_ADDRESS, OTHER_ADDRESS = _ADDRESS | 0x801A, _ADDRESS | 0x801B, _ADDRESS | 0x801C
BIRTHDAY, ANNIVERSARY = _ADDRESS | 0x80DE, _ADDRESS | 0x80DF

_OF_OUTLOOK = "-0000-0000-c000-000000000046"
_SETS = {
    "00062002" + _OF_OUTLOOK: _APPOINTMENT,
    "00062003" + _OF_OUTLOOK: _TASK,
    "00062004" + _OF_OUTLOOK: _ADDRESS,
    "6ed8da90-450b-101b-98da-00aa003f1305": _MEETING,
}
_KNOWN = frozenset(
    (
        *(LOCATION, BEGINS, ENDS, WHERE, TASK_STATUS, TASK_BEGINS, TASK_DUE, TASK_OWNER),
        *(HOME_ADDRESS, WORK_ADDRESS, OTHER_ADDRESS, BIRTHDAY, ANNIVERSARY),
    )
)
_NAME = struct.Struct("<IHH")  # number or place of the name, its set and whether it is a string, position among all
_GUID = struct.Struct("<IHH8s")
_FIRST_SET = 3  # smaller numbers are not in the list of sets
# The last is the class of meetings in winmail.dat ([MS-OXTNEF] 2.1.3.3.1).
_CLASSES = ("ipm.contact", "ipm.appointment", "ipm.schedule.meeting", "ipm.task", "ipm.microsoft schedule.mtg")


def has_fields(message_class: str | None) -> bool:
    """Return whether items of this class have properties for which mail messages have no fields."""
    return (message_class or "").lower().startswith(_CLASSES)


def our_id(guid: bytes, number: int) -> int:
    """Return our id of a property in a set; 0 if it is not needed."""
    if len(guid) != _GUID.size:
        return 0
    a, b, c, rest = _GUID.unpack(guid)
    found = _SETS.get(f"{a:08x}-{b:04x}-{c:04x}-{rest[:2].hex()}-{rest[2:].hex()}", 0)
    ours = found | number
    return ours if found and ours in _KNOWN else 0


def our_ids(guids: bytes, names: bytes) -> dict[int, int]:
    """Return our ids by a file's, from its sets and names ([MS-OXMSG] 2.2.3.1, [MS-PST] 2.4.7)."""
    out: dict[int, int] = {}
    for number, kind, position in _NAME.iter_unpack(names[: len(names) // _NAME.size * _NAME.size]):
        at = ((kind >> 1) - _FIRST_SET) * _GUID.size
        if not kind & 1 and at >= 0 and (ours := our_id(guids[at : at + _GUID.size], number)):
            out[NAMED + position] = ours
    return out


def rename(own: Properties, ids: dict[int, int]) -> None:
    """Add the named properties under our ids."""
    own.values |= {ours: own.values[theirs] for theirs, ours in ids.items() if theirs in own.values}


FIELD_KEYS = ("location", "start", "end", "task_owner", "task_state")
LEFT_OF_FIELDS = (
    "linked attachments; members of distribution lists; fields specific to journal entries and notes; children, hobbies "
    "and accounts of contacts"
)
_FIRST, _LAST = -11_644_473_600, 79_000_000_000  # of 1601 to 4473: a day in 4501 means none
_TASK_CLASS = "ipm.task"
_STATES = ("not started", "in progress", "complete", "waiting on someone else", "deferred")


def noted(own: Properties) -> dict[str, str]:
    """Return place, beginning and end of an appointment; beginning, due date, owner and state of a task."""
    return dict(clean.values(_pairs(own))) if has_fields(own.text(mapi.MESSAGE_CLASS)) else {}


def _pairs(own: Properties) -> Iterator[tuple[str, str | None]]:
    if (
        not (own.text(mapi.MESSAGE_CLASS) or "").lower().startswith(_TASK_CLASS)
    ):  # other items of Outlook have a state too
        yield "location", own.text(LOCATION) or own.text(WHERE)
        yield "start", iso(own, BEGINS)
        yield "end", iso(own, ENDS)
        return
    yield "start", iso(own, TASK_BEGINS)
    yield "end", iso(own, TASK_DUE)
    yield "task_owner", own.text(TASK_OWNER)
    state = own.number(TASK_STATUS)
    yield "task_state", _STATES[state] if state is not None and 0 <= state < len(_STATES) else None


def iso(own: Properties, ident: int) -> str | None:
    """Return a time in UTC; None if there is none, which Outlook stores as a day in the year 4501."""
    seconds = own.time(ident)
    if seconds is None or not _FIRST <= seconds < _LAST:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Contacts of Outlook ([MS-OXOCNTC]): their text is in properties, not in a body.

EVERYTHING = range(0x10000)  # property ids: addresses are in named ones, whose ids differ from file to file
_CLASS = "ipm.contact"
_FIELDS = (
    ("Name", mapi.DISPLAY_NAME),
    ("Nickname", 0x3A4F),
    ("Title", 0x3A17),
    ("Profession", 0x3A46),
    ("Department", 0x3A18),
    ("Office", 0x3A19),
    ("Company", 0x3A16),
    ("Manager", 0x3A4E),
    ("Assistant", 0x3A30),
    ("Spouse", 0x3A48),
    ("Business phone", 0x3A08),
    ("Business phone 2", 0x3A1B),
    ("Company phone", 0x3A57),
    ("Home phone", 0x3A09),
    ("Home phone 2", 0x3A2F),
    ("Mobile phone", 0x3A1C),
    ("Primary phone", 0x3A1A),
    ("Car phone", 0x3A1E),
    ("Radio phone", 0x3A1D),
    ("Other phone", 0x3A1F),
    ("Callback", 0x3A02),
    ("Assistant's phone", 0x3A2E),
    ("Pager", 0x3A21),
    ("Fax", 0x3A24),
    ("Home fax", 0x3A25),
    ("Other fax", 0x3A23),
    ("Street", 0x3A29),
    ("Post office box", 0x3A2B),
    ("City", 0x3A27),
    ("Postal code", 0x3A2A),
    ("State", 0x3A28),
    ("Country", 0x3A26),
    ("Home street", 0x3A5D),
    ("Home post office box", 0x3A5E),
    ("Home city", 0x3A59),
    ("Home postal code", 0x3A5B),
    ("Home state", 0x3A5C),
    ("Home country", 0x3A5A),
    ("Other street", 0x3A63),
    ("Other post office box", 0x3A64),
    ("Other city", 0x3A5F),
    ("Other postal code", 0x3A61),
    ("Other state", 0x3A62),
    ("Other country", 0x3A60),
    ("Business address", WORK_ADDRESS),
    ("Home address", HOME_ADDRESS),
    ("Other address", OTHER_ADDRESS),
    ("Web page", 0x3A51),
    ("Personal web page", 0x3A50),
)
# Property ids of the day, then of the moment at which it begins in some time zone.
_DAYS = (("Birthday", BIRTHDAY, 0x3A42), ("Anniversary", ANNIVERSARY, 0x3A41))
_EMAIL = re.compile(r"[^\s@<>]{1,128}@[^\s@<>]{1,255}")
_WORDS = re.compile(r"\w+")


def is_contact(own: Properties) -> bool:
    """Return whether this item is a contact."""
    return (own.text(mapi.MESSAGE_CLASS) or "").lower().startswith(_CLASS)


def contact_text(own: Properties) -> str:
    """Return a line for each field with a value, and for each address."""
    return "".join(f"{label}: {value}\n" for label, value in _lines(own))


def _lines(own: Properties) -> Iterator[tuple[str, str]]:
    words: set[str] = set()
    for label, ident in _FIELDS:
        value = " ".join((own.text(ident) or "").split())
        # An address is stored as a whole and in pieces: the whole is shown if it has other words.
        if value and not (ident >= OURS and words.issuperset(_WORDS.findall(value))):
            words.update(_WORDS.findall(value))
            yield label, value
    for label, day, moment in _DAYS:
        if when := iso(own, day) or iso(own, moment):
            yield label, when.removesuffix("T00:00:00Z")
    known: set[str] = set()
    for ident in sorted(own.values):
        value = (own.text(ident) or "").strip() if NAMED <= ident < OURS else ""
        if value not in known and _EMAIL.fullmatch(value):
            known.add(value)
            yield "E-mail", value

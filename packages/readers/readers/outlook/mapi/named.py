"""Properties that have names ([MS-OXPROPS] 1.3.2): their ids differ from store to store, so they get ids of ours, which are larger
than any that a file has."""

from __future__ import annotations

import struct
from typing import Final

from readers.outlook.mapi.properties import Properties

NAMED: Final = 0x8000  # the first id of a property that has a name
OURS: Final = 0x10000  # the first of ours
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
_FIRST_SET = 3  # those before it have no place in the list of sets
# The last as winmail.dat calls meetings ([MS-OXTNEF] 2.1.3.3.1).
_CLASSES = ("ipm.contact", "ipm.appointment", "ipm.schedule.meeting", "ipm.task", "ipm.microsoft schedule.mtg")


def has_fields(message_class: str | None) -> bool:
    """Whether items of this class say something in properties that no mail message has."""
    return (message_class or "").lower().startswith(_CLASSES)


def our_id(guid: bytes, number: int) -> int:
    """Ours of a property in a set; 0 for those that are not wanted."""
    if len(guid) != _GUID.size:
        return 0
    a, b, c, rest = _GUID.unpack(guid)
    found = _SETS.get(f"{a:08x}-{b:04x}-{c:04x}-{rest[:2].hex()}-{rest[2:].hex()}", 0)
    ours = found | number
    return ours if found and ours in _KNOWN else 0


def our_ids(guids: bytes, names: bytes) -> dict[int, int]:
    """Ours by those of a store or file, of its list of sets and its list of names ([MS-OXMSG] 2.2.3.1, [MS-PST] 2.4.7)."""
    out: dict[int, int] = {}
    for number, kind, position in _NAME.iter_unpack(names[: len(names) // _NAME.size * _NAME.size]):
        at = ((kind >> 1) - _FIRST_SET) * _GUID.size
        if not kind & 1 and at >= 0 and (ours := our_id(guids[at : at + _GUID.size], number)):
            out[NAMED + position] = ours
    return out


def rename(own: Properties, ids: dict[int, int]) -> None:
    """Put the properties that have names under our ids too."""
    own.values |= {ours: own.values[theirs] for theirs, ours in ids.items() if theirs in own.values}

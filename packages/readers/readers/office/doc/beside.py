"""Text of a Word document other than its visible characters ([MS-DOC]): link targets, chosen form entries,
commenters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_LINK = re.compile('\x13\\s*HYPERLINK\\s+(?:"([^"\x13-\x15]*)|([^\\s"\\\\\x13-\x15][^\\s\x13-\x15]*))', re.IGNORECASE)
# A form's field in the stream of data (2.9.158, 2.9.78): the size of the bytes before it, these, its version.
_FIELD = re.compile(rb"\x44\0.{62}\xff\xff\xff\xff", re.DOTALL)
_LIST = 2  # kind of a field
_BY_DEFAULT = 25  # in place of the number of an entry
_STRINGS = 5  # behind its default: format, help, status and two macros
_MOST = 100_000  # fields, and names


def addresses(text: str) -> Iterator[str]:
    """Where links lead (2.8.25), each once; places in the document are left out."""
    found = (next(filter(None, match.groups()), "") for match in _LINK.finditer(text)) if "HYPERLINK" in text else ()
    return filter(None, dict.fromkeys(" ".join(address.split()) for address in found))


def chosen(data: bytes) -> Iterator[str]:
    """The entries that are chosen in the lists of a form: they are not among its characters."""
    for match in islice(_FIELD.finditer(data), _MOST):
        if said := _entry(data, match.end()):
            yield said


def _entry(data: bytes, at: int) -> str:
    """Of one field, behind its version; "" for one that is no list, or not all there."""
    flags, at = _number(data, at), at + 6
    if flags & 3 != _LIST:
        return ""
    at = _behind(data, at)
    default, at = _number(data, at), at + 2
    for _ in range(_STRINGS):
        at = _behind(data, at)
    marker, count, extra = (_number(data, at + 2 * i) for i in range(3))
    wanted = flags >> 2 & 31
    wanted, at = default if wanted == _BY_DEFAULT else wanted, at + 6
    if marker != 0xFFFF or not wanted < count:
        return ""
    for _ in range(wanted):
        at += 2 + 2 * _number(data, at) + extra
    return data[at + 2 : at + 2 + 2 * _number(data, at)].decode("utf-16-le", "replace")


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _behind(data: bytes, at: int) -> int:
    """The place behind a string, which a zero ends."""
    return at + 2 + 2 * _number(data, at) + 2


def authors(owners: bytes) -> Iterator[str]:
    """Who wrote comments (2.9.105), each once."""
    told: set[str] = set()
    at = 0
    while at + 2 <= len(owners) and len(told) < _MOST:
        size = 2 * _number(owners, at)
        name = owners[at + 2 : at + 2 + size].decode("utf-16-le", "replace").strip("\0 ")
        at += 2 + size
        if name and name not in told:
            told.add(name)
            yield name

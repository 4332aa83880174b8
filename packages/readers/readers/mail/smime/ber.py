"""Walking down the Basic Encoding Rules (X.690) as far as CMS objects need it, lengths left open included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from readers.errors import DocumentError, ExceptionCode

SEQUENCE, OCTETS, OCTETS_IN_PARTS, EXPLICIT = 0x30, 0x04, 0x24, 0xA0
_INDEFINITE = -1
_MAX_PARTS = 1_000_000
_MAX_DEPTH = 8  # elements of open length inside one another


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its tag and the position of its content. One of open length ends at two zero bytes before `end`."""

    tag: int
    start: int
    end: int
    open: bool


def element(data: bytes, at: int, end: int) -> Element:
    """The element at `at`, which ends at `end` at the latest. DocumentError where it does not."""
    tag, start, length = _head(data, at, end)
    if length == _INDEFINITE:
        return Element(tag, start, end, open=True)
    return Element(tag, start, start + length, open=False)


def enter(data: bytes, outer: Element, tag: int, position: int = 0) -> Element:
    """The element at this position inside another. DocumentError where there is none, or it has another tag."""
    for index, child in enumerate(inside(data, outer)):
        if index == position:
            if child.tag != tag:
                break
            return child
    raise corrupt()


def inside(data: bytes, outer: Element) -> Iterator[Element]:
    """The elements that one consists of, in order."""
    at = outer.start
    for _ in range(_MAX_PARTS):
        if at >= outer.end or (outer.open and data[at : at + 2] == b"\0\0"):
            return
        child = element(data, at, outer.end)
        yield child
        at = _behind(data, at, outer.end, 0) if child.open else child.end


def octets(data: bytes, string: Element) -> bytes:
    """The bytes of an octet string, whole or in parts."""
    if string.tag == OCTETS:
        return data[string.start : string.end]
    if string.tag != OCTETS_IN_PARTS:
        raise corrupt()
    parts = []
    for part in inside(data, string):
        if part.tag != OCTETS:
            raise corrupt()
        parts.append(data[part.start : part.end])
    return b"".join(parts)


def _behind(data: bytes, at: int, end: int, depth: int) -> int:
    """The place behind the element at `at`."""
    _, start, length = _head(data, at, end)
    if length != _INDEFINITE:
        return start + length
    at = start
    while depth < _MAX_DEPTH and at + 1 < end:
        if data[at : at + 2] == b"\0\0":
            return at + 2
        at = _behind(data, at, end, depth + 1)
    raise corrupt()


def _head(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """(tag, where the content begins, its length) of the element at `at` (8.1)."""
    if at + 2 > min(end, len(data)):
        raise corrupt()
    tag, length, at = data[at], data[at + 1], at + 2
    if tag & 0x1F == 0x1F:
        raise corrupt()
    if length == 0x80:
        return tag, at, _INDEFINITE
    if length > 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if at + length > min(end, len(data)):
        raise DocumentError(ExceptionCode.TRUNCATED, "the S/MIME object ends too early")
    return tag, at, length


def corrupt() -> DocumentError:
    """The error for an object that cannot be read."""
    return DocumentError(ExceptionCode.CORRUPT, "the S/MIME object is not as it should be")

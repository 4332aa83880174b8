"""The properties of OneNote's objects ([MS-ONESTORE] 2.6.1, 2.6.6 to 2.6.9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

_MAX_DEPTH = 8  # property sets inside one another
_MAX_PROPERTIES = 100_000
_FIXED = {1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8}  # bytes of a value in the data, by type
_COUNTED, _REFERENCE, _REFERENCES = 7, 8, 9
_OTHER_REFERENCE, _OTHER_REFERENCES = (10, 12), (11, 13)  # to object spaces and contexts
_SETS, _SET = 16, 17
Value = bytes | int  # the bytes of a value; the CompactID of an object that is referred to


class _Reader:
    """A place in the data, and the references that the properties take one after another."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0
        self.left = _MAX_PROPERTIES
        self.references: Iterator[int] = iter(self._streams())

    def number(self, size: int) -> int:
        """The next bytes as a number; LookupError at the end."""
        return int.from_bytes(self.bytes(size), "little")

    def bytes(self, size: int) -> bytes:
        """The next bytes; LookupError at the end."""
        if self.at + size > len(self.raw):
            raise IndexError("the properties end too early")
        self.at += size
        return self.raw[self.at - size : self.at]

    def _streams(self) -> list[int]:
        """The references to objects; those to object spaces and contexts behind them are passed over."""
        head = self.number(4)
        references = [int.from_bytes(self.bytes(4), "little") for _ in range(min(head & 0xFFFFFF, len(self.raw) // 4))]
        more = not head >> 31
        while more:
            head = self.number(4)
            self.bytes(4 * (head & 0xFFFFFF))
            more = bool(head >> 30 & 1)
            if self.at >= len(self.raw):
                break
        return references


def properties(raw: bytes) -> Iterator[tuple[int, Value]]:
    """(property number with its type, value) of an object, those of sets inside it too; as many as can be read."""
    try:
        reader = _Reader(raw)
        yield from _set(reader, 0)
    except (IndexError, StopIteration, RuntimeError):
        return


def _set(reader: _Reader, depth: int) -> Iterator[tuple[int, Value]]:
    numbers = [reader.number(4) for _ in range(reader.number(2))]
    reader.left -= len(numbers)
    if depth > _MAX_DEPTH or reader.left < 0:
        raise IndexError("too many properties")
    for number in numbers:
        kind = number >> 26 & 0x1F
        if kind in _FIXED:
            yield number, reader.bytes(_FIXED[kind])
        elif kind == _COUNTED:
            yield number, reader.bytes(reader.number(4))
        elif kind == _REFERENCE:
            yield number, next(reader.references, 0)
        elif kind == _REFERENCES:
            deque(islice(reader.references, min(reader.number(4), len(reader.raw))), maxlen=0)  # pass over them
        elif kind in _OTHER_REFERENCES:
            reader.bytes(4)
        elif kind == _SETS:
            count = reader.number(4)
            if count:
                reader.bytes(4)
            for _ in range(min(count, len(reader.raw))):
                yield from _set(reader, depth + 1)
        elif kind == _SET:
            yield from _set(reader, depth + 1)
        elif kind not in _OTHER_REFERENCE:
            raise IndexError("a type of property that is not known")

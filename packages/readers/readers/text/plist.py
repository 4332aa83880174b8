"""Binary property lists (Apple's CFBinaryPList, `bplist00`): preferences, archives of objects, web archives.

plistlib is not used: its tree repeats shared objects, and it needs quadratic time for tables whose objects overlap.
Here each object is shown once, and the work is bounded by the bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from datetime import datetime, timedelta

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, corrupt, truncated
from readers.records import Limits
from readers.text import web_archive
from readers.text.web_archive import RESOURCE_DATA, RESOURCE_TYPE, RESOURCE_URL

_MAGIC = 8  # bytes at the start, `bplist00`
_TRAILER = struct.Struct(">6xBBQQQ")  # sizes of an offset and of a reference, objects, the first, start of the offsets
_START = datetime(2001, 1, 1)
_RESOURCE = RESOURCE_DATA.encode()
_CENTURIES = 1e11  # seconds either side of the start; dates beyond are nonsense
_INTEGER, _REAL, _DATE, _DATA, _ASCII, _UTF16, _ARRAY, _DICTIONARY = 1, 2, 3, 4, 5, 6, 10, 13
_SETS = (11, 12)
_ADDRESS = 10_000  # characters of an address or a key
_AGAIN = 100  # characters of a string that is shown at each occurrence, as keys are; longer texts are shown once


class _Objects:
    """Objects of one list, looked up by number. Raises DocumentError if one is not in the file."""

    def __init__(self, data: bytes) -> None:
        if len(data) < _MAGIC + _TRAILER.size:
            raise truncated("the property list ends before its trailer")
        self._data = data
        self._offset_size, self._size, self._count, self.top, self._table = _TRAILER.unpack(data[-_TRAILER.size :])
        end = len(data) - _TRAILER.size
        if not (self._offset_size and self._size) or self._table + self._count * self._offset_size > end:
            raise corrupt("the property list's trailer is damaged or belongs to another file")
        self._room = len(data)  # bytes that long objects may have together: they do not overlap
        self._left = len(data)  # references that may be followed: each has at least one byte

    def at(self, number: int) -> tuple[int, int, int]:
        """Return kind of an object, its length as announced, and its start."""
        start = self._table + number * self._offset_size
        at = int.from_bytes(self._data[start : start + self._offset_size], "big")
        if number >= self._count or at >= len(self._data) - _TRAILER.size:
            raise _damaged()
        kind, low = divmod(self._data[at], 16)
        if low != 15 or kind in (_INTEGER, _REAL, _DATE, 0):
            return kind, low, at + 1
        width = 1 << (self._data[at + 1] & 15)
        return kind, int.from_bytes(self._data[at + 2 : at + 2 + width], "big"), at + 2 + width

    def raw(self, at: int, size: int) -> bytes:
        """Return `size` bytes."""
        if size > _AGAIN:
            self._room -= size
        if at + size > len(self._data) or self._room < 0:
            raise _damaged()
        return self._data[at : at + size]

    def string(self, number: int | None) -> str:
        """Return a short string; "" for anything else."""
        kind, size, at = (0, 0, 0) if number is None else self.at(number)
        if kind not in (_ASCII, _UTF16) or size > _ADDRESS:
            return ""
        return _decoded(kind, self.raw(at, size if kind == _ASCII else 2 * size))

    def bytes_of(self, number: int | None) -> bytes | None:
        """Return a data object; None for anything else."""
        kind, size, at = (0, 0, 0) if number is None else self.at(number)
        return self.raw(at, size) if kind == _DATA else None

    def references(self, kind: int, count: int, at: int) -> list[int]:
        """Return the objects in an object; for a dictionary each key before its value."""
        self._left -= count
        if self._left < 0:
            raise _damaged()
        size, many = self._size, 2 * count if kind == _DICTIONARY else count
        raw = self.raw(at, many * size)
        references = [int.from_bytes(raw[i : i + size], "big") for i in range(0, len(raw), size)]
        return (
            [one for pair in zip(references[:count], references[count:], strict=True) for one in pair]
            if many > count
            else references
        )


def _damaged() -> DocumentError:
    return corrupt("the property list refers to objects that are missing from the file")


def _decoded(kind: int, raw: bytes) -> str:
    return raw.decode("ascii" if kind == _ASCII else "utf-16-be", "replace")


def lines(data: bytes) -> Iterator[str]:
    """Yield the content of the objects, in their order from the first one on: strings, numbers and dates. Raises
    DocumentError at the first that cannot be read."""
    objects = _Objects(data)
    shown: set[int] = set()
    waiting = [objects.top]
    while waiting:
        number = waiting.pop()
        kind, size, at = objects.at(number)
        if kind in (_ASCII, _UTF16):
            if size > _AGAIN and number in shown:
                continue
            raw = objects.raw(at, size if kind == _ASCII else 2 * size)
            yield _decoded(kind, raw)
        elif kind in (_INTEGER, _REAL, _DATE):
            yield _number(kind, objects.raw(at, 1 << min(size, 4)))
        elif kind in (_ARRAY, _DICTIONARY, *_SETS) and number not in shown:
            waiting.extend(reversed(objects.references(kind, size, at)))
        shown.add(number)


def web_resources(data: bytes) -> Iterator[web_archive.Resource]:
    """Yield the resources of a web archive, in order. Raises DocumentError as `lines` does."""
    objects = _Objects(data)
    seen: set[int] = set()
    waiting = [objects.top]
    while waiting:
        number = waiting.pop()
        kind, size, at = objects.at(number)
        if kind not in (_ARRAY, _DICTIONARY) or number in seen:
            continue
        seen.add(number)
        references = objects.references(kind, size, at)
        waiting.extend(reversed(references))
        if kind == _DICTIONARY:
            keys = {objects.string(key): value for key, value in zip(references[::2], references[1::2], strict=True)}
            if (content := objects.bytes_of(keys.get(RESOURCE_DATA))) is not None:
                url, media_type = (objects.string(keys.get(name)) for name in (RESOURCE_URL, RESOURCE_TYPE))
                yield web_archive.Resource(url, media_type, content)


def _number(kind: int, raw: bytes) -> str:
    if kind == _INTEGER:
        return str(int.from_bytes(raw, "big", signed=len(raw) >= 8))
    if len(raw) not in (4, 8):
        return ""
    value: float = struct.unpack(">f" if len(raw) == 4 else ">d", raw)[0]
    if kind == _REAL:
        return f"{value:.15g}"
    if not math.isfinite(value) or abs(value) > _CENTURIES:
        return ""
    try:
        return (_START + timedelta(seconds=value)).isoformat(timespec="seconds")
    except OverflowError:
        return ""


class PlistHandler(LeafHandler):
    """A binary property list; those in XML are read as XML."""

    name = "plist"
    declared = Declared(
        title="Property lists",
        extensions=("plist", "webarchive"),
        text="keys, strings, numbers and dates of binary property lists, a line each, in order; XML ones are read "
        "as XML",
        children="for web archives, the page and its resources, in order",
        leaves_out=(
            "other binary data, truth values",
            "repetitions of a text of more than 100 characters",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield resources of a web archive; other data in lists has no name or type."""
        data = source.whole(limits.parse_bytes)
        if _RESOURCE in data:
            yield from web_archive.children(web_resources(data))

    def text(self, source: Source, limits: Limits) -> Text:
        """Return a line for each key and value; for a damaged list those before the damage, and `error`."""
        collector = clean.Collector(limits.text_characters)
        error: DocumentError | None = None
        try:
            collector.lines(line for line in lines(source.whole(limits.parse_bytes)) if line)
        except DocumentError as failed:
            error = failed
        return collector.result(error=error)

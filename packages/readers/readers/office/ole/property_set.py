"""Property sets ([MS-OLEPS]): title, author and dates of the older Office formats."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from readers import clean
from readers.charset import code_page
from readers.charset_labels import by_page
from readers.office.ole.compound import CompoundFile

SUMMARY = "\x05SummaryInformation"
DOCUMENT_SUMMARY = "\x05DocumentSummaryInformation"
_NUMBERS = {  # 3.1.2 and 3.1.3 of [MS-OLEPS] 1.2.1: the numbers of the properties of both streams
    SUMMARY: {
        2: "title",
        3: "doc_subject",
        4: "author",
        5: "keywords",
        6: "description",
        8: "last_author",
        12: "created",
        13: "modified",
        14: "page_count",
        18: "application",
    },
    DOCUMENT_SUMMARY: {15: "company"},
}
# Keys that `metadata` may return.
KEYS = (*(key for keys in _NUMBERS.values() for key in keys.values()), clean.KEY)
_ADDED = bytes.fromhex("05d5cdd59c2e1b10939708002b2cf9ae")  # the set of properties that have names of their own (3.1.6)
_FIRST, _SECOND = 44, 64  # offsets of the fields with the start of each section (2.21)
_DICTIONARY, _CODE_PAGE = 0, 1
_MAX_PROPERTIES = 2000
_STREAM_BYTES = 1_000_000
_EPOCH = datetime(1601, 1, 1)


def properties(data: bytes) -> dict[int, str]:
    """Return the values of the first section, by their numbers, as text, without those that cannot be read."""
    return _section(data, _FIRST)[0]


def added(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield names and values of added properties: those of the second section, which names its own."""
    if data[_SECOND - len(_ADDED) : _SECOND] == _ADDED and int.from_bytes(data[24:28], "little") > 1:
        values, names = _section(data, _SECOND)
        for number, value in values.items():
            if name := names.get(number):
                yield name, value


def _section(data: bytes, where: int) -> tuple[dict[int, str], dict[int, str]]:
    """Return values and names by numbers; only the second section has names."""
    if len(data) < where + 4 or data[:2] != b"\xfe\xff":
        return {}, {}
    start = struct.unpack_from("<I", data, where)[0]
    if start + 8 > len(data):
        return {}, {}
    places = dict(_places(data, start))
    dictionary = places.pop(_DICTIONARY, None) if where == _SECOND else None
    page = _value(data, places.get(_CODE_PAGE, len(data)), "cp1252")
    codec = by_page(int(page) & 0xFFFF if page.isdecimal() else 0) or "cp1252"
    names = {} if dictionary is None else dict(_named(data, dictionary, wide=codec == "utf-16-le"))
    strings = (*_strings(data, places.values()), *names.values())
    codec = codec if codec.startswith("utf") else code_page(b"\n".join(strings), codec)
    texts = ((number, _value(data, at, codec)) for number, at in places.items() if number != _CODE_PAGE)
    called = {number: name.decode(codec, "replace").rstrip("\0") for number, name in names.items()}
    return {number: text for number, text in texts if text}, called


def _named(data: bytes, at: int, *, wide: bool) -> Iterator[tuple[int, bytes]]:
    """Yield numbers and names of properties as stored (2.17): `wide` ones count characters and end at four bytes."""
    count, at = int.from_bytes(data[at : at + 4], "little"), at + 4
    for _ in range(min(count, _MAX_PROPERTIES)):
        if at + 8 > len(data):
            return
        number, size = struct.unpack_from("<II", data, at)
        size, at = size * (2 if wide else 1), at + 8
        yield number, data[at : at + min(size, 4 * clean.VALUE_CHARACTERS)]
        at += size + (-size % 4 if wide else 0)


def _places(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield (property number, start of its value)."""
    count = min(struct.unpack_from("<I", data, start + 4)[0], _MAX_PROPERTIES, (len(data) - start - 8) // 8)
    for i in range(count):
        number, at = struct.unpack_from("<II", data, start + 8 + 8 * i)
        yield number, start + at


def _strings(data: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """Yield the values in bytes of the code page (VT_LPSTR), as stored."""
    for at in places:
        if data[at : at + 4] == b"\x1e\0\0\0":
            size = min(int.from_bytes(data[at + 4 : at + 8], "little"), 4 * clean.VALUE_CHARACTERS)
            yield data[at + 8 : at + 8 + size].split(b"\0", 1)[0]


def _value(data: bytes, at: int, codec: str) -> str:
    """Return a typed value (2.15) as text; "" for types without a value."""
    head = data[at : at + 12]
    if len(head) < 6:
        return ""
    kind = int.from_bytes(head[:2], "little")
    if kind in (0x02, 0x12):  # VT_I2, VT_UI2
        return str(int.from_bytes(head[4:6], "little"))
    if kind in (0x03, 0x13):  # VT_I4, VT_UI4
        return str(int.from_bytes(head[4:8], "little"))
    if kind == 0x0B:  # VT_BOOL
        return "true" if any(head[4:6]) else "false"
    if kind == 0x05 and len(head) == 12:  # VT_R8
        return f"{struct.unpack_from('<d', head, 4)[0]:.15g}"
    if kind == 0x40:  # VT_FILETIME
        return _moment(int.from_bytes(head[4:12], "little"))
    size = min(int.from_bytes(head[4:8], "little"), 4 * clean.VALUE_CHARACTERS)
    if kind == 0x1E:  # VT_LPSTR: bytes in the code page; its size counts bytes
        text = data[at + 8 : at + 8 + size].decode(codec, "replace")
    elif kind == 0x1F:  # VT_LPWSTR: its size counts characters
        text = data[at + 8 : at + 8 + 2 * size].decode("utf-16-le", "replace")
    else:
        return ""
    return text.split("\0", 1)[0].strip()


def _moment(ticks: int) -> str:
    """Convert 100-nanosecond steps since 1601, UTC; return "" for "never" and for times outside the calendar."""
    if not 0 < ticks < 2_650_467_744_000_000_000:
        return ""
    return (_EPOCH + timedelta(seconds=ticks // 10_000_000)).isoformat() + "Z"


def metadata(compound: CompoundFile) -> dict[str, object]:
    """Return title, author, dates … of a compound file, under the same keys as the newer formats' core properties."""
    pairs: list[tuple[str, str | None]] = []
    more: list[tuple[str, str]] = []
    for name, keys in _NUMBERS.items():
        entry = compound.root.stream(name)
        if entry is None or entry.size > _STREAM_BYTES:
            continue
        data = compound.read(entry)
        by_number = properties(data)
        pairs += [(key, by_number.get(number)) for number, key in keys.items()]
        more += added(data) if name == DOCUMENT_SUMMARY else ()
    out: dict[str, object] = dict(clean.values(pairs))
    pages = str(out.pop("page_count", ""))
    if pages.isdecimal() and int(pages):
        out["page_count"] = int(pages)
    return out | clean.noted(more)

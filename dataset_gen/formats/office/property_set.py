"""Property sets ([MS-OLEPS]): the streams in which the older Office formats keep title, author and dates."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import UTC, datetime

from dataset_gen.rng import Dice

SUMMARY = "\x05SummaryInformation"
DOCUMENT_SUMMARY = "\x05DocumentSummaryInformation"
_SUMMARY_FORMAT = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")
_DOCUMENT_FORMAT = bytes.fromhex("02d5cdd59c2e1b10939708002b2cf9ae")
_CODE_PAGE, _TITLE, _AUTHOR, _LAST_AUTHOR, _CREATED, _SAVED, _PAGES, _PROGRAM = 1, 2, 4, 8, 12, 13, 14, 18
_COMPANY = 15
_I2, _I4, _STRING, _TIME = 2, 3, 30, 64
_1601 = datetime(1601, 1, 1, tzinfo=UTC)


def filetime(moment: datetime) -> int:
    """100-nanosecond steps since 1601 ([MS-DTYP] 2.3.3)."""
    since = moment - _1601
    return (since.days * 86_400 + since.seconds) * 10_000_000


def _value(kind: int, value: int | str) -> bytes:
    """A typed value (2.15), padded to four bytes; strings are windows-1252."""
    if isinstance(value, str):
        raw = value.encode("cp1252", "replace") + b"\0"
        return struct.pack("<II", kind, len(raw)) + raw + bytes(-len(raw) % 4)
    return struct.pack("<IQ" if kind == _TIME else "<II", kind, value)


def write(format_id: bytes, values: Mapping[int, tuple[int, int | str]]) -> bytes:
    """A stream of one section (2.21); `values` are (type, value) by property number."""
    raw = [_value(*value) for value in values.values()]
    at = 8 + 8 * len(raw)
    places = []
    for number, one in zip(values, raw, strict=True):
        places.append(struct.pack("<II", number, at))
        at += len(one)
    head = struct.pack("<HHI16sI16sI", 0xFFFE, 0, 0x00020005, bytes(16), 1, format_id, 48)
    return b"".join((head, struct.pack("<II", at, len(raw)), *places, *raw))


def summary(dice: Dice, title: str, program: str, pages: int | None = None) -> dict[str, bytes]:
    """Both streams, by name: title, author, company, dates of years ago, and what wrote the document."""
    year, month, day, minute = 2003 + dice.below(8), dice.between(1, 12), dice.between(1, 28), dice.below(600)
    created = filetime(datetime(year, month, day, 8 + minute // 60, minute % 60, tzinfo=UTC))
    values: dict[int, tuple[int, int | str]] = {
        _CODE_PAGE: (_I2, 1252),
        _TITLE: (_STRING, title),
        _AUTHOR: (_STRING, f"Author {dice.below(400)}"),
        _LAST_AUTHOR: (_STRING, f"Author {dice.below(400)}"),
        _CREATED: (_TIME, created),
        _SAVED: (_TIME, created + dice.below(100_000) * 600_000_000),
        _PROGRAM: (_STRING, program),
    }
    if pages is not None:
        values[_PAGES] = (_I4, pages)
    company: dict[int, tuple[int, int | str]] = {_CODE_PAGE: (_I2, 1252), _COMPANY: (_STRING, "Example Company")}
    return {SUMMARY: write(_SUMMARY_FORMAT, values), DOCUMENT_SUMMARY: write(_DOCUMENT_FORMAT, company)}

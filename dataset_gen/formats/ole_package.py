"""OLE packages ([MS-OLEDS] 2.3): a file of any kind inside a document, with its name, as the Packager puts it there."""

from __future__ import annotations

import calendar
import struct
from collections.abc import Mapping

from dataset_gen.formats.mapi_mail import filetime
from dataset_gen.rng import Dice
from readers import cfb

SUMMARY = "\x05SummaryInformation"
DOCUMENT_SUMMARY = "\x05DocumentSummaryInformation"
_SUMMARY_FORMAT = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")
_DOCUMENT_FORMAT = bytes.fromhex("02d5cdd59c2e1b10939708002b2cf9ae")
_CODE_PAGE, _TITLE, _AUTHOR, _LAST_AUTHOR, _CREATED, _SAVED, _PAGES, _PROGRAM = 1, 2, 4, 8, 12, 13, 14, 18
_COMPANY = 15
_I2, _I4, _STRING, _TIME = 2, 3, 30, 64


def _value(kind: int, value: int | str) -> bytes:
    """Return a typed value (2.15), padded to four bytes; strings are windows-1252."""
    if isinstance(value, str):
        raw = value.encode("cp1252", "replace") + b"\0"
        return struct.pack("<II", kind, len(raw)) + raw + bytes(-len(raw) % 4)
    return struct.pack("<IQ" if kind == _TIME else "<II", kind, value)


def write(format_id: bytes, values: Mapping[int, tuple[int, int | str]]) -> bytes:
    """Return a stream of one section (2.21); `values` are (type, value) by property number."""
    raw = [_value(*value) for value in values.values()]
    at = 8 + 8 * len(raw)
    places = []
    for number, one in zip(values, raw, strict=True):
        places.append(struct.pack("<II", number, at))
        at += len(one)
    head = struct.pack("<HHI16sI16sI", 0xFFFE, 0, 0x00020005, bytes(16), 1, format_id, 48)
    return b"".join((head, struct.pack("<II", at, len(raw)), *places, *raw))


def summary(dice: Dice, title: str, program: str, pages: int | None = None) -> dict[str, bytes]:
    """Return both streams, by name: title, author, company, dates of years ago, and what wrote the document."""
    year, month, day, minute = 2003 + dice.below(8), dice.between(1, 12), dice.between(1, 28), dice.below(600)
    created = filetime(calendar.timegm((year, month, day, 8 + minute // 60, minute % 60, 0)))
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


PACKAGE_CLASS = bytes.fromhex("0c00030000000000c000000000000046")  # {0003000C-0000-0000-C000-000000000046}
_CLIPBOARD = 0x71B239F4  # UnicodeMarker of a CompObjStream (2.3.8)


def comp_obj(class_id: bytes, what: str, program_id: str) -> bytes:
    """Return a CompObjStream (2.3.8): which program an object belongs to."""
    head = struct.pack("<III", 0xFFFE0001, 0x0A03, 0xFFFFFFFF) + class_id
    return b"".join(
        (head, ansi(what), bytes(4), ansi(program_id), struct.pack("<IIII", _CLIPBOARD, 0, 0, 0)),
    )


def ansi(text: str) -> bytes:
    """Return a LengthPrefixedAnsiString (2.1.4)."""
    raw = text.encode("cp1252", "replace") + b"\0"
    return struct.pack("<I", len(raw)) + raw


def native(name: str, data: bytes) -> bytes:
    """The stream `\\1Ole10Native` (2.3.6) with the Packager's structure: label, original and temporary path, the file,
    and the three names in UTF-16."""
    path, temporary = f"C:\\Documents\\{name}", f"C:\\Temp\\{name}"
    ansi = [text.encode("cp1252", "replace") + b"\0" for text in (name, path, temporary)]
    wide = b"".join(struct.pack("<I", len(t)) + t.encode("utf-16-le") for t in (temporary, name, path))
    body = b"".join(
        (b"\2\0", ansi[0], ansi[1], b"\0\0\3\0", struct.pack("<I", len(ansi[2])), ansi[2], struct.pack("<I", len(data)))
    )
    return b"".join((struct.pack("<I", len(body) + len(data) + len(wide)), body, data, wide))


def storage(name: str, data: bytes, storage_name: str = "") -> cfb.Storage:
    """Return an object's storage: the package, what it is, and how it is shown (as an icon)."""
    return cfb.Storage(
        storage_name,
        PACKAGE_CLASS,
        {
            "\x01Ole": struct.pack("<IIIII", 0x02000001, 0, 0, 0, 0),
            "\x01CompObj": comp_obj(PACKAGE_CLASS, "OLE Package", "Package"),
            "\x03ObjInfo": b"\x40\0\x03\0\x04\0",
            "\x01Ole10Native": native(name, data),
        },
    )


def compound_file(name: str, data: bytes) -> bytes:
    """Return a compound file with the same content: `oleObject1.bin` of an Office Open XML document."""
    return cfb.write(storage(name, data))

"""Tables of dBase II to 7, Clipper, FoxPro and Visual FoxPro: header, fields, and the values of a record.

Sources: "Data File Header Structure for the dBASE Version 7 Table File" (dBASE Inc.), "Table File Structure" of Visual
FoxPro's documentation, and the older layouts as HelpPC has them. Field lengths and positions come from the header; no
value is trusted beyond the bytes of its record."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable
from typing import NamedTuple

from readers.errors import DocumentError, corrupt, truncated

_VERSIONS = frozenset(b"\x02\x03\x04\x05\x30\x31\x32\x43\x63\x83\x87\x8b\x8c\x8e\xcb\xe5\xf5\xfb")
_DBASE_II, _LEVEL_7 = 0x02, 0x04  # the second in the lowest three bits
_FOXPRO = frozenset(b"\x30\x31\x32")
_TYPES = frozenset(b"CNFDLMITB@O+YVQGPW0")
_TEXT = frozenset(b"CV")
_II_HEADER, _II_FIELDS = 521, 8
_SYSTEM = ord("0")  # the field of null flags, in Visual FoxPro
_END = 0x0D  # after the last field
_MOST_FIELDS = 2048

# Codecs by language drivers, including those of Visual FoxPro and dBase for Windows.
_CODECS = {
    codec: bytes.fromhex(drivers)
    for codec, drivers in {
        "cp437": "01090b0d0f111518191b",
        "cp850": "020a0e101214161a1d2537",
        "cp1252": "03575859",
        "mac_roman": "04",
        "cp865": "081766",
        "cp932": "137b",
        "cp863": "1c",
        "cp852": "1f2223406487",
        "cp860": "24",
        "cp866": "2665",
        "gb18030": "4d7a",
        "cp949": "4e79",
        "cp950": "4f78",
        "cp874": "507c",
        "cp861": "67",
        "cp737": "6a86",
        "cp857": "6b88",
        "mac_cyrillic": "96",
        "mac_latin2": "97",
        "mac_greek": "98",
        "cp1250": "c8",
        "cp1251": "c9",
        "cp1254": "ca",
        "cp1253": "cb",
        "cp1257": "cc",
    }.items()
}
_BY_DRIVER = {driver: codec for codec, drivers in _CODECS.items() for driver in drivers}


class Field(NamedTuple):
    """A column."""

    name: bytes
    kind: int  # the letter of its type
    length: int  # bytes in a record


class _Form(NamedTuple):
    """Layout of a descriptor: its size, that of the name at its start, and the offsets of type and length."""

    width: int
    name: int
    kind: int
    length: int


_II, _III, _7 = _Form(16, 11, 11, 12), _Form(32, 11, 11, 16), _Form(48, 32, 32, 33)


class Table(NamedTuple):
    """Fields of the header."""

    version: int
    records: int  # as announced
    start: int  # offset of the first record
    record_length: int  # including the deletion mark at its start
    fields: tuple[Field, ...]
    codec: str  # of the language driver; "" if it is unknown

    @property
    def layout(self) -> struct.Struct:
        """Layout of a record by its fields."""
        return struct.Struct("x" + "".join(f"{field.length}s" for field in self.fields))

    def shown(self, codec: str) -> list[tuple[int, Callable[[bytes], str]]]:
        """Return the visible fields, and the function that converts each to text."""
        return [(i, self._reader(field, codec)) for i, field in enumerate(self.fields) if field.kind != _SYSTEM]

    def text_fields(self) -> list[int]:
        """Return the indexes of the character fields."""
        return [i for i, field in enumerate(self.fields) if field.kind in _TEXT]

    def _reader(self, field: Field, codec: str) -> Callable[[bytes], str]:
        if field.kind in _TEXT:
            shorter = _within if field.kind == ord("V") else bytes
            return lambda raw: shorter(raw).decode(codec, "replace").strip(" \0")
        big = self.version & 7 == _LEVEL_7 and self.version not in _FOXPRO
        reader = _BINARY.get((chr(field.kind), field.length, big))
        if reader is not None:
            return reader
        return _SHOWN.get(chr(field.kind), _nothing)


def table_of(header: bytes) -> Table:
    """Parse the header of a table. Raises DocumentError `corrupt` if these are not its first bytes, `truncated` if it
    is longer."""
    if len(header) < 12 or header[0] not in _VERSIONS:
        raise corrupt("it has no header of a dBase table")
    if header[0] == _DBASE_II:
        records, record_length = struct.unpack_from("<H3xH", header, 1)
        fields = _fields(header, _II_FIELDS, _II_HEADER, record_length, _II)
        return Table(header[0], records, _II_HEADER, record_length, fields, "")
    if len(header) < 32:
        raise truncated("the table ends within its header")
    records, start, record_length = struct.unpack_from("<IHH", header, 4)
    if header[0] & 7 == _LEVEL_7 and header[0] not in _FOXPRO:
        fields = _fields(header, 68, start, record_length, _7)
    else:
        fields = _fields(header, 32, start, record_length, _III)
    return Table(header[0], records, start, record_length, fields, _BY_DRIVER.get(header[29], ""))


def _fields(header: bytes, at: int, end: int, record: int, form: _Form) -> tuple[Field, ...]:
    """Return the fields of the descriptors from `at` on, for records of `record` bytes."""
    width, name, kind, length = form
    out: list[Field] = []
    more: dict[int, int] = {}
    while at + 1 <= min(end, len(header)) and header[at] != _END and header[at] and len(out) < _MOST_FIELDS:
        one = header[at : at + width]
        if len(one) < width:
            raise truncated("the table ends within its header")
        out.append(Field(one[:name].split(b"\0", 1)[0], one[kind], one[length]))
        if one[kind] == ord("C") and width == 32:
            more[len(out) - 1] = one[length + 1] << 8
        at += width
    if 1 + sum(field.length for field in out) != record:  # Clipper and FoxPro: decimal places are a high byte
        out = [field._replace(length=field.length + more.get(i, 0)) for i, field in enumerate(out)]
    return tuple(out)


def is_table(head: bytes) -> bool:
    """Return whether these first bytes (4 KiB, or all of a smaller file) are a table's: it has a date, and the fields
    add up to its record. (Some versions are letters and digits, with which a text may begin.)"""
    if len(head) < 5 or head[0] not in _VERSIONS:
        return False
    month, day = head[3:5] if head[0] == _DBASE_II else head[2:4]
    if month > 12 or day > 31:
        return False
    try:
        table = table_of(head)
    except DocumentError:
        return False
    if not table.fields or any(field.kind not in _TYPES or not field.length for field in table.fields):
        return False
    seen = 1 + sum(field.length for field in table.fields)
    return seen == table.record_length or (table.start > len(head) and seen < table.record_length)


def _within(raw: bytes) -> bytes:
    """Return a text of variable length: if it does not fill its field, the last byte is its length."""
    return raw[: raw[-1]] if raw and not raw[raw[-1] : -1].strip(b" \0") else raw


def _plain(raw: bytes) -> str:
    """Return a number that is stored as digits."""
    return raw.decode("latin-1").strip(" \0")


def _mark(raw: bytes) -> str:
    return {"T": "true", "Y": "true", "F": "false", "N": "false"}.get(_plain(raw).upper(), "")


def _date(raw: bytes) -> str:
    """Return a day in ISO 8601; any other value unchanged."""
    day = _plain(raw)
    try:
        return datetime.date.fromisoformat(f"{day[:4]}-{day[4:6]}-{day[6:]}").isoformat()
    except ValueError:
        return day


def _nothing(_raw: bytes) -> str:
    """Return "": memos are in a separate file, to which this one only refers; objects are not text."""
    return ""


def _number(form: str, *, scale: int = 0, flipped: bool = False) -> Callable[[bytes], str]:
    """Return a reader of binary numbers; dBase 7 inverts the first bit (all of negative doubles)."""
    layout = struct.Struct(form)

    def read(raw: bytes) -> str:
        if flipped:
            if not any(raw):
                return ""
            turn = 0x80 if raw[0] & 0x80 or not form.endswith("d") else 0xFF
            raw = bytes((raw[0] ^ turn,)) + (bytes(b ^ 0xFF for b in raw[1:]) if turn == 0xFF else raw[1:])
        value = layout.unpack(raw)[0]
        return f"{value / 10**scale:.{scale}f}" if scale else repr(value)

    return read


_JULIAN_YEAR_1 = 1_721_426  # day of 0001-01-01


def _moment(raw: bytes) -> str:
    """Return day and time from milliseconds; "" for none, and for an invalid one."""
    day, milliseconds = struct.unpack("<II", raw)
    try:
        midnight = datetime.datetime.fromordinal(day - _JULIAN_YEAR_1 + 1)
        return (midnight + datetime.timedelta(milliseconds=milliseconds)).isoformat(" ", "seconds") if day else ""
    except (ValueError, OverflowError):
        return ""


_SHOWN: dict[str, Callable[[bytes], str]] = {"N": _plain, "F": _plain, "D": _date, "L": _mark}
# Readers by type, length, and whether it is dBase 7.
_BINARY: dict[tuple[str, int, bool], Callable[[bytes], str]] = {
    ("I", 4, False): _number("<i"),
    ("I", 4, True): _number(">i", flipped=True),
    ("+", 4, True): _number(">i", flipped=True),
    ("O", 8, True): _number(">d", flipped=True),
    ("B", 8, False): _number("<d"),
    ("Y", 8, False): _number("<q", scale=4),
    ("T", 8, False): _moment,
}

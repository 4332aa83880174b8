"""Cached data of other sources in a workbook of Excel 97 to 2003 ([MS-XLS]): cells of linked workbooks, the caches of
pivot tables, queries; and its names and scenarios."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

from readers.office.ole.compound import CompoundFile
from readers.office.xls.biff import Strings, records

_BUILT_IN = 0x20  # flag of a name that Excel defines itself
_STRING = 0x17  # of a formula
_SELF, _ADD_INS = 0x0401, 0x3A01  # in place of the length of a path
_CACHES = "_SX_DB_CUR"
_CONTROLS = re.compile(r"[\0-\x1f]+")  # separators of the parts of a path (2.5.277)
_FIELD, _NUMBER, _WHOLE, _TEXT, _TIME = 0xC7, 0xC9, 0xCC, 0xCD, 0xCE
_DOUBLE, _TEXT_CELL = 1, 2  # of a kept cell (2.5.239)


def _source(pieces: list[bytes]) -> Iterator[str]:
    """Yield path and sheets of another workbook (SupBook, 2.4.271)."""
    strings = Strings(pieces, 2)
    count = strings.number(2)
    if count not in (_SELF, _ADD_INS):
        yield _CONTROLS.sub("/", strings.characters(count, strings.number(1))).lstrip("/")
        yield from strings.rest()


def _outer_name(pieces: list[bytes]) -> Iterator[str]:
    """Yield a name of another workbook (ExternName, 2.4.105)."""
    yield Strings(pieces, 6).string(1)


def _cells(pieces: list[bytes]) -> Iterator[str]:
    """Yield cells of a row of another workbook (CRN, 2.4.65)."""
    strings = Strings(pieces, 4)
    while strings.more:
        kind = strings.number(1)
        if kind == _TEXT_CELL:
            yield strings.string()
        elif kind == _DOUBLE:
            yield f"{struct.unpack('<d', strings.number(8).to_bytes(8, 'little'))[0]:.15g}"
        else:
            strings.number(8)


def _name(pieces: list[bytes]) -> Iterator[str]:
    """Yield a name and its text (Lbl, 2.4.150)."""
    data = pieces[0]
    if len(data) < 15 or data[0] & _BUILT_IN:
        return
    strings = Strings(pieces, 14)
    yield strings.characters(data[3], strings.number(1))
    if strings.number(1) == _STRING:
        yield strings.string(1)


def _comment(pieces: list[bytes]) -> Iterator[str]:
    """Yield the comment on a name (NameCmt, 2.4.173)."""
    strings = Strings(pieces, 12)
    counts = strings.number(2), strings.number(2)
    for count in counts:
        yield strings.characters(count, strings.number(1))


def _filter(pieces: list[bytes]) -> Iterator[str]:
    """Yield the two texts that a filter looks for (AutoFilter, 2.4.6; 2.5.3)."""
    strings = Strings(pieces, 24)
    for place in (4, 14):
        if pieces[0][place : place + 1] == b"\6":
            yield strings.characters(pieces[0][place + 6], strings.number(1))


def _scenario(pieces: list[bytes]) -> Iterator[str]:
    """Yield name, author, comment and cell values of a scenario (Scenario, 2.4.244)."""
    data = pieces[0]
    if len(data) < 8:
        return
    strings = Strings(pieces, 7)
    yield strings.characters(data[4], strings.number(1))
    for count in (data[6], data[5]):
        if count:
            yield strings.string()
    cells = int.from_bytes(data[:2], "little")
    for _ in range(cells):
        strings.number(4)
    for _ in range(cells):
        if not strings.more:
            return
        yield strings.string()


def _text(at: int) -> Callable[[list[bytes]], Iterator[str]]:
    return lambda pieces: iter((_CONTROLS.sub(" ", Strings(pieces, at).string()).strip(),))


# By number of the record: DConRef (2.4.86) and DConName (2.4.85) have the source of a pivot table's cells,
# SXString (2.4.299) and ExtString (2.4.108) connections and queries.
READERS: dict[int, Callable[[list[bytes]], Iterator[str]]] = {
    0x1AE: _source,
    0x23: _outer_name,
    0x5A: _cells,
    0x18: _name,
    0x894: _comment,
    0x9E: _filter,
    0xAF: _scenario,
    0x51: _text(6),
    0x52: _text(0),
    0xCD: _text(0),
    0x804: _text(4),
}


def caches(compound: CompoundFile) -> Iterator[str]:
    """Yield the cached sources of pivot tables (2.1.7.9): a line for each field, with its items."""
    storage = compound.root.find(_CACHES)
    for entry in storage.children if storage else ():
        line: list[str] = []
        for _, kind, pieces in records(compound.read(entry)):
            if kind == _FIELD:
                if line:
                    yield "\t".join(line)
                line = [Strings(pieces, 14).string()]
            elif text := _item(kind, pieces):
                line.append(text)
        if line:
            yield "\t".join(line)


def _item(kind: int, pieces: list[bytes]) -> str:
    data = pieces[0]
    if kind == _TEXT:
        return Strings(pieces).string()
    if kind == _NUMBER and len(data) >= 8:
        return f"{struct.unpack_from('<d', data)[0]:.15g}"
    if kind == _WHOLE:
        return str(int.from_bytes(data[:2], "little", signed=True))
    if kind == _TIME and len(data) >= 8:
        year, month, day, hour, minute, second = struct.unpack_from("<HHBBBB", data)
        return f"{year:04}-{month:02}-{day:02}" + (
            f" {hour:02}:{minute:02}:{second:02}" if data[5:8].strip(b"\0") else ""
        )
    return ""


# Texts of a workbook of Excel 97 to 2003 outside its cells: addresses of links, and messages shown when cells are
# filled in.

_URL = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
_FILE = bytes.fromhex("0303000000000000c000000000000046")
_AT = 32  # start of the parts of a link, after the cells, a class and a version
_MONIKER, _SHOWN, _FRAME, _AS_STRING = 0x01, 0x10, 0x80, 0x100  # flags of a link
_LISTED = 0x80  # flag of a validation: its first formula is a string of choices
_ATTRIBUTE, _CHOOSE = 0x19, 0x04
_FORMULA = 22  # start of the tokens of a formula in its record
_HYPERLINK = b"\x67\x01"  # the number of the function
# Bytes of the tokens of a formula ([MS-XLS] 2.5.198.25), by number; those from 0x40 on repeat those from 0x20 on.
_SIZES = {
    **dict.fromkeys((*range(0x03, 0x17),), 1),
    0x01: 5,
    0x02: 5,
    0x1C: 2,
    0x1D: 2,
    0x1E: 3,
    0x1F: 9,
    0x20: 8,
    0x21: 3,
    0x22: 4,
    0x23: 5,
    0x24: 5,
    0x25: 9,
    0x2A: 5,
    0x2B: 9,
    0x2C: 5,
    0x2D: 9,
    0x39: 7,
    0x3A: 7,
    0x3B: 11,
    0x3C: 7,
    0x3D: 11,
}


def address(data: bytes) -> str:
    """Return the external address of an HLink ([MS-XLS] 2.4.140, [MS-OSHARED] 2.3.7.1); or ""."""
    flags, at = _number(data, _AT - 4, 4), _AT
    if not flags & _MONIKER:
        return ""
    for flag in (_SHOWN, _FRAME):
        if flags & flag:
            at += 4 + 2 * _number(data, at, 4)
    if flags & _AS_STRING:
        return _wide(data[at + 4 : at + 4 + 2 * _number(data, at, 4)])
    kind, at = data[at : at + 16], at + 16
    if kind == _URL:
        return _wide(data[at + 4 : at + 4 + _number(data, at, 4)])
    if kind != _FILE:
        return ""
    size = _number(data, at + 2, 4)
    short, at = data[at + 6 : at + 6 + size], at + 6 + size + 24
    if _number(data, at, 4):
        return data[at + 10 : at + 10 + _number(data, at + 4, 4)].decode("utf-16-le", "replace")
    return short.partition(b"\0")[0].decode("latin-1")


def validation(pieces: list[bytes]) -> Iterator[str]:
    """Yield prompts and error messages of cells, and the choices that are listed there (Dv, 2.4.90)."""
    strings = Strings(pieces, 4)
    titled, objected, asked, objection = (strings.string() for _ in range(4))
    yield from (text for text in (titled, asked, objected, objection) if text.strip("\0"))
    strings.number(4)
    if _number(pieces[0], 0, 4) & _LISTED and strings.number(1) == _STRING:
        yield strings.string(1).replace("\0", ",")


def linked(formula: bytes) -> list[str]:
    """Return the strings in the record of a formula that makes a link, the only place of the address; none for any
    other formula."""
    tokens = formula[_FORMULA : _FORMULA + _number(formula, _FORMULA - 2, 2)]
    if _HYPERLINK not in tokens:
        return []
    found: dict[str, None] = {}
    at, links = 0, False
    while at < len(tokens):
        kind = tokens[at]
        if kind == _STRING:
            count, wide = tokens[at + 1 : at + 2], tokens[at + 2 : at + 3] == b"\1"
            end = at + 3 + (2 if wide else 1) * int.from_bytes(count, "little")
            found[tokens[at + 3 : end].decode("utf-16-le" if wide else "latin-1", "replace")] = None
            at = end
            continue
        base = kind if kind < 0x40 else 0x20 | kind & 0x1F
        links = links or (base == 0x22 and tokens[at + 2 : at + 4] == _HYPERLINK)
        if kind == _ATTRIBUTE:
            at += 4 + (2 * (_number(tokens, at + 2, 2) + 1) if tokens[at + 1 : at + 2] == bytes((_CHOOSE,)) else 0)
        else:
            at += _SIZES.get(base, len(tokens))
    return [text for text in found if text] if links else []


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _wide(data: bytes) -> str:
    """Decode text up to its terminating zero."""
    return data.decode("utf-16-le", "replace").partition("\0")[0]

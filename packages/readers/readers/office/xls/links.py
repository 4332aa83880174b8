"""Texts of a workbook of Excel 97 to 2003 outside its cells: addresses of links, and messages shown when cells are
filled in."""

from __future__ import annotations

from collections.abc import Iterator

from readers.office.xls.biff import Strings

_URL = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
_FILE = bytes.fromhex("0303000000000000c000000000000046")
_AT = 32  # behind the cells, a class and a version: where the parts of a link begin
_MONIKER, _SHOWN, _FRAME, _AS_STRING = 0x01, 0x10, 0x80, 0x100  # flags of a link
_LISTED = 0x80  # flag of a validation: its first formula is a string of choices
_STRING, _ATTRIBUTE, _CHOOSE = 0x17, 0x19, 0x04
_FORMULA = 22  # where the tokens of a formula begin in its record
_HYPERLINK = b"\x67\x01"  # the number of the function
# Bytes of the tokens of a formula ([MS-XLS] 2.5.198.25), by number; those from 0x40 on are those from 0x20 on again.
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
    """Where an HLink leads to outside of the workbook ([MS-XLS] 2.4.140, [MS-OSHARED] 2.3.7.1); "" where that is nowhere."""
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
    """What cells ask for and object to when they are filled in, and the choices that are listed there (Dv, 2.4.90)."""
    strings = Strings(pieces, 4)
    titled, objected, asked, objection = (strings.string() for _ in range(4))
    yield from (text for text in (titled, asked, objected, objection) if text.strip("\0"))
    strings.number(4)
    if _number(pieces[0], 0, 4) & _LISTED and strings.number(1) == _STRING:
        yield strings.string(1).replace("\0", ",")


def linked(formula: bytes) -> list[str]:
    """Return the strings in the record of a formula that makes a link, the only place of the address; none of any other
    formula."""
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
    """Text up to its end, which is a zero."""
    return data.decode("utf-16-le", "replace").partition("\0")[0]

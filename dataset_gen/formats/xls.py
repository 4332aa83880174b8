"""Workbooks of Excel 97 to 2003 ([MS-XLS], BIFF8): sheets of numbers and words with shared strings, properties."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable

from dataset_gen.formats import ole_package
from dataset_gen.made import Made, Order, branch
from dataset_gen.material.text import prose
from readers import cfb

MEDIA_TYPE = "application/vnd.ms-excel"
CLASS = bytes.fromhex("2008020000000000c000000000000046")  # {00020820-0000-0000-C000-000000000046}
_FIXED = 8_000  # bytes of a workbook of one row
_ROW_BYTES = 140
_ROWS_A_SHEET = 3_000
_HEADS = ("Number", "Amount", "Share", "Remark")
_LARGEST_RECORD = 8_224
_SHORTEST = 4_096
_PLAIN, _PERCENT, _DATE = 15, 16, 17  # cell formats
# One row: ROW is left out (2.4.221 is optional); NUMBER, NUMBER in hundredths, NUMBER as a percentage, a shared string.
_ROW = struct.Struct("<" + "HHHHHd" * 3 + "HHHHHI")
_HEAD_CELL = struct.Struct("<HHHHHI")
_NUMBER, _LABELSST = 0x0203, 0x00FD


def record(kind: int, data: bytes = b"") -> bytes:
    """Return a record (2.1.4)."""
    return struct.pack("<HH", kind, len(data)) + data


def build(order: Order) -> Made:
    """Build as many rows as the requested size needs, over several sheets; some workbooks hide the last one."""
    dice = order.dice
    rows = max(3, (order.size - _FIXED) // _ROW_BYTES)
    counts = [min(_ROWS_A_SHEET, rows - start) for start in range(0, rows, _ROWS_A_SHEET)]
    strings: dict[str, int] = {}
    sheets = [
        _sheet(order, count, strings, order.terms if number == len(counts) - 1 else ())
        for number, count in enumerate(counts)
    ]
    stream = _workbook(sheets, strings, hide_last=len(sheets) > 1 and dice.chance(0.3))
    title = prose().title(dice)
    own = {"Workbook": stream.ljust(_SHORTEST, b"\0"), **ole_package.summary(dice, title, "Microsoft Excel")}
    own["\x01CompObj"] = ole_package.comp_obj(CLASS, "Microsoft Excel Worksheet", "Excel.Sheet.8")
    data = cfb.write(cfb.Storage(clsid=CLASS, streams=own))
    return branch(data, MEDIA_TYPE, own=own.values(), terms=order.terms)


def _sheet(order: Order, count: int, strings: dict[str, int], terms: tuple[str, ...]) -> bytes:
    """Return a sheet's substream (2.1.7.20.5); new strings are added to `strings`."""
    dice, words = order.dice, prose().plain
    planted = dict(enumerate(terms, start=1))
    out = [record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0x0DBB, 0x07CC, 0, 6))]
    out.append(record(0x0200, struct.pack("<IIHHH", 0, count + 1, 0, len(_HEADS), 0)))  # DIMENSIONS
    for column, head in enumerate(_HEADS):
        index = strings.setdefault(head, len(strings))
        out.append(_HEAD_CELL.pack(_LABELSST, 10, 0, column, _PLAIN, index))
    for row in range(1, count + 1):
        n = dice.below(1_000_000_000)
        remark = planted.get(row) or dice.pick(words)
        dice.characters += len(remark) + 25  # with the numbers
        out.append(
            _ROW.pack(
                *(_NUMBER, 14, row, 0, _PLAIN, float(n)),
                *(_NUMBER, 14, row, 1, _PLAIN, n % 9_999_991 / 100),
                *(_NUMBER, 14, row, 2, _PERCENT, n % 997 / 1000),
                *(_LABELSST, 10, row, 3, _PLAIN, strings.setdefault(remark, len(strings))),
            )
        )
    out.append(record(0x023E, struct.pack("<HHHIHHI", 0x06B6, 0, 0, 64, 0, 0, 0)))  # WINDOW2
    out.append(record(0x000A))
    return b"".join(out)


def _workbook(sheets: list[bytes], strings: dict[str, int], *, hide_last: bool) -> bytes:
    """Return the whole stream: globals, which say where each sheet begins, then the sheets."""
    shared = b"".join(_shared_strings(strings))
    names = [f"Sheet{number}".encode() for number in range(1, len(sheets) + 1)]
    at = len(_globals()) + sum(12 + len(name) for name in names) + len(shared) + 4
    listed = []
    for number, (name, sheet) in enumerate(zip(names, sheets, strict=True), start=1):
        hidden = int(hide_last and number == len(sheets))
        listed.append(record(0x0085, struct.pack("<IBBBB", at, hidden, 0, len(name), 0) + name))
        at += len(sheet)
    return b"".join((_globals(), *listed, shared, record(0x000A), *sheets))


@functools.cache
def _globals() -> bytes:
    """Return the globals substream (2.1.7.20.3) up to the list of sheets."""
    name = b"Arial"
    fonts = [record(0x0031, struct.pack("<HHHHHBBBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0, len(name), 0) + name)] * 4
    formats = [_cell_format(style=True)] * _PLAIN
    formats += [_cell_format(number) for number in (0, 10, 14)]
    parts = [
        record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0x0DBB, 0x07CC, 0, 6)),
        record(0x0042, struct.pack("<H", 1200)),
        record(0x003D, struct.pack("<HHHHHHHHH", 0, 0, 16_000, 9_000, 0x38, 0, 0, 1, 600)),  # WINDOW1
        record(0x0022, struct.pack("<H", 0)),
        *fonts,
        *formats,
        record(0x0293, struct.pack("<HBB", 0x8000, 0, 0xFF)),  # STYLE: Normal
    ]
    return b"".join(parts)


def _cell_format(number: int = 0, *, style: bool = False) -> bytes:
    """XF (2.4.353): all left to the defaults but the number format."""
    parent = 0xFFF5 if style else 0x0001
    return record(0x00E0, struct.pack("<HHHBBBBIIH", 0, number, parent, 0x20, 0, 0, 0, 0, 0, 0x20C0))


def _shared_strings(strings: Iterable[str]) -> Iterable[bytes]:
    """SST (2.4.265) and its Continue records, which begin where a string does."""
    listed = list(strings)
    kind, size, data = 0x00FC, 8, [struct.pack("<II", len(listed), len(listed))]
    for text in listed:
        raw = struct.pack("<HB", len(text), 0) + text.encode("latin-1")
        if size + len(raw) > _LARGEST_RECORD:
            yield record(kind, b"".join(data))
            kind, size, data = 0x003C, 0, []
        data.append(raw)
        size += len(raw)
    yield record(kind, b"".join(data))

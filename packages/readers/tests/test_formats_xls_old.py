"""Workbooks of Excel 2, 3 and 4, and of 5 to 2003 outside compound files: one stream of records."""

from __future__ import annotations

import random
import struct

import pytest
from old_office import END, begin, biff

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.xls.old import OldXlsHandler

HANDLER = OldXlsHandler()
Record = tuple[int, bytes]


def read(stream: bytes) -> Text:
    return HANDLER.text(MemorySource(b"x.xls", stream), Limits())


def start(version: int, kind: int = 0x10) -> Record:
    """BOF of Excel 2, 3 or 4: a sheet (0x10) or a workbook of several (0x100)."""
    return {2: 0x09, 3: 0x209, 4: 0x409}[version], struct.pack("<HH", 0, kind) + bytes(0 if version == 2 else 2)


def at(version: int, row: int, column: int, style: int = 0) -> bytes:
    """Where a cell is and how it looks, for which Excel 2 has three bytes."""
    return struct.pack("<HH", row, column) + (bytes([style, 0, 0]) if version == 2 else struct.pack("<H", style))


def short(text: str, codec: str = "cp1252") -> bytes:
    raw = text.encode(codec)
    return bytes([len(raw)]) + raw


def number(value: float) -> bytes:
    return struct.pack("<d", value)


def cells(version: int) -> list[Record]:
    """A row of each kind of cell, under the numbers that they have in this version."""
    more = 0 if version == 2 else 0x200
    said = short("Zitronen") if version == 2 else struct.pack("<H", 8) + b"Zitronen"
    string = short("made") if version == 2 else struct.pack("<H", 4) + b"made"
    formula = {2: 0x06, 3: 0x206, 4: 0x406}[version]
    first = (
        (0x02, at(2, 0, 0) + struct.pack("<H", 7))
        if version == 2
        else (0x27E, at(version, 0, 0) + struct.pack("<I", 7 << 2 | 2))
    )
    return [
        first,
        (0x03 | more, at(version, 0, 1) + number(1.5)),
        (0x03 | more, at(version, 0, 2, 1) + number(32_874)),
        (0x04 | more, at(version, 1, 0) + said),
        (0x05 | more, at(version, 1, 1) + b"\1\0"),
        (formula, at(version, 2, 0) + number(6.25) + bytes(4)),
        (formula, at(version, 2, 1) + b"\0\0\0\0\0\0\xff\xff" + bytes(4)),
        (0x07 | more, string),
    ]  # fmt: skip


def before(version: int) -> list[Record]:
    """Code page, two number formats, two cell formats."""
    code = [(0x41E, b"\0\0" + short(f)) if version == 4 else (0x1E, short(f)) for f in ("General", "d.m.yy")]
    looks = [
        {2: (0x43, bytes([0, 0, n, 0])), 3: (0x243, bytes([0, n]) + bytes(10)), 4: (0x443, bytes([0, n]) + bytes(10))}
        for n in (0, 1)
    ]
    return [(0x42, struct.pack("<H", 0x8001)), *code, *[look[version] for look in looks]]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_kind_of_cell(version: int) -> None:
    note = (0x1C, struct.pack("<HHH", 0, 0, 6) + b"a note")
    out = read(biff(start(version), *before(version), (0x14, short("&LDraft")), *cells(version), note, END))
    assert out.error is None
    assert out.text.splitlines() == ["Draft", "7\t1.5\t1990-01-01", "Zitronen\tTRUE", "6.25\tmade", "a note"]


def test_a_workbook_of_excel_4() -> None:
    sheets = []
    for name in ("Sales", "Costs"):
        stream = [start(4), *cells(4)[3:4], END]
        sheets += [(0x8F, struct.pack("<I", len(biff(*stream))) + short(name)), *stream]
    out = read(biff(start(4, 0x100), (0x85, short("Sales")), *sheets, END))
    assert out.text.splitlines() == ["Sales", "Zitronen", "Costs", "Zitronen"]
    assert out.error is None


def test_the_code_page() -> None:
    said = "Отчёт о продажах".encode("cp1251")
    label = (0x204, at(3, 0, 0) + struct.pack("<H", len(said)) + said)
    assert read(biff(start(3), (0x42, struct.pack("<H", 1251)), label, END)).text == "Отчёт о продажах\n"


def test_excel_5_without_a_compound_file() -> None:
    label = (0x204, struct.pack("<HHH", 0, 0, 0) + struct.pack("<H", 5) + b"alone")
    stream = biff(begin(5, 0x500), END, begin(version=0x500), label, END)
    assert identify(MemorySource(b"x.xls", stream)) == "application/vnd.ms-excel.sheet.5"
    assert read(stream).text == "alone\n"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_they_are_known_by_their_bytes(version: int) -> None:
    assert identify(MemorySource(b"x", biff(start(version), END))) == f"application/vnd.ms-excel.sheet.{version}"


def test_a_password_is_said() -> None:
    with pytest.raises(DocumentError) as caught:
        read(biff(start(4), (0x2F, bytes(4)), END))
    assert caught.value.code is ExceptionCode.ENCRYPTED


def test_cut_in_the_middle_keeps_what_was_read() -> None:
    out = read(biff(start(3), *cells(3))[:-3])
    assert out.text.startswith("7\t1.5")
    assert out.error is not None
    assert out.error.code is ExceptionCode.TRUNCATED


def test_mutants_raise_document_errors_only() -> None:
    chance = random.Random(4)
    for version in (2, 3, 4) * 60:
        data = bytearray(biff(start(version), *before(version), *cells(version), END))
        for _ in range(chance.choice((1, 3, 12))):
            data[chance.randrange(4, len(data))] = chance.choice((0, 0xFF, chance.randrange(256)))
        try:
            read(bytes(data[: chance.choice((len(data), chance.randrange(4, len(data))))]))
        except DocumentError:
            continue

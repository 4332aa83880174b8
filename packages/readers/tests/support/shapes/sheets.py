"""Old workbooks, Access databases, tables of dBase and their memos, tables as text."""

import itertools
import struct

from access_file import LONG, MEMO, SPARE, Column, Given, Maker, elsewhere, maker
from old_office import END, begin, biff, sheet, workbook

from readers.cfb import Storage, write
from shapes.shape import shapes

_CELL = struct.Struct("<HHH")
_NUMBER, _SHARED, _FORMAT, _XF, _SST, _CONTINUE, _LABEL = 0x203, 0xFD, 0x41E, 0xE0, 0xFC, 0x3C, 0x204


_SHEET = b'<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet>%b</Worksheet></Workbook>'


def _text(text: bytes) -> bytes:
    return struct.pack("<HB", len(text), 0) + text


def _book(*records: tuple[int, bytes], before: tuple[tuple[int, bytes], ...] = ()) -> bytes:
    return workbook(biff(begin(5), sheet(0, "S"), *before, END, begin(), *records, END))


def _wide(n: int) -> bytes:
    return _book(*[(_NUMBER, _CELL.pack(0, i % 256, 0) + struct.pack("<d", 1.5)) for i in range(n)])


def _long(n: int) -> bytes:
    return _book(*[(_NUMBER, _CELL.pack(i % 65536, 0, 0) + struct.pack("<d", 1.5)) for i in range(n)])


def _strings(n: int) -> bytes:
    """Shared strings, each piece in a record of its own."""
    pieces = [(_CONTINUE, _text(b"a"))] * n
    return _book(before=((_SST, struct.pack("<II", n, n)), *pieces))


def _one_string(n: int) -> bytes:
    """One string over very many records."""
    return _book((_LABEL, _CELL.pack(0, 0, 0) + struct.pack("<HB", 65535, 0) + b"a"), *[(_CONTINUE, b"\0a")] * n)


def _codes(n: int) -> bytes:
    """Cell formats, all with the same long code."""
    code = (_FORMAT, struct.pack("<H", 200) + _text(b"[" * min(8_000, 10 * n)))
    return _book(before=(code, *[(_XF, struct.pack("<HH", 0, 200) + bytes(16))] * n))


def _boundsheets(n: int) -> bytes:
    return workbook(biff(begin(5), *[sheet(i, "S") for i in range(n)], END))


def _other_books(n: int) -> bytes:
    """Each record that keeps something, cut short in every way."""
    records = [(kind, bytes((1, 0, 9, 0)) * 5) for kind in (0x1AE, 0x23, 0x5A, 0x18, 0x894, 0xAF, 0x51, 0xCD)]
    return _book(*records * (n // 8), (0x1AE, struct.pack("<HHB", 65535, 1, 0) + b"a" + _text(b"b") * n))


def _excel_2(n: int) -> bytes:
    """Cells of Excel 2, and very many number formats."""
    cells = [(0x04, struct.pack("<HH", i // 9, i % 9) + b"\0\0\0\x01a") for i in range(n)]
    return biff((0x09, bytes(4)), *[(0x1E, b"\x02[d"), (0x43, bytes(4))] * n, *cells, END)


def _excel_4(n: int) -> bytes:
    """Very many sheets, none of which ends."""
    return biff((0x409, bytes(6)), *[(0x8F, b"\0\0\0\0\x01a"), (0x409, bytes(6))] * n)


def _storages(n: int) -> bytes:
    return write(Storage(streams={f"{i:06}": b"a" for i in range(n)}))


def _properties(n: int) -> bytes:
    """A stream of properties that all have the same long value."""
    count = min(n, 2000)
    places = b"".join(struct.pack("<II", 2 + i, 8 + 8 * count) for i in range(count))
    section = struct.pack("<II", 0, count) + places + struct.pack("<II", 0x1E, 4000) + b"a" * 4000
    head = b"\xfe\xff" + bytes(22) + struct.pack("<I", 1) + bytes(16) + struct.pack("<I", 48)
    return write(Storage(streams={"\x05SummaryInformation": head + section, "x": bytes(100 * n)}))


def _dbf(n: int, fields: int = 1) -> bytes:
    names = b"".join(b"F%09d\0C" % i + bytes(4) + b"\x01" + bytes(15) for i in range(fields))
    head = struct.pack("<B3BIHH", 3, 99, 1, 1, n, 33 + 32 * fields, 1 + fields) + bytes(20)
    return head + names + b"\r" + (b" " + b"a" * fields) * n


def _foxpro(n: int) -> bytes:
    """Memos whose lengths reach beyond the end."""
    first = b"\0\0\0\x01" + struct.pack(">I", 4) + b"abcd"
    head = bytes(6) + struct.pack(">H", 1) + bytes(504)
    return head + first + (b"\0\0\0\x01" + struct.pack(">I", 1 << 30)) * n


_NUMBERS, _MEMOS = (Column("c", LONG),), (Column("c", MEMO),)


def _tables(n: int) -> list[Given]:
    return [Given(f"T{i}", _NUMBERS, [(b"\1\0\0\0",)]) for i in range(n)]


def _chains(n: int) -> bytes:
    """Long values that all go through the same pages, one after the other, each of which leads to the next."""
    make = Maker()
    spare = [make.data(b"LVAL", [struct.pack("<I", SPARE + 1 + i << 8) + b"a" * 500]) for i in range(n)]
    return maker(Given("T", _MEMOS, [(elsewhere(500 * n, SPARE, 0),)] * n), spare=spare).whole()


def _maps(n: int) -> bytes:
    """Tables each of which claims all pages."""
    made = maker(*_tables(n))
    everything = b"\0" + bytes(4) + b"\xff" * (len(made.pages) // 8)
    for number, page in enumerate(made.pages):
        if page[0] == 2:
            made.pages[number + 1 if number > 2 else 0] = made.data(0, [everything])
    return made.whole()


def _definitions(n: int) -> bytes:
    """Tables whose definitions all go on in the next one's."""
    made = maker(*_tables(n))
    numbers = [number for number, page in enumerate(made.pages) if page[0] == 2 and number > 2]
    for number, following in itertools.pairwise(numbers):
        page = made.pages[number]
        made.pages[number] = page[:4] + struct.pack("<I", following) + page[8:]
    return made.whole()


SHAPES = [
    *shapes(
        "application/x-msaccess",
        ("rows", 5_000, lambda n: maker(Given("T", _NUMBERS, [(b"\1\0\0\0",)] * n)).whole()),
        ("tables", 100, lambda n: maker(*_tables(n)).whole()),
        ("columns", 100, lambda n: maker(*[Given(f"T{i}", _NUMBERS * 200, []) for i in range(n // 10)]).whole()),
        ("long values in one chain", 100, _chains),
        ("tables that claim all pages", 100, _maps),
        ("definitions that go on in one another", 100, _definitions),
    ),
    *shapes(
        "application/vnd.ms-excel",
        ("a wide row", 2_000, _wide),
        ("a long column", 2_000, _long),
        ("shared strings in pieces", 3_000, _strings),
        ("one string in pieces", 3_000, _one_string),
        ("cell formats and a long code", 200, _codes),
        ("sheets", 2_000, _boundsheets),
        ("names and sheets of other workbooks", 2_000, _other_books),
    ),
    *shapes(
        "application/vnd.ms-spreadsheetml",
        ("rows", 2_000, lambda n: _SHEET % (b"<Row><Cell><Data>a</Data></Cell></Row>" * n)),
        ("a wide row", 3_000, lambda n: _SHEET % (b"<Row>" + b"<Cell><Data>a</Data></Cell>" * n + b"</Row>")),
    ),
    *shapes("application/vnd.ms-excel.sheet.2", ("cells and formats of Excel 2", 2_000, _excel_2)),
    *shapes("application/vnd.ms-excel.sheet.4", ("sheets of Excel 4", 3_000, _excel_4)),
    *shapes(
        "application/x-ole-storage",
        ("streams", 1_000, _storages),
        ("properties of one value", 1_000, _properties),
    ),
    *shapes(
        "application/x-dbf",
        ("records", 3_000, _dbf),
        ("fields", 500, lambda n: _dbf(20, min(n, 2_000)) + b" " * n),
    ),
    *shapes(
        "application/x-dbt",
        ("memos that reach too far", 3_000, _foxpro),
        ("memos of dBase IV", 3_000, lambda n: bytes(512) + (b"\xff\xff\x08\x00" + struct.pack("<I", 10) + b"ab") * n),
        ("memos of dBase III", 500, lambda n: bytes(512) + b"a\x1a".ljust(512, b"\0") * n),
    ),
    *shapes(
        "text/csv",
        ("rows", 5_000, lambda n: b"a,b\n" * n),
        ("a wide row", 10_000, lambda n: b"a," * n),
        ("quotation marks", 10_000, lambda n: b'"a",\n' * n),
        ("an open quotation mark", 5_000, lambda n: b'a,"b\n' + b"c\n" * n),
    ),
]

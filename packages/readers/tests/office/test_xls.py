"""Workbooks: strings over several records, every kind of cell, text outside of cells, passwords, bounds."""

import random
import struct
import time
import zlib
from datetime import datetime
from pathlib import Path

import pytest
import xlrd
from as_found import read_by
from hypothesis import given
from hypothesis import strategies as st
from old_office import END, begin, biff, holding, packager, record, sheet, wide, workbook

from core.records import Limits
from readers.base import MemorySource, Text
from readers.cfb import Storage
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.cell_formats import NumberFormat, Styles, number_text, style_of
from readers.office.xls.biff import Strings, rk
from readers.office.xls.handler import OldXlsHandler, XlsHandler
from readers.records import TextState

ROM = Path(__file__).parents[4].parent / "shared/data/real-files/ingest-file/rom.xls"
HANDLER = XlsHandler()


def read(stream: bytes, limits: Limits | None = None, name: str = "Workbook") -> Text:
    return HANDLER.text(MemorySource(b"x.xls", workbook(stream, name)), limits or Limits())


def cell(row: int, column: int, style: int, rest: bytes) -> bytes:
    return struct.pack("<HHH", row, column, style) + rest


def double(value: float) -> bytes:
    return struct.pack("<d", value)


def test_every_kind_of_cell() -> None:
    formats = [(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, 14, 10, 164)]
    before = [begin(5), (0x41E, struct.pack("<H", 164) + wide("[Red]yyyy\\-mm")), *formats]
    strings = (0xFC, struct.pack("<II", 1, 1) + wide("größer"))
    start = len(biff(*before, sheet(0, "Ünited"), strings, END))
    rows = [
        (0x203, cell(0, 0, 0, double(1.5))),
        (0x27E, cell(0, 1, 0, struct.pack("<I", 123 << 2 | 3))),
        (0xBD, struct.pack("<HHHIHIH", 0, 2, 0, 7 << 2 | 2, 2, 25 << 2 | 3, 3)),
        (0x203, cell(1, 0, 1, double(40_000))),
        (0x203, cell(1, 1, 3, double(40_000.5))),
        (0xFD, cell(2, 0, 0, struct.pack("<I", 0))),
        (0xFD, cell(2, 1, 0, struct.pack("<I", 99))),
        (0x204, cell(2, 2, 0, wide("label"))),
        (0x205, cell(3, 0, 0, b"\1\0")),
        (0x205, cell(3, 1, 0, b"\x2a\1")),
        (0x205, cell(3, 2, 0, b"\1")),  # cut
        (0x06, cell(4, 0, 0, double(6.25) + bytes(8))),
        (0x06, cell(4, 1, 0, b"\0\0\0\0\0\0\xff\xff" + bytes(8))),
        (0x207, wide("made")),
        (0x06, cell(4, 2, 0, b"\1\0\1\0\0\0\xff\xff" + bytes(8))),
    ]
    out = read(biff(*before, sheet(start, "Ünited", hidden=2), strings, END, begin(), *rows, END))
    assert out.error is not None  # one cell shows a string by a number that there is not
    assert "1 cells" in out.error.detail
    assert out.text.splitlines() == [
        "Ünited",
        "1.5\t1.23\t7\t25%",
        "2009-07-06\t2009-07-06 12:00:00",
        "größer\tlabel",
        "TRUE\t#N/A",
        "6.25\tmade\tTRUE",
    ]


def test_the_same_number_again_is_shown_in_the_format_of_its_cell() -> None:
    """In another format, as a double or packed, after formats that come late, and thousands of others between; what goes on behind such a
    record is none of it, and one that is cut short is said."""
    styles = [(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, 14, 10)]
    packed = struct.pack("<I", 40_000 << 2 | 2)
    row = [
        *((0x203, cell(0, style, style, double(40_000))) for style in (0, 1, 2, 3, 0, 1)),
        *((0x27E, cell(0, style, style, packed)) for style in (0, 1, 2, 3, 1)),
        (0xBD, struct.pack("<HHHIHIHIH", 0, 9, 0, 40_000 << 2 | 2, 1, 40_000 << 2 | 2, 2, 40_000 << 2 | 2, 11)),
    ]
    others = [(0x203, cell(1, n, 1, double(n + 0.5))) for n in range(5_000)]
    late = (0xE0, struct.pack("<HH16x", 0, 9))
    again = [(0x203, cell(2, 0, 3, double(40_000))), (0x3C, bytes(9)), (0x27E, cell(2, 1, 1, packed)), (0x3C, b"more")]
    date, share = "2009-07-06", "4000000%"
    shown = ["40000", date, share, "40000", "40000", date, "40000", date, share, "40000", date, "40000", date, share]
    before = biff(begin(5), *styles, END, begin(), *row, *others, late, *again)
    out = read(before + biff(END))
    lines = out.text.splitlines()
    assert lines[0].split("\t") == shown
    assert lines[2].split("\t") == ["4000000%", date]
    assert out.error is None
    cut = read(before[:-18] + biff((0x203, cell(3, 0, 0, double(8))))[:-3])
    assert cut.error is not None
    assert cut.text.splitlines()[:2] == lines[:2]


def test_readings_of_strings_and_words_next_to_numbers() -> None:
    reading = "トウキョウ"
    words = struct.pack("<HH", 0, len(reading)) + struct.pack("<H", len(reading)) + reading.encode("utf-16-le")
    extended = struct.pack("<HHHH", 1, len(words) + 4, 0, 0) + words
    string = struct.pack("<HBI", 2, 5, len(extended)) + "東京".encode("utf-16-le") + extended
    shared = struct.pack("<II", 2, 2) + string
    form = (0x41E, struct.pack("<H", 164) + wide('0 "pieces"'))
    styles = [(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, 164)]
    strings = [(0xFC, shared[:30]), (0x3C, shared[30:] + wide("next"))]
    rows = [
        (0xFD, cell(0, 0, 0, struct.pack("<I", 0))),
        (0xFD, cell(0, 1, 0, struct.pack("<I", 1))),
        (0x203, cell(0, 2, 1, double(5))),
    ]
    out = read(biff(begin(5), form, *styles, *strings, END, begin(), *rows, END))
    assert out.text == "東京 トウキョウ\tnext\t5 pieces\n"


def test_headers_notes_boxes_and_charts() -> None:
    note = (0x1C, struct.pack("<HHHH", 0, 0, 0, 1) + wide("Ann"))
    box = [(0x1B6, struct.pack("<10xH6x", 6)), (0x3C, b"\0remark"), (0x3C, bytes(16))]
    header = (0x14, wide('&L&"Arial,Bold"&12Draft&CPage &P'))
    chart = [begin(0x20), (0x100D, b"\0\0\5\0Sales"), END]
    out = read(biff(begin(5), END, begin(), header, *chart, *box, note, END))
    assert out.text.splitlines() == ["Draft Page", "Sales", "remark", "Ann"]


def test_headers_and_footers() -> None:
    """Codes are left out whole, what stands behind a doubled sign is text; even and first pages have their own."""
    header = (0x14, wide("&LR&&D&KFF0000 secret &CPage&R&"))
    texts = ["&Ceven", "", "&Lfirst", "end &D"]
    counts = struct.pack("<4H", *map(len, texts))
    others = (0x89C, bytes(28) + bytes(2) + counts + b"".join(wide(text) for text in texts if text))
    out = read(biff(begin(5), END, begin(), header, others, (0x89C, bytes(33)), END))
    assert out.text.splitlines() == ["R&D secret Page &", "even", "first", "end"]
    assert out.error is None


@given(
    st.lists(st.tuples(st.text("aé中 ", max_size=30), st.integers(0, 2), st.booleans()), max_size=12),
    st.integers(0, 2**32),
)
def test_shared_strings_run_on_anywhere(strings: list[tuple[str, int, bool]], seed: int) -> None:
    chance = random.Random(seed)
    pieces = [bytearray(8)]
    for text, runs, reading in strings:
        flag = int(not text.isascii() and any(ord(c) > 255 for c in text))
        head = struct.pack("<HB", len(text), flag | (8 if runs else 0) | (4 if reading else 0))
        head += struct.pack("<H", runs) if runs else b""
        pieces[-1] += head + (struct.pack("<I", 5) if reading else b"")
        for position, character in enumerate(text):
            if position and chance.random() < 0.3:
                flag = chance.randint(int(any(ord(c) > 255 for c in text[position:])), 1)
                pieces.append(bytearray([flag]))
            pieces[-1] += character.encode("utf-16-le" if flag else "latin-1")
        pieces[-1] += bytes(4 * runs) + (b"READS" if reading else b"")
    reader = Strings([bytes(p) for p in pieces], 8)
    found = []
    while reader.more:
        found.append(reader.string())
    assert found == [text for text, _, _ in strings]
    assert list(Strings([bytes(p) for p in pieces], 8).rest()) == found


@pytest.mark.parametrize(
    ("word", "value"),
    [(0x3FF00000, 1.0), (0x3FF00001, 0.01), (5 << 2 | 2, 5.0), (0xFFFFFFFE, -1.0), (0xFFFFFFFF, -0.01)],
)
def test_packed_numbers(word: int, value: float) -> None:
    """The four forms of [MS-XLS] 2.5.218."""
    assert rk(word) == value


@pytest.mark.parametrize("version", [0x500, 0x600])
@pytest.mark.parametrize(("message", "page"), [("Привет", 1251), ("Протокол совещания и договор поставки", 1252)])
def test_excel_5_is_read_in_its_code_page(message: str, page: int, version: int) -> None:
    """Byte strings in a stream named Book; where they contradict the code page, in what they are. The globals say which
    version all of it is of: Excel 2011 for the Macintosh says another of the sheets."""
    text = message.encode("cp1251")
    label = (0x204, cell(0, 0, 0, struct.pack("<H", len(text)) + text))
    head = [begin(5, 0x500), (0x42, struct.pack("<H", page))]
    start = len(biff(*head, sheet(0, "Old", old=True), END))
    stream = biff(*head, sheet(start, "Old", old=True), END, begin(version=version), label, END)
    assert read(stream, name="Book").text.splitlines() == ["Old", message]


@pytest.mark.parametrize("name", [b"", b"Box", b"Note"])
def test_boxes_of_excel_5(name: bytes) -> None:
    printed = "Договор поставки".encode("cp1251")

    def thing(kind: int) -> tuple[int, bytes]:
        head = struct.pack("<IHHH16xHxxHxx", 1, kind, 1, 0, 4, len(name))
        titled = bytes((len(name),)) + name if name else b""
        titled += bytes(len(titled) % 2)
        return 0x5D, head + bytes(10) + struct.pack("<H24x", len(printed)) + titled + b"call" + printed + bytes(16)

    page = (0x42, struct.pack("<H", 1251))
    out = read(biff(begin(5, 0x500), page, END, begin(version=0x500), thing(6), thing(1), thing(7), END), name="Book")
    assert out.text.splitlines() == ["Договор поставки"] * 2
    assert out.error is None


def test_a_password_is_reported() -> None:
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        read(biff(begin(5), (0x2F, bytes(6)), END))


def test_cut_in_the_middle_keeps_what_was_read() -> None:
    rows = [(0x204, cell(row, 0, 0, wide(f"row {row}"))) for row in range(5)]
    out = read(biff(begin(5), END, begin(), *rows)[:-3])
    assert out.text.splitlines()[:4] == [f"row {row}" for row in range(4)]
    assert (out.error and out.error.code) is ExceptionCode.TRUNCATED


def test_one_string_in_very_many_cells_is_bounded() -> None:
    shared = (0xFC, struct.pack("<II", 1, 1) + wide("x" * 4_000))
    cells = [(0xFD, cell(0, column % 256, 0, bytes(4))) for column in range(20_000)]
    out = read(biff(begin(5), shared, END, begin(), *cells, END), Limits(text_characters=3_000_000))
    assert (len(out.text), out.state) == (3_000_000, TextState.TRUNCATED_BY_LIMIT)


def test_embedded_objects() -> None:
    storages = [
        Storage("MBD0001", streams={"\x01Ole10Native": packager(b"old.txt", b"hello", wide="ünicode.txt")}),
        Storage("_VBA_PROJECT_CUR", streams={"dir": b"x"}),
    ]
    jpg = b"\xff\xd8\xff" + bytes(range(256)) * 40
    drawings = holding(
        0xF000, holding(0xF001, record(0xF007, bytes(36) + record(0xF01D, bytes(17) + jpg, 0x46A), 5, 2))
    )
    group = [(0xEB, drawings[:8_000]), (0x3C, drawings[8_000:])]
    data = workbook(biff(begin(5), *group, END), storages=storages)
    found = list(HANDLER.children(MemorySource(b"x.xls", data), Limits()))
    assert [(c.name, c.ordinal, c.data) for c in found] == [
        ("ünicode.txt".encode(), 0, b"hello"),
        (b"picture1.jpg", 1, jpg),
    ]


def test_pictures_that_continue_in_a_second_record_and_metafiles() -> None:
    png, emf = b"\x89PNG" + bytes(range(256)) * 40, b"\1\0\0\0" + b"line" * 500
    pieces = record(0xF01E, bytes(17) + png, 0x6E0)
    for size, packed in ((len(emf), zlib.compress(emf)), (10**9, zlib.compress(emf)), (len(emf), b"damaged")):
        head = struct.pack("<16xI24xIBB", size, len(packed), 0, 0xFE)
        pieces += record(0xF01A, head + packed, 0x3D4)
    pieces += record(0xF01C, struct.pack("<32xI24xIBB", 4, 4, 0xFE, 0xFE) + b"pict", 0x543)
    drawings = holding(0xF000, holding(0xF001, record(0xF007, bytes(36) + pieces, 5, 2)))
    group = [(0xEB, drawings[:8_000]), (0xEB, drawings[8_000:])]
    found = list(HANDLER.children(MemorySource(b"x.xls", workbook(biff(begin(5), *group, END))), Limits()))
    assert [(c.name, c.data) for c in found] == [
        (b"picture1.png", png),
        (b"picture2.emf", emf),
        (b"picture3.pict", bytes(512) + b"pict"),
    ]


@pytest.mark.skipif(not ROM.is_file(), reason="the real files are not on this machine")
def test_a_real_workbook_as_xlrd_reads_it() -> None:
    data = ROM.read_bytes()
    text = HANDLER.text(MemorySource(b"rom.xls", data), Limits()).text
    book = xlrd.open_workbook(file_contents=data)
    cells = {c.value for s in book.sheets() for row in s.get_rows() for c in row if c.ctype == xlrd.XL_CELL_TEXT}
    found = {part for line in text.splitlines() for part in line.split("\t")}
    assert len(cells) > 300
    assert {value for value in cells if "\n" not in value} <= found | {""}


read_of_old_excel, _ = read_by(OldXlsHandler())
Record = tuple[int, bytes]


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
    printed = short("Zitronen") if version == 2 else struct.pack("<H", 8) + b"Zitronen"
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
        (0x04 | more, at(version, 1, 0) + printed),
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
def test_every_kind_of_cell_of_old_excel(version: int) -> None:
    note = (0x1C, struct.pack("<HHH", 0, 0, 6) + b"a note")
    out = read_of_old_excel(
        biff(start(version), *before(version), (0x14, short("&LDraft")), *cells(version), note, END)
    )
    assert out.error is None
    assert out.text.splitlines() == ["Draft", "7\t1.5\t1990-01-01", "Zitronen\tTRUE", "6.25\tmade", "a note"]


def test_a_workbook_of_excel_4() -> None:
    sheets = []
    for name in ("Sales", "Costs"):
        stream = [start(4), *cells(4)[3:4], END]
        sheets += [(0x8F, struct.pack("<I", len(biff(*stream))) + short(name)), *stream]
    out = read_of_old_excel(biff(start(4, 0x100), (0x85, short("Sales")), *sheets, END))
    assert out.text.splitlines() == ["Sales", "Zitronen", "Costs", "Zitronen"]
    assert out.error is None


def test_the_code_page() -> None:
    printed = "Отчёт о продажах".encode("cp1251")
    label = (0x204, at(3, 0, 0) + struct.pack("<H", len(printed)) + printed)
    assert read_of_old_excel(biff(start(3), (0x42, struct.pack("<H", 1251)), label, END)).text == "Отчёт о продажах\n"


def test_excel_5_without_a_compound_file() -> None:
    label = (0x204, struct.pack("<HHH", 0, 0, 0) + struct.pack("<H", 5) + b"alone")
    stream = biff(begin(5, 0x500), END, begin(version=0x500), label, END)
    assert identify(MemorySource(b"x.xls", stream)) == "application/vnd.ms-excel.sheet.5"
    assert read_of_old_excel(stream).text == "alone\n"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_they_are_known_by_their_bytes(version: int) -> None:
    assert identify(MemorySource(b"x", biff(start(version), END))) == f"application/vnd.ms-excel.sheet.{version}"


def test_a_password_of_old_excel_is_reported() -> None:
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        read_of_old_excel(biff(start(4), (0x2F, bytes(4)), END))


def test_cut_in_the_middle_keeps_what_was_read_of_old_excel() -> None:
    out = read_of_old_excel(biff(start(3), *cells(3))[:-3])
    assert out.text.startswith("7\t1.5")
    assert (out.error and out.error.code) is ExceptionCode.TRUNCATED


START = datetime(1899, 12, 30)
PHONE = "[<=9999999]###\\-####;\\(###\\)\\ ###\\-####"
ACCOUNT = '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-'


def shown(code: str, value: str, number: str = "164") -> str:
    return number_text(value, style_of(number, code), START)


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("000\\-00\\-0000", "78051120", "78051120 078-05-1120"),
        ("00000", "1234", "1234 01234"),
        ('"INV"0000', "42", "42 INV INV0042"),
        ("\\A0", "5", "5 A5"),
        (PHONE, "2025550143", "2025550143 (202) 555-0143"),
        (PHONE, "5550143", "5550143 555-0143"),
        ("[>100]0.0;0.00", "7", "7 7.00"),
        ("[>100]0.0;0.00", "107", "107 107.0"),
        ("[>5]0.0;[<2]0.00", "3", "3"),
        ("#,##0.00", "1234567.5", "1234567.5 1,234,567.50"),
        ("$#,##0.00", "-1234.5", "-1234.5 -$1,234.50"),
        ("#,##0_);[Red](#,##0)", "-1234567", "-1234567 (1,234,567)"),
        (ACCOUNT, "-1234.5", "-1234.5 -1,234.50 €"),
        (ACCOUNT, "0", "0"),
        ("[$USD-409]#,##0.00", "7", "7 USD 7.00"),
        ("0.00", "2.675", "2.675 2.68"),
        ("0.00", "1.0049999999999999", "1.005 1.01"),
        ("0.0#", "12.256", "12.256 12.26"),
        ("0.0??", "12.2", "12.2"),
        (".00", "0.5", "0.5 .50"),
        ("0%", "0.125", "12.5% 13%"),
        ("0%;0", "-0.5", "-50% 1"),
        ("0.0,", "12345", "12345 12.3"),
        ('0.0,,"M"', "1234567", "1234567 1.2M"),
        ("0,000", "5", "5 0,005"),
        ("00\\:00", "930", "930 09:30"),
        ('0"."00', "512", "512 5.12"),
        ("0000 0000 0000 0000", "1234567812345670", "1234567812345670 1234 5678 1234 5670"),
        ('"paid";"due";"none"', "-3", "-3 due"),
        ("[h]:mm", "1.5", "36:00:00"),
        ("[mm]:ss", "1.5", "2160:00"),
        ("[h]:mm", "0.5", "12:00:00"),
        ('0 "dollars and" .00 "cents"', "12.5", "12.5 12 dollars and .50 cents"),
        ('General" units"', "3", "3 units"),
        ("#,##0 [$USD-409]", "7", "7 USD"),
        ("0.0\\k\\g", "1.5", "1.5 kg 1.5kg"),
        ('"profit" 0;"loss" 0;"neither"', "-4", "-4 loss 4"),
        ('"profit" 0;"loss" 0;"neither"', "0", "0 neither"),
        ('"profit" 0;"loss" 0', "0", "0 profit 0"),
        ('0% "of all"', "0.25", "25% of all"),
        ('"paid on" yyyy', "38819", "2006-04-12 paid on"),
        ('[$€-407]0_x*y"-"', "2", "2"),
        # A format that adds no word: signs, brackets, colours; and one that cannot be rendered, or would have no end
        ("General", "1234.5", "1234.5"),
        ("[Red]General", "5", "5"),
        ("@", "5", "5"),
        ("0", "12", "12"),
        ("0.00", "12.34", "12.34"),
        ("#,##0.00", "12.34", "12.34"),
        ("0.00%", "0.125", "12.5%"),
        ("(0)", "5", "5"),
        ("+0;-0;0", "-4", "-4"),
        ("$0.00", "5.25", "5.25"),
        ('0" units"', "3", "3 units"),
        (";;;", "42", "42"),
        ("# ?/?", "0.5", "0.5"),
        ("0.00E+00", "12345", "12345"),
        ("yyyy-mm-dd;@", "38819", "2006-04-12"),
        ("0.00", "1e30", "1e30"),
        ("0.00", "inf", "inf"),
        ("0" * 65, "1", "1"),
        ("0" + "%" * 99, "1", f"{100:d}%"),
    ],
)
def test_numbers_are_found_as_they_are_shown(code: str, value: str, text: str) -> None:
    """Sections, conditions, places, thousands, scales, percentages, literals of either form (ECMA-376 part 1, 18.8.31)."""
    assert shown(code, value) == text


@pytest.mark.parametrize(
    ("number", "value", "text"),
    [
        ("3", "1234", "1234 1,234"),
        ("4", "1234.5", "1234.5 1,234.50"),
        ("2", "1.005", "1.005 1.01"),
        ("9", "0.125", "12.5% 13%"),
        ("37", "-1234", "-1234 (1,234)"),
        ("44", "1234.5", "1234.5 1,234.50"),
        ("46", "1.5", "36:00:00"),
        ("1", "12.5", "12.5 13"),
        ("0", "1234567.25", "1234567.25"),
    ],
)
def test_formats_that_a_workbook_need_not_declare(number: str, value: str, text: str) -> None:
    assert shown("", value, number) == text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('"Ref-"@', "Ref-42 x"),
        ('0;0;0;"INV"@', "42 x INV42 x"),
        ('0;0;0;@"kg"', "42 x 42 xkg"),
        ('General;General;General;@" Co"', "42 x Co"),
    ],
)
def test_a_section_for_texts(code: str, text: str) -> None:
    """What it puts around them; where that makes another word of one, the text stands by itself too."""
    form = NumberFormat(code)
    assert form.has_text
    assert form.text("42 x") == text


def test_ordinary_texts_have_no_section() -> None:
    """`@`, and one with blanks around it, show the text."""
    assert not any(NumberFormat(code).has_text for code in ("@", ACCOUNT, "0;0;;@", "0.00", ';;;"x"'))


@given(st.text('0#?,.%;@-\\"_*[]<>=$ xEGh1é', max_size=40), st.floats(allow_nan=True, allow_infinity=True))
def test_any_code_is_taken(code: str, number: float) -> None:
    text = f"{number:.15g}"
    reported = NumberFormat(code).number(number, text)
    assert reported == text or reported.startswith(text + " ")


def test_codes_without_end_are_bounded() -> None:
    """Thousands of different formats, each asked for in turn by very many cells; beyond 1,000 none is rendered."""
    styles = Styles()
    for number in range(5_000):
        styles.take(str(number + 164), f'{"#" * 60}"{number}"0')
    began = time.process_time()
    reported = [number_text("7", styles[at % 5_000], START) for at in range(50_000)]
    assert time.process_time() - began < 20
    assert reported[0] == "7 07"
    assert reported[4_999] == "7"


def test_mutants_raise_document_errors_only() -> None:
    chance = random.Random(4)
    for version in (2, 3, 4) * 60:
        data = bytearray(biff(start(version), *before(version), *cells(version), END))
        for _ in range(chance.choice((1, 3, 12))):
            data[chance.randrange(4, len(data))] = chance.choice((0, 0xFF, chance.randrange(256)))
        try:
            read_of_old_excel(bytes(data[: chance.choice((len(data), chance.randrange(4, len(data))))]))
        except DocumentError:
            continue

"""readers.office.ooxml.xlsb: workbooks in binary parts."""

import struct
from functools import partial

import pytest
from as_found import text_of
from hypothesis import given
from hypothesis import strategies as st
from office_xml import binary as rec
from office_xml import binary_text as wide
from office_xml import xlsb
from unpacking import PNG

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.zip import BY_EXTENSION
from readers.office.ooxml.handler import OoxmlHandler
from readers.office.ooxml.xlsb import records

XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
HANDLER = OoxmlHandler()


def cell(kind: int, value: bytes, style: int = 0) -> bytes:
    return rec(kind, struct.pack("<II", 0, style) + value)


def workbook(sheet: bytes, *, strings: tuple[str, ...] = (), dates_1904: bool = False, **more: bytes) -> bytes:
    """A workbook of one sheet, which is called Sums; formats: general, a date, a percentage of its own."""
    styles = rec(44, struct.pack("<H", 200) + wide("0.0%"))
    styles += (
        rec(47, bytes(16)) + rec(617) + b"".join(rec(47, struct.pack("<HH12x", 0, n)) for n in (0, 14, 200)) + rec(618)
    )
    shared = b"".join(rec(19, b"\0" + wide(text)) for text in strings)
    since = rec(153, bytes((dates_1904,)) + bytes(11))
    return xlsb(sheet, before=since, **{"xl/styles.bin": styles, "xl/sharedStrings.bin": shared, **more})


read = partial(text_of, kind=XLSB)


def test_cells_of_every_kind() -> None:
    row_1 = rec(0, bytes(17)) + cell(7, struct.pack("<I", 1)) + cell(6, wide("own")) + cell(62, b"\0" + wide("rich"))
    row_2 = rec(0, bytes(17)) + cell(2, struct.pack("<i", 12 << 2 | 2)) + cell(5, struct.pack("<d", 1.5))
    row_2 += cell(9, struct.pack("<d", 0.25) + b"formula", 2) + cell(5, struct.pack("<d", 44197.0), 1)
    row_3 = (
        rec(0, bytes(17)) + cell(4, b"\1") + cell(10, b"\0") + cell(3, b"\x07") + cell(8, wide("made")) + cell(1, b"")
    )
    prints = rec(479, bytes(2) + wide("&L&Btop&P") + struct.pack("<I", 0xFFFFFFFF) * 5)
    out = read(workbook(row_1 + row_2 + row_3 + prints, strings=("no", "shared")))
    assert out.text == "Sums\nshared\town\trich\n12\t1.5\t25%\t2021-01-01\nTRUE\tFALSE\t#DIV/0!\tmade\ntop\n"
    assert out.error is None


def test_dates_since_1904_comments_and_children() -> None:
    """The workbook says from when days count; comments come after the sheets; pictures are children as ever."""
    comments = rec(628) + rec(632, wide("Ann")) + rec(637, b"\0" + wide("why?"))
    data = workbook(
        cell(5, struct.pack("<d", 1.0), 1), dates_1904=True, **{"xl/comments1.bin": comments, "xl/media/a.png": PNG}
    )
    assert read(data).text == "Sums\n1904-01-02\nAnn\nwhy?\n"
    assert [(c.name, c.data) for c in HANDLER.children(MemorySource(b"", data), Limits())] == [(b"a.png", PNG)]


def test_cells_as_their_formats_show_them_and_what_they_say() -> None:
    """Numbers and texts behind the plain value; titles and texts of validations (2.4.359), each once, behind the rows."""
    codes = ("General", '"INV"0000', "#,##0.00", '"Ref-"@')
    styles = b"".join(rec(44, struct.pack("<H", 200 + at) + wide(code)) for at, code in enumerate(codes))
    styles += rec(617) + b"".join(rec(47, struct.pack("<HH12x", 0, 200 + at)) for at in range(4)) + rec(618)
    row = cell(2, struct.pack("<i", 42 << 2 | 2), 1) + cell(5, struct.pack("<d", 1234567.5), 2)
    row += cell(5, struct.pack("<d", 7.0)) + cell(7, bytes(4), 3) + cell(6, wide("own"), 3)
    shown = (
        struct.pack("<II16x", 1, 1) + wide("Wrong") + wide("Stop!") + struct.pack("<I", 0xFFFFFFFF) + wide("Pick one")
    )
    listed = b"\x17" + struct.pack("<H", 3) + "a\0b".encode("utf-16-le")
    shown += struct.pack("<I", len(listed)) + listed
    data = workbook(row + rec(64, shown) * 2 + rec(64, shown[:20]), strings=("42 x",), **{"xl/styles.bin": styles})
    reported = ["42 INV INV0042\t1234567.5 1,234,567.50\t7\tRef-42 x\tRef-own", "Wrong", "Stop!", "Pick one", "a,b"]
    assert read(data).text.splitlines() == ["Sums", *reported]


def test_readings_of_shared_texts() -> None:
    """Behind the text and the places of its runs (2.5.122); a text that is cut is what there is."""
    runs, reading = struct.pack("<I", 1) + bytes(4), wide("toukyou")
    shared = (b"\3" + wide("base") + runs + reading, b"\2" + wide("other") + reading, b"\3" + wide("cut"), b"")
    cells = b"".join(cell(7, struct.pack("<I", at)) for at in range(len(shared)))
    data = workbook(cells, **{"xl/sharedStrings.bin": b"".join(rec(19, one) for one in shared)})
    assert read(data).text == "Sums\nbase toukyou\tother toukyou\tcut\n"


def test_a_sheet_that_ends_within_a_record_keeps_its_rows() -> None:
    out = read(workbook(cell(6, wide("kept")) + rec(0) + cell(6, wide("lost"))[:-1]))
    assert (out.text, out.error and out.error.code) == ("Sums\nkept\n", ExceptionCode.TRUNCATED)


def test_an_encrypted_one_is_known_by_its_name() -> None:
    assert BY_EXTENSION[b"xlsb"] == XLSB


@given(st.lists(st.tuples(st.integers(0, 16383), st.binary(max_size=300)), max_size=8), st.integers(1, 40))
def test_records_come_back_however_they_are_cut(made: list[tuple[int, bytes]], step: int) -> None:
    data = b"".join(rec(kind, content) for kind, content in made)
    pieces = (data[at : at + step] for at in range(0, len(data), step))
    assert list(records(pieces)) == made


def test_a_record_without_end_is_corrupt() -> None:
    with pytest.raises(DocumentError, match="record of"):
        list(records(iter([b"\x07\xff\xff\xff\x7f" + bytes(9)])))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        out = HANDLER.text(MemorySource(b"", workbook(data, strings=("a",))), Limits())
    except DocumentError:
        return
    assert out.text.startswith("Sums")

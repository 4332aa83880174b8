"""What workbooks show otherwise than they keep it, and what they keep beside their cells: xlsx, xlsb and xls alike."""

from __future__ import annotations

import struct
import zipfile
from io import BytesIO
from xml.sax.saxutils import escape, quoteattr

import pytest
from old_office import END, begin, biff
from old_office import workbook as compound

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import ExceptionCode
from readers.office.ooxml.handler import OoxmlHandler
from readers.office.xls.handler import XlsHandler

S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml."
URL = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
FILE = bytes.fromhex("0303000000000000c000000000000046")
CODES = ("General", '"INV"0000', "#,##0.00", '"Ref-"@')
VALIDATION = (
    '<dataValidations><dataValidation type="list" promptTitle="Choose" prompt="Pick the Bribery_x000a_option" error="Stop!" '
    'errorTitle="Wrong"><formula1>"Walrus,Narwhal"</formula1></dataValidation><dataValidation promptTitle="Choose" type="whole">'
    "<formula1>12</formula1></dataValidation></dataValidations>"
)


def xlsx(rows: str, behind: str = "", book: str = "", *, tree: bool = False, **more: str) -> Text:
    """A workbook of this sheet; with a comment in front it is read as a tree."""
    forms = "".join(f"<numFmt numFmtId='{200 + at}' formatCode={quoteattr(code)}/>" for at, code in enumerate(CODES))
    used = "".join(f"<xf numFmtId='{200 + at}'/>" for at in range(len(CODES)))
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{S}">{book}</workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}">{"<!-- -->" * tree}<sheetData>{rows}</sheetData>{behind}</worksheet>',
        "xl/styles.xml": f'<s xmlns="{S}"><numFmts>{forms}</numFmts><cellXfs>{used}</cellXfs></s>',
        "xl/sharedStrings.xml": f'<sst xmlns="{S}"><si><t>42 x</t></si></sst>',
        **{f"xl/{name}.xml": content for name, content in more.items()},
    }
    kinds = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "comments1": "comments"}
    named = {name: kinds.get(name[3:-4], name[3:-4]) for name in parts}
    overrides = "".join(f'<Override PartName="/{n}" ContentType="{OFFICE}{k}+xml"/>' for n, k in named.items())
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="t">{overrides}</Types>')
        for name, content in parts.items():
            archive.writestr(name, content)
    return OoxmlHandler().text(MemorySource(b"x", out.getvalue()), Limits())


def xls(*records: tuple[int, bytes]) -> Text:
    forms = [(0x41E, struct.pack("<H", 200 + at) + wide(code)) for at, code in enumerate(CODES)]
    used = [(0xE0, struct.pack("<HH16x", 0, 200 + at)) for at in range(len(CODES))]
    strings = (0xFC, struct.pack("<II", 1, 1) + wide("42 x"))
    stream = biff(begin(5), *forms, *used, strings, END, begin(), *records, END)
    return XlsHandler().text(MemorySource(b"x.xls", compound(stream, "Workbook")), Limits())


def wide(text: str) -> bytes:
    return struct.pack("<HB", len(text), 1) + text.encode("utf-16-le")


def at(row: int, column: int, style: int) -> bytes:
    return struct.pack("<HHH", row, column, style)


@pytest.mark.parametrize("tree", [False, True])
def test_xlsx_shows_numbers_and_texts_by_their_formats(tree: bool) -> None:
    cells = '<c><v>7</v></c><c s="1"><v>42</v></c><c s="2"><v>1234567.5</v></c><c s="2" t="s"><v>0</v></c><c s="3" t="s"><v>0</v></c>'
    told = "7\t42 INV INV0042\t1234567.5 1,234,567.50\t42 x\tRef-42 x\n"
    assert xlsx(f"<row>{cells}</row>", tree=tree).text == told


def test_xls_shows_the_same() -> None:
    number = struct.pack("<d", 1234567.5)
    records = [
        (0x203, at(0, 0, 0) + struct.pack("<d", 7)),
        (0x27E, at(0, 1, 1) + struct.pack("<I", 42 << 2 | 2)),
        (0x203, at(0, 2, 2) + number),
        (0x203, at(0, 3, 0) + number),
        (0xFD, at(0, 4, 2) + bytes(4)),
        (0xFD, at(0, 5, 3) + bytes(4)),
        (0x204, at(0, 6, 3) + wide("own")),
    ]
    told = "7\t42 INV INV0042\t1234567.5 1,234,567.50\t1234567.5\t42 x\tRef-42 x\tRef-own\n"
    assert xls(*records).text == told


@pytest.mark.parametrize("tree", [False, True])
def test_strings_of_formulas_without_a_result(tree: bool) -> None:
    link = escape('HYPERLINK("http://evil.example/xyz","Click ""here""")')

    def row(*cells: str) -> str:
        return f"<row>{''.join(cells)}</row>"

    def formula(code: str, rest: str, kind: str = "") -> str:
        return f"<c{kind}><f>{escape(code)}</f>{rest}</c>"

    nothing = formula('"Secret "&"Words"&"Secret "', "")
    zero, counted = formula('IF(A1,"Zebra",2)', "<v>0</v>"), formula('COUNTIF(A1,"Zebra")', "<v>3</v>")
    empty = formula('IF(A1,"","Gone")', "<v></v>", ' t="str"')
    links = f"<c><f>{link}</f><v>0</v></c>", f'<c t="str"><f>{link}</f><v>Shown</v></c>'
    told = 'Secret  Words\t0\t3\t0 http://evil.example/xyz Click "here"\tShown http://evil.example/xyz Click "here"\n'
    assert xlsx(row(nothing, zero, counted, empty, *links), tree=tree).text == told
    out = xlsx(row(zero, counted), book='<calcPr calcId="124519" fullCalcOnLoad="1"/>', tree=tree)
    assert out.text == "0 Zebra\t3\n"


def test_strings_of_a_formula_are_bounded() -> None:
    """No more of a formula is looked at than Excel takes of one."""
    out = xlsx(f'<row><c><f>"first"&amp;{"1+" * 5_000}"last"</f></c></row>')
    assert out.text == "first\n"


def test_xlsx_comments_of_libreoffice() -> None:
    """Behind the text of a comment LibreOffice writes where its box is: no text."""
    box = '<x:AlternateContent xmlns:x="mc"><x:Choice><anchor><col>12</col><off>30024725</off></anchor></x:Choice></x:AlternateContent>'
    comments = (
        f'<comments xmlns="{S}"><authors><author>Ann</author></authors><commentList><comment ref="A1"><text><r><t>Please </t></r>'
        f"<r><t>pay Zimmermann</t></r></text>{box}</comment></commentList></comments>"
    )
    assert xlsx("", comments1=comments).text == "Ann\nPlease pay Zimmermann\n"


def test_what_cells_say_when_they_are_filled_in() -> None:
    told = ["7", "Choose", "Pick the Bribery\noption", "Wrong", "Stop!", "Walrus,Narwhal"]
    assert xlsx("<row><c><v>7</v></c></row>", VALIDATION).text == "\n".join(told) + "\n"


def test_xls_what_cells_say_when_they_are_filled_in() -> None:
    """Dv of [MS-XLS] 2.4.90, in which an empty text is a zero."""
    listed = b"\x17" + struct.pack("<BB", 14, 0) + b"Walrus\0Narwhal"
    said = b"".join(map(wide, ("Choose", "Wrong", "Pick the Bribery option", "\0")))
    first = struct.pack("<I", 0x83) + said + struct.pack("<HH", len(listed), 0) + listed + struct.pack("<HHH", 0, 0, 0)
    other = struct.pack("<I", 1) + wide("Choose") + 3 * wide("\0") + struct.pack("<HH", 3, 0) + b"\x1e\x0c\0"
    out = xls((0x203, at(0, 0, 0) + struct.pack("<d", 7)), (0x1BE, first), (0x1BE, other))
    assert out.text.splitlines() == ["7", "Choose", "Pick the Bribery option", "Wrong", "Walrus,Narwhal"]
    assert xls((0x1BE, first[:9])).text == "C\n"  # cut short: what is there


def hlink(flags: int, rest: bytes) -> tuple[int, bytes]:
    return 0x1B8, bytes(24) + struct.pack("<II", 2, flags) + rest


def counted(text: str) -> bytes:
    return struct.pack("<I", len(text) + 1) + (text + "\0").encode("utf-16-le")


def test_xls_addresses_behind_links() -> None:
    """Of the network, of files, and as a string ([MS-OSHARED] 2.3.7.1), behind all sheets, each once; places in the workbook are none."""
    url = ("http://wlink.example/ü" + "\0").encode("utf-16-le") + bytes(24)
    web = URL + struct.pack("<I", len(url)) + url
    short = FILE + struct.pack("<HI", 0, 9) + b"PLAN~1.X\0" + bytes(24)
    long = "Plän of the year.xls".encode("utf-16-le")
    records = [
        hlink(0x17, counted("shown") + web),
        hlink(0x03, web),
        hlink(0x83, counted("frame") + short + struct.pack("<I", 0)),
        hlink(0x03, short + struct.pack("<IIH", len(long) + 6, len(long), 3) + long),
        hlink(0x103, counted("\\\\server\\share")),
        hlink(0x08, counted("Sheet2!A1")),
        hlink(0x03, bytes(16)),
        (0x203, at(0, 0, 0) + struct.pack("<d", 7)),
    ]
    told = ["7", "http://wlink.example/ü", "PLAN~1.X", "Plän of the year.xls", "\\\\server\\share"]
    assert xls(*records).text.splitlines() == told


def test_xls_addresses_beyond_the_limit_are_said() -> None:
    out = xls(*(hlink(0x103, counted(f"http://{n}.example")) for n in range(10_001)))
    assert out.text.count("example") == 10_000
    assert out.error is not None
    assert out.error.code is ExceptionCode.TOO_LARGE


@pytest.mark.parametrize(("function", "told"), [(359, "Shown\t5 http://evil.example Shown\n"), (4, "Shown\t5\n")])
def test_xls_addresses_in_formulas(function: int, told: str) -> None:
    address, shown = b"http://evil.example", b"Shown"
    tokens = b"".join(b"\x17" + bytes((len(one), 0)) + one for one in (address, shown))
    tokens = b"\x44" + bytes(4) + b"\x19\x02" + bytes(2) + tokens + b"\x42\x02" + struct.pack("<H", function)
    head = at(0, 1, 0) + struct.pack("<d", 5) + bytes(6) + struct.pack("<H", len(tokens))
    out = xls((0x204, at(0, 0, 0) + wide("Shown")), (0x06, head + tokens))
    assert out.text == told


def test_halves_of_letters_in_what_cells_ask_for() -> None:
    """Escapes may stand for halves: two make a letter, one alone none, and what is told can be written down."""
    asked = (
        '<dataValidations><dataValidation prompt="one _xD83D__xDE00_ half _xD800_ end" sqref="A1"/></dataValidations>'
    )
    text = xlsx("", asked).text
    assert "one 😀 half \ufffd end" in text
    text.encode()


@pytest.mark.parametrize("tree", [False, True])
def test_an_empty_string_is_a_result(tree: bool) -> None:
    cell = '<row r="1"><c r="A1" t="str" s="3"><f>IF(C1="hid","yy","")</f><v></v></c><c r="B1"><v>7</v></c></row>'
    text = xlsx(cell, tree=tree).text
    assert "7" in text
    assert "hid" not in text

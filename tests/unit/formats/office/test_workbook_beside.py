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
from formats.base import MemorySource, Text
from formats.office.ooxml.handler import OoxmlHandler
from formats.office.xls.handler import XlsHandler

S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml."
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
    """Behind the plain value, where that has other words."""
    cells = '<c><v>7</v></c><c s="1"><v>42</v></c><c s="2"><v>1234567.5</v></c><c s="2" t="s"><v>0</v></c><c s="3" t="s"><v>0</v></c>'
    told = "7\t42 INV INV0042\t1234567.5 1,234,567.50\t42 x\tRef-42 x\n"
    assert xlsx(f"<row>{cells}</row>", tree=tree).text == told


def test_xls_shows_the_same() -> None:
    """Cells of each kind, and the same number in several formats."""
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
    """openpyxl keeps no result, XlsxWriter 0 and a mark that all is to be calculated; a link shows no address."""
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
    """Titles and texts of data validations and the choices that they list, each once; formulas are none."""
    told = ["7", "Choose", "Pick the Bribery\noption", "Wrong", "Stop!", "Walrus,Narwhal"]
    assert xlsx("<row><c><v>7</v></c></row>", VALIDATION).text == "\n".join(told) + "\n"

"""Rows and strings that are told without a tree are those that a tree gives."""

from __future__ import annotations

import io
import zipfile

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError
from readers.office.ooxml import plain
from readers.office.ooxml.handler import OoxmlHandler

S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml."
HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\r\n<worksheet xmlns="{S}" xmlns:x14ac="y"><cols/>'
# Sheets as Excel, LibreOffice and others write them.
EXCEL = '<row r="1" spans="1:3" x14ac:dyDescent="0.25"><c r="A1" t="s"><v>0</v></c><c r="B1" s="2"><v>40000</v></c><c r="C1"/></row>'
OFFICE_ROW = (
    '<row r="2" customFormat="false" ht="12.8"><c r="A2" s="0" t="n"><f aca="false">1&lt;2</f><v>1.5</v></c></row>\n'
)
OTHERS = '<row><c t="inlineStr" r="A3"><is><t xml:space="preserve"> a &amp; b </t></is></c><c t="b"><v>1</v></c><c><v/></c></row><row/>'
RICH = '<row r="4"><c r="A4" t="inlineStr"><is><r><t>rich</t></r></is></c><c r="B4"><v>8</v><extLst/></c></row>'


def text_of(sheet: str | bytes, strings: str | bytes = "") -> tuple[str, str]:
    """The text of a workbook of this sheet, and what is wrong with it."""
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{S}"/>',
        "xl/worksheets/sheet1.xml": sheet,
        "xl/sharedStrings.xml": strings or f'<sst xmlns="{S}" count="1"><si><t>shared &#233; é</t></si></sst>',
        "xl/styles.xml": f'<s xmlns="{S}"><cellXfs><xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="14"/></cellXfs></s>',
    }
    kinds = {"xl/workbook.xml": "sheet.main", "xl/worksheets/sheet1.xml": "worksheet"}
    kinds |= {"xl/sharedStrings.xml": "sharedStrings", "xl/styles.xml": "styles"}
    overrides = "".join(f'<Override PartName="/{n}" ContentType="{OFFICE}{k}+xml"/>' for n, k in kinds.items())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="t">{overrides}</Types>')
        for name, content in parts.items():
            archive.writestr(name, content)
    try:
        read = OoxmlHandler().text(MemorySource(b"x", out.getvalue()), Limits())
    except DocumentError as error:
        return "", error.code
    return read.text, "" if read.error is None else read.error.code


def sheet_of(rows: str, *, told: bool = True) -> str:
    """A sheet of these rows; with a comment nothing of it is told without a tree."""
    return f"{HEAD if told else HEAD + '<!-- -->'}<sheetData>{rows}</sheetData><headerFooter><oddFooter>foot</oddFooter></headerFooter></worksheet>"


def told_in(sheet: str) -> int:
    """How many rows are told without a tree."""
    return len(list(plain.rows(plain.Around(iter([sheet.encode()])))))


@pytest.mark.parametrize(
    "rows",
    [
        "",
        EXCEL,
        EXCEL + OFFICE_ROW + OTHERS,
        EXCEL + RICH + OFFICE_ROW,
        RICH + EXCEL,
        EXCEL
        + '<row r="5"><c r="A5"><f>"a &amp;"&amp;"b"</f></c><c r="B5" t="str"><f>HYPERLINK("x")</f><v>y</v></c></row>',
        3_000 * (EXCEL + OFFICE_ROW) + RICH + OTHERS,
        f"<!-- {EXCEL} -->{OFFICE_ROW}",
        f"{OFFICE_ROW}<![CDATA[{EXCEL}]]>",
        EXCEL.replace("40000", "4\x0b0"),
        EXCEL.replace("40000", "&unknown;"),
        EXCEL.replace("40000", "&#0;"),
        EXCEL.replace("40000", "&#0x41;"),
        EXCEL.replace("40000", "&#000;") + OFFICE_ROW,
        EXCEL.replace("40000", "&#039;&#0065;&#00233;"),
        EXCEL.replace("40000", "]]>"),
        EXCEL.replace("x14ac", "nobodys"),
        EXCEL.replace("<v>0</v>", "<v>99999999999</v>"),
        EXCEL.replace("</row>", ""),
        EXCEL + "</sheetData><sheetData>" + OFFICE_ROW,
        EXCEL.replace("</c>", "</d>", 1) + OFFICE_ROW,
        EXCEL.replace("40000", "4\ufffe"),
        EXCEL.replace("<c ", "<x14ac:c "),
        (EXCEL + OFFICE_ROW + OTHERS)
        .replace("<c ", "\r<c ")
        .replace("a &amp; b", "a\r\nb\rc\r\r\nd&#13;")
        .replace("</row>", "</row>\r\n"),
        3_000 * (EXCEL + "\r\n") + RICH,
    ],
)
def test_it_is_as_a_tree_gives_it(rows: str) -> None:
    assert text_of(sheet_of(rows)) == text_of(sheet_of(rows, told=False))


@pytest.mark.parametrize("cut", [700, 900, 1_100, 60_000])
def test_a_part_that_breaks_off(cut: int) -> None:
    rows = 2_000 * (EXCEL + OFFICE_ROW)
    comment = "<!-- -->"
    text, code = text_of(sheet_of(rows)[:cut])
    assert code
    assert (text, code) == text_of(sheet_of(rows, told=False)[: cut + len(comment)])


def test_what_programs_write_needs_no_tree() -> None:
    assert told_in(sheet_of(EXCEL + OFFICE_ROW + OTHERS)) == 3
    assert told_in(sheet_of(EXCEL + OFFICE_ROW + RICH + OTHERS)) == 2
    assert (
        told_in(sheet_of((EXCEL + OFFICE_ROW + OTHERS).replace("</row>", "</row>\r\n").replace(" a ", "\r\na\r"))) == 3
    )
    assert told_in(sheet_of(EXCEL + OFFICE_ROW.replace("1&lt;2", "&#039;a&#039;&amp;1"))) == 2  # of PHP
    assert told_in(sheet_of(EXCEL).replace("UTF-8", "windows-1251")) == 0
    assert told_in(sheet_of(EXCEL).replace(' xmlns:x14ac="y"', "")) == 0


@pytest.mark.parametrize("rich", ["", "<si><t>漢字</t><rPh sb='0' eb='2'><t>かんじ</t></rPh></si>"])
def test_strings_keep_their_numbers(rich: str) -> None:
    """Empty ones, rich ones and those that are read otherwise are counted like all others."""
    runs = '<si><r><rPr><b/><sz val="9"/></rPr><t>ri</t></r><r><t xml:space="preserve">ch </t></r></si>'
    items = f"<si><t>zero</t></si><si/><si><t/></si>{runs}<si><t>four</t><phoneticPr fontId='1'/></si>{rich}<si><t>last &amp; least</t></si>"
    strings = f'<sst xmlns="{S}" uniqueCount="9">{items}</sst>'
    number = 6 if rich else 5
    rows = "".join(f'<row><c t="s"><v>{n}</v></c></row>' for n in (0, 3, 4, number))
    lines = text_of(sheet_of(rows), strings)[0].splitlines()
    assert lines == ["zero", "rich ", "four", "last & least", "foot"]
    assert text_of(sheet_of(rows), strings.replace("<si>", "<!-- --><si>", 1))[0].splitlines() == lines


def test_bytes_that_are_no_utf_8() -> None:
    raw = sheet_of(EXCEL + OFFICE_ROW.replace("1.5", "1.é5")).encode("latin-1")
    comment = sheet_of(EXCEL + OFFICE_ROW.replace("1.5", "1.é5"), told=False).encode("latin-1")
    assert text_of(raw) == text_of(comment)

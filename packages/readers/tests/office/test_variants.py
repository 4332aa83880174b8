"""Macro and template variants of Office's and OpenDocument's formats, and Visio: identified by content, then read."""

from __future__ import annotations

import io
import zipfile

import pytest

from core.records import Limits
from readers.base import MemorySource, Text
from readers.identification.identify import identify
from readers.registry import handler_for

OFFICE = "application/vnd.openxmlformats-officedocument."
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
WORD = f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>the words</w:t></w:r></w:p></w:body></w:document>'
SLIDE = f'<p:sld xmlns:p="p" xmlns:a="{A}"><a:p><a:r><a:t>the words</a:t></a:r></a:p></p:sld>'
SHEET = '<worksheet><sheetData><row><c t="inlineStr"><is><t>the words</t></is></c></row></sheetData></worksheet>'
BOOK = '<workbook><sheets><sheet name="S" state="hidden"/></sheets></workbook>'
PAGE = '<PageContents><Shapes><Shape><Text><cp IX="0"/>the <fld IX="0">words</fld>\n</Text></Shape></Shapes></PageContents>'
REMARK = "<Comments><CommentList><CommentEntry>a remark</CommentEntry></CommentList></Comments>"
VISIO = "application/vnd.ms-visio."


def package(types: dict[str, str], parts: dict[str, str]) -> bytes:
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="t">{overrides}</Types>')
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def read(name: str, data: bytes) -> Text:
    source = MemorySource(name.encode(), data)
    return handler_for(identify(source)).text(source, Limits())


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("docm", "application/vnd.ms-word.document.macroEnabled.main+xml"),
        ("dotx", OFFICE + "wordprocessingml.template.main+xml"),
        ("dotm", "application/vnd.ms-word.template.macroEnabledTemplate.main+xml"),
    ],
)
def test_word(extension: str, kind: str) -> None:
    data = package({"word/document.xml": kind}, {"word/document.xml": WORD, "word/vbaProject.bin": "macros"})
    assert read(f"x.{extension}", data).text == "the words\n"


def test_text_that_word_takes_in_is_a_child() -> None:
    kind = OFFICE + "wordprocessingml.document.main+xml"
    page = "<html><body><p>all of the text</p></body></html>"
    data = package({"word/document.xml": kind}, {"word/document.xml": WORD, "word/afchunk1.htm": page})
    source = MemorySource(b"x.docx", data)
    (child,) = handler_for(identify(source)).children(source, Limits())
    assert (child.name, child.data) == (b"afchunk1.htm", page.encode())


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("xlsm", "application/vnd.ms-excel.sheet.macroEnabled.main+xml"),
        ("xltx", OFFICE + "spreadsheetml.template.main+xml"),
        ("xltm", "application/vnd.ms-excel.template.macroEnabled.main+xml"),
    ],
)
def test_excel(extension: str, kind: str) -> None:
    types = {"xl/workbook.xml": kind, "xl/worksheets/sheet1.xml": OFFICE + "spreadsheetml.worksheet+xml"}
    text = read(f"x.{extension}", package(types, {"xl/workbook.xml": BOOK, "xl/worksheets/sheet1.xml": SHEET})).text
    assert "the words" in text


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("pptm", "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml"),
        ("potx", OFFICE + "presentationml.template.main+xml"),
        ("potm", "application/vnd.ms-powerpoint.template.macroEnabled.main+xml"),
        ("ppsx", OFFICE + "presentationml.slideshow.main+xml"),
        ("ppsm", "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml"),
    ],
)
def test_powerpoint(extension: str, kind: str) -> None:
    types = {"ppt/presentation.xml": kind, "ppt/slides/slide1.xml": OFFICE + "presentationml.slide+xml"}
    found = read(f"x.{extension}", package(types, {"ppt/presentation.xml": "<p/>", "ppt/slides/slide1.xml": SLIDE}))
    assert (found.text, found.pages) == ("the words\n", 1)


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("vsdx", VISIO + "drawing.main+xml"),
        ("vsdm", VISIO + "drawing.macroEnabled.main+xml"),
        ("vstx", VISIO + "template.main+xml"),
        ("vssx", VISIO + "stencil.main+xml"),
    ],
)
def test_visio(extension: str, kind: str) -> None:
    types = {"visio/document.xml": kind, "visio/comments.xml": VISIO + "comments+xml"}
    types |= {f"visio/pages/page{n}.xml": VISIO + "page+xml" for n in (1, 2)}
    types["docProps/core.xml"] = "application/vnd.openxmlformats-package.core-properties+xml"
    parts = {"visio/document.xml": "<VisioDocument/>", "visio/comments.xml": REMARK, "visio/pages/page1.xml": PAGE}
    parts |= {"visio/pages/page2.xml": PAGE.replace("words", "others"), "visio/media/image1.png": "a picture"}
    parts["docProps/core.xml"] = "<p><creator>Ann</creator></p>"
    data = package(types, parts)
    found = read(f"x.{extension}", data)
    assert (found.text, found.pages) == ("the words\nthe others\na remark\n", 2)
    assert found.metadata == {"author": "Ann"}
    source = MemorySource(b"x", data)
    assert [c.name for c in handler_for(identify(source)).children(source, Limits())] == [b"image1.png"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text-template", "<office:text><text:p>the words</text:p></office:text>"),
        ("spreadsheet-template", "<office:spreadsheet><text:p>the words</text:p></office:spreadsheet>"),
        ("presentation", "<office:presentation><text:p>the words</text:p></office:presentation>"),
        ("presentation-template", "<office:presentation><text:p>the words</text:p></office:presentation>"),
        ("graphics", "<office:drawing><text:p>the words</text:p></office:drawing>"),
    ],
)
def test_opendocument(kind: str, body: str) -> None:
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument." + kind)
        archive.writestr(
            "content.xml",
            f"<office:document-content{spaces}><office:body>{body}</office:body></office:document-content>",
        )
    assert read("x", out.getvalue()).text == "the words\n"

"""Macro and template variants of Office's and OpenDocument's formats, and Visio: identified by content, then read."""

import struct
import zipfile

import pytest
from archive_files import zipped
from as_found import children_of, text_of
from office_xml import opendocument
from old_office import property_section

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.clean import noted
from readers.keys import misfits
from readers.office.odf.handler import OdfHandler
from readers.office.ole.compound import CompoundFile
from readers.office.ole.property_set import added, metadata
from readers.office.ooxml.handler import OoxmlHandler

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
    return zipped({"[Content_Types].xml": f'<Types xmlns="t">{overrides}</Types>', **parts})


# Parts of a package, each with its content type; the kind of document is that of the main one.
DOCUMENT = {"word/document.xml": ("", WORD), "word/vbaProject.bin": ("", "macros")}
WORKBOOK = {"xl/workbook.xml": ("", BOOK), "xl/worksheets/sheet1.xml": (OFFICE + "spreadsheetml.worksheet+xml", SHEET)}
SHOW = {"ppt/presentation.xml": ("", "<p/>"), "ppt/slides/slide1.xml": (OFFICE + "presentationml.slide+xml", SLIDE)}


@pytest.mark.parametrize(
    ("parts", "extension", "kind"),
    [
        (DOCUMENT, "docm", "application/vnd.ms-word.document.macroEnabled.main+xml"),
        (DOCUMENT, "dotx", OFFICE + "wordprocessingml.template.main+xml"),
        (DOCUMENT, "dotm", "application/vnd.ms-word.template.macroEnabledTemplate.main+xml"),
        (WORKBOOK, "xlsm", "application/vnd.ms-excel.sheet.macroEnabled.main+xml"),
        (WORKBOOK, "xltx", OFFICE + "spreadsheetml.template.main+xml"),
        (WORKBOOK, "xltm", "application/vnd.ms-excel.template.macroEnabled.main+xml"),
        (SHOW, "pptm", "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml"),
        (SHOW, "potx", OFFICE + "presentationml.template.main+xml"),
        (SHOW, "potm", "application/vnd.ms-powerpoint.template.macroEnabled.main+xml"),
        (SHOW, "ppsx", OFFICE + "presentationml.slideshow.main+xml"),
        (SHOW, "ppsm", "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml"),
    ],
)
def test_templates_and_documents_with_macros(parts: dict[str, tuple[str, str]], extension: str, kind: str) -> None:
    types = {name: of or kind for name, (of, _) in parts.items() if not name.endswith(".bin")}
    data = package(types, {name: content for name, (_, content) in parts.items()})
    found = text_of(data, name=f"x.{extension}".encode())
    assert (found.text.removeprefix("S\n"), found.pages) == ("the words\n", 1 if parts is SHOW else None)


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
    found = text_of(data, name=f"x.{extension}".encode())
    assert (found.text, found.pages) == ("the words\nthe others\na remark\n", 2)
    assert found.metadata == {"author": "Ann"}
    assert [c.name for c in children_of(data)] == [b"image1.png"]


@pytest.mark.parametrize(
    "kind", ["text-template", "spreadsheet-template", "presentation", "presentation-template", "graphics"]
)
def test_opendocument(kind: str) -> None:
    body = f"<office:{kind.partition('-')[0]}><text:p>the words</text:p></office:{kind.partition('-')[0]}>"
    assert text_of(opendocument(body, kind)).text == "the words\n"


MATTER = ["ClientMatter: Oberschwaben Takeover", "Pages: 7"]
USER_DEFINED = bytes.fromhex("05d5cdd59c2e1b10939708002b2cf9ae")


def archive(**parts: str) -> MemorySource:
    return MemorySource(b"x", zipped(parts, zipfile.ZIP_STORED))


def test_of_word_documents() -> None:
    vt = 'xmlns:vt="urn:vt"'
    added = f'<Properties {vt}><property pid="2" name="ClientMatter"><vt:lpwstr>Oberschwaben\nTakeover</vt:lpwstr></property>'
    added += (
        '<property name="Empty"><vt:lpwstr/></property><property name="Pages"><vt:i4>7</vt:i4></property></Properties>'
    )
    parts = {"[Content_Types].xml": '<Types xmlns="t"/>', "docProps/custom.xml": added, "word/document.xml": "<a/>"}
    found = OoxmlHandler().text(archive(**parts), Limits())
    assert found.metadata == {"custom_properties": MATTER}
    assert misfits(found.metadata) == []


def test_of_opendocument_texts() -> None:
    names = 'xmlns:o="urn:o" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"'
    meta = f'<o:meta {names}><meta:user-defined meta:name="ClientMatter">Oberschwaben Takeover</meta:user-defined>'
    meta += '<meta:user-defined meta:name="Pages" meta:value-type="float">7</meta:user-defined></o:meta>'
    parts = {"mimetype": "application/vnd.oasis.opendocument.text", "meta.xml": meta, "content.xml": "<a/>"}
    assert OdfHandler().text(archive(**parts), Limits()).metadata == {"custom_properties": MATTER}


def stream(page: int, wide: bool) -> bytes:
    """A stream of two sections, the second with names."""
    names = struct.pack("<I", 3)
    for number, name in ((2, "ClientMatter"), (3, "Pages"), (9, "Gone")):
        raw = (name + "\0").encode("utf-16-le" if wide else "cp1251")
        names += struct.pack("<II", number, len(name) + 1) + raw + (bytes(-len(raw) % 4) if wide else b"")
    matter = "Oberschwaben Takeover\0".encode("utf-16-le" if wide else "cp1251")
    values = struct.pack("<II", 30, len(matter)) + matter, struct.pack("<II", 3, 7)
    first, second = property_section((0, b"\0\0\0\0")), property_section((0, names), *enumerate(values, 2), page=page)
    head = struct.pack("<HHI16sI", 0xFFFE, 0, 0, bytes(16), 2)
    return head + bytes(16) + struct.pack("<I", 68) + USER_DEFINED + struct.pack("<I", 68 + len(first)) + first + second


@pytest.mark.parametrize(("page", "wide"), [(1251, False), (1200, True)])
def test_of_older_documents(page: int, wide: bool) -> None:
    data = stream(page, wide)
    found = metadata(CompoundFile(write(Storage(streams={"\x05DocumentSummaryInformation": data}))))
    assert found == {"custom_properties": MATTER}
    assert misfits(found) == []
    for cut in range(len(data)):
        list(added(data[:cut]))


def test_other_values() -> None:
    names = struct.pack("<I", 2) + b"".join(struct.pack("<II", n, 2) + b"ab"[n - 2 : n - 1] + b"\0" for n in (2, 3))
    second = property_section((0, names), (2, struct.pack("<II", 11, 0xFFFF)), (3, struct.pack("<Id", 5, 1.5)))
    head = struct.pack("<HHI16sI", 0xFFFE, 0, 0, bytes(16), 2) + bytes(20) + USER_DEFINED
    assert list(added(head + struct.pack("<I", 68) + second)) == [("a", "true"), ("b", "1.5")]


def test_there_are_not_too_many() -> None:
    assert len(noted((str(n), "x") for n in range(5_000))["custom_properties"]) == 1_000  # type: ignore[arg-type]

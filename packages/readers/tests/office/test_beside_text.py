"""What documents say beside their paragraphs: alternative text, entries that are chosen, what fields lead to; alike where a part is
read as a tree and where it is read in pieces."""

from __future__ import annotations

import io
import zipfile

import pytest

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import ExceptionCode
from readers.office.odf import beside as odf_beside
from readers.office.odf.handler import OdfHandler
from readers.office.ooxml.handler import OoxmlHandler

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:p="urn:p" xmlns:a="urn:a"'
PADDING = "<!--" + "x" * 3_000_000 + "-->"
PADDINGS = pytest.mark.parametrize("padding", ["", PADDING], ids=("tree", "stream"))


def package(**parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", '<Types xmlns="t"/>')
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def read(data: bytes) -> Text:
    return OoxmlHandler().text(MemorySource(b"x", data), Limits())


def lines(body: str, padding: str = "") -> list[str]:
    """Of a Word document."""
    document = f"<w:document {W}>{padding}<w:body>{body}</w:body></w:document>"
    return read(package(**{"word/document.xml": document})).text.splitlines()


def code(*pieces: str, result: str = "") -> str:
    """A field, its code cut into runs."""
    codes = "".join(f"<w:r><w:instrText>{piece}</w:instrText></w:r>" for piece in pieces)
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    shown = f"{mark.format('separate')}<w:r><w:t>{result}</w:t></w:r>" if result else ""
    return mark.format("begin") + codes + shown + mark.format("end")


def words(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


@PADDINGS
def test_word_tells_what_pictures_show(padding: str) -> None:
    drawn = '<a:inline><a:docPr id="1" name="n" descr="Photograph of the&#10;Quarterdeck" title="Kumquat"/><a:cNvPr name="n" descr="Kumquat"/></a:inline>'
    body = f"<w:p>{words('seen')}<w:r><w:drawing>{drawn}</w:drawing></w:r></w:p>"
    assert sorted(lines(body, padding)) == ["Kumquat", "Photograph of the Quarterdeck", "seen"]


@PADDINGS
@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ('<w:result w:val="1"/>', "Guilty"),
        ('<w:default w:val="1"/>', "Guilty"),
        ("", "Innocent"),
        ('<w:result w:val="2"/>', ""),
        ('<w:result w:val="99999999999999999999"/>', ""),
    ],
)
def test_word_tells_the_entry_that_is_chosen(padding: str, choice: str, wanted: str) -> None:
    entries = '<w:listEntry w:val="Innocent"/><w:listEntry w:val="Guilty"/>'
    box = f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList>{choice}{entries}</w:ddList></w:ffData></w:fldChar></w:r>'
    assert lines(f"<w:p>{words('Verdict: ')}{box}{code(' FORMDROPDOWN ')}</w:p>", padding) == [f"Verdict: {wanted}"]


@PADDINGS
def test_word_tells_where_fields_lead(padding: str) -> None:
    body = "<w:p>" + code(' HYPERLINK "http://evi', 'dence.example/a" \\o "tip"', result="click") + "</w:p>"
    body += "<w:p>" + code(" hyperlink http://second.example/ ", result="there") + code(" PAGE ", result="7") + "</w:p>"
    body += "<w:p>" + code(' HYPERLINK \\l "inside"', result="below") + code(' REF x "http://no.example"', result="ref")
    body += code(" MACROBUTTON DoIt Press here") + code(" EQ \\o\\ad(\\s\\up 9(furi),kanji)") + "</w:p>"
    told = lines(body, padding)
    assert [line for line in told if line in ("click", "there7", "belowref")] == ["click", "there7", "belowref"]
    wanted = {"http://evidence.example/a", "http://second.example/", "Press here", "\\o\\ad(\\s\\up 9(furi),kanji)"}
    assert set(told) - {"click", "there7", "belowref"} == wanted


@PADDINGS
def test_slides_tell_what_shapes_show(padding: str) -> None:
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="2" name="n" descr="Two ships"/></p:nvPicPr></p:pic>'
    said = "<p:sp><p:txBody><a:p><a:r><a:t>Slide</a:t></a:r></a:p></p:txBody></p:sp>"
    slide = f"<p:sld {W}>{padding}<p:cSld><p:spTree>{picture}{said}</p:spTree></p:cSld></p:sld>"
    found = read(package(**{"ppt/presentation.xml": f"<p:presentation {W}/>", "ppt/slides/slide1.xml": slide}))
    assert sorted(found.text.split("\n")) == ["", "Slide", "Two ships"]


def test_a_code_without_end_takes_no_time() -> None:
    assert lines("<w:p>" + code(" EQ" + " " * 500_000, "&quot;" * 10) + words("behind") + "</w:p>")[0] == "behind"


ODF = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = f'xmlns:office="{ODF}office:1.0" xmlns:text="{ODF}text:1.0" xmlns:table="{ODF}table:1.0" xmlns:form="{ODF}form:1.0" '
NAMES += f'xmlns:draw="{ODF}drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'


def opendocument(body: str, padding: str = "") -> Text:
    content = f"<office:document-content {NAMES}>{padding}<office:body>{body}</office:body></office:document-content>"
    parts = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    return OdfHandler().text(MemorySource(b"x", package(**parts)), Limits())


def link(address: str, tag: str = "text:a") -> str:
    return f'<{tag} xlink:href="{address}">x</{tag}>'


@PADDINGS
def test_opendocument_tells_links_forms_and_who_commented(padding: str) -> None:
    form = '<form:textarea form:current-value="Filled  answer" form:value="old"/><form:checkbox form:label="Agreed" form:value="on"/>'
    form += '<form:text form:value="Preset"/>'
    comment = "<office:annotation><dc:creator>Miller</dc:creator><dc:date>2020</dc:date><text:p>why</text:p></office:annotation>"
    changed = "<text:tracked-changes><office:change-info><dc:creator>Deleter</dc:creator></office:change-info></text:tracked-changes>"
    links = (
        link("http://linked.example/") + link("#there") + link("http://linked.example/") + link("other.odt", "draw:a")
    )
    cell = f"<table:table><table:table-row><table:table-cell>{comment}<text:p>cell</text:p></table:table-cell></table:table-row></table:table>"
    body = (
        f"{changed}<office:forms><form:form>{form}</form:form></office:forms><text:p>a{comment}b {links}</text:p>{cell}"
    )
    found = opendocument(body, padding)
    said = ["Filled answer", "Agreed", "Preset", "Miller", "http://linked.example/", "other.odt"]
    assert found.text.splitlines() == ["why", "ab xxx", "why", "cell", *said]
    assert found.error is None


@PADDINGS
def test_opendocument_says_that_there_are_more_links(padding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odf_beside, "MOST", 2)
    found = opendocument("<text:p>" + "".join(link(f"http://{n}.example/") for n in range(4)) + "</text:p>", padding)
    assert found.text.splitlines()[1:] == ["http://0.example/", "http://1.example/"]
    assert found.error is not None
    assert found.error.code is ExceptionCode.TOO_LARGE


@PADDINGS
@pytest.mark.parametrize(
    ("pieces", "address"),
    [
        ((' HYPERLINK "http://www.', "example", ".com/", "lease", '" '), "http://www.example.com/lease"),
        ((r' HYPERLINK "C:\docs\My ', 'Lease file.doc"'), r"C:\docs\My Lease file.doc"),
    ],
)
def test_an_address_is_whole_wherever_its_code_is_cut(padding: str, pieces: tuple[str, ...], address: str) -> None:
    """Also where a piece of it alone looks like the word that a field begins with."""
    body = f"<w:p>{code(*pieces, result='here')}{code(' HYPERLINK &quot;http://other&quot;', result='there')}</w:p>"
    assert sorted(lines(body, padding)) == sorted([address, "herethere", "http://other"])

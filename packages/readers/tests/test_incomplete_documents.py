"""Documents that are known to be incomplete, or hold words in odd places: each says so, or has them (docs/formats.md)."""

import io
import plistlib
import struct
import uuid
from collections.abc import Callable

import pytest
from as_found import children_of, text_of
from ocr_pictures import drawn, mixed_pdf
from office_xml import R, S, V, docx, package, para
from old_office import END, begin, biff, holding, lettered, persist, powerpoint, word, workbook
from pdf_file import showing, stream
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from core.records import Limits
from readers.base import MemorySource
from readers.documents.pdf import handler as outline
from readers.documents.pdf import metadata as xfa
from readers.errors import ExceptionCode
from readers.identification.identify import identify
from readers.office import art
from readers.office.ooxml import package as parts_of
from readers.records import TextState
from readers.registry import handler_for
from worker.items.findings import Findings
from worker.items.loose import loose_row
from worker.items.texts import take_text

_JOB = uuid.UUID(int=0)


def _booked(data: bytes, *, ocr: bool = False) -> tuple[TextState, list[tuple[str, str]]]:
    """State and item-level exceptions of a loose file, as a job has them."""
    source, out = MemorySource(b"x", data), Findings()
    media_type = identify(source)
    item = loose_row(_JOB, 0, b"x", media_type=media_type, size=len(data), sha256=bytes(32))
    _, row = take_text(item, source, handler_for(media_type), Limits(), out, ocr=ocr)
    return row.state, [(e.code.value, e.detail) for e in out.exceptions]


def _paper(*draw: Callable[[canvas.Canvas], object]) -> bytes:
    """A PDF of pages that are drawn so."""
    out = io.BytesIO()
    paper = canvas.Canvas(out)
    for one in draw:
        one(paper)
        paper.showPage()
    paper.save()
    return out.getvalue()


def _words(paper: canvas.Canvas) -> None:
    paper.drawString(72, 700, "Cover sheet")


def _scan(paper: canvas.Canvas) -> None:
    paper.drawImage(ImageReader(drawn("HARVEST")), 36, 400, width=520, height=200)


def _frame(paper: canvas.Canvas) -> None:
    paper.rect(50, 50, 500, 700)
    paper.line(50, 100, 500, 100)


def _framed(paper: canvas.Canvas) -> None:
    _frame(paper)
    paper.linkURL("https://example.org/", (0, 0, 9, 9))


def _outlines(paper: canvas.Canvas) -> None:
    """Letters that are drawn as lines, as some programs do with fonts that may not be embedded."""
    for at in range(40):
        path = paper.beginPath()
        path.moveTo(10 * at, 500)
        path.curveTo(10 * at, 510, 10 * at + 5, 510, 10 * at + 5, 500)
        path.close()
        paper.drawPath(path)


def test_scans_behind_a_cover_sheet_are_reported() -> None:
    """The commonest PDF of a production: `ok` would say that all was read."""
    state, codes = _booked(mixed_pdf("Cover sheet", ["a scan"], None, ["another"]))
    assert (state, codes) == (TextState.PARTIAL, [("unsupported", "2 of 4 pages show pictures and have no text")])


def test_pages_that_lack_nothing_are_no_loss() -> None:
    assert _booked(_paper(_words, lambda paper: None, _frame)) == (TextState.OK, [])
    state, codes = _booked(_paper(_words, _outlines))
    assert (state, codes[0][0]) == (TextState.PARTIAL, "unsupported")


def test_a_picture_within_a_form_is_seen() -> None:
    """Many scanners put the page's picture into one (ISO 32000-1, 8.10)."""

    def packed(paper: canvas.Canvas) -> None:
        paper.beginForm("page")
        _scan(paper)
        paper.endForm()
        paper.doForm("page")

    assert _booked(_paper(_words, packed))[0] is TextState.PARTIAL


def _noted(paper: canvas.Canvas) -> None:
    _scan(paper)
    paper.bookmarkPage("a")
    paper.addOutlineEntry("Exhibit 1", "a")
    paper.linkURL("https://example.org/scan", (0, 0, 99, 99))


def test_bookmarks_and_links_are_no_text_layer() -> None:
    found = text_of(_paper(_noted))
    assert (found.state, found.text.split("\n")) == (
        TextState.NO_TEXT_LAYER,
        ["https://example.org/scan", "Exhibit 1", ""],
    )
    assert _booked(_paper(_noted)) == (TextState.NO_TEXT_LAYER, [])
    assert _booked(_paper(_framed)) == (TextState.OK, [])


def test_with_ocr_such_pages_are_not_yet_an_exception() -> None:
    data = mixed_pdf("words", ["a scan"])
    assert _booked(data, ocr=True) == (TextState.OK, [])
    state, codes = _booked(data[: data.rindex(b"startxref")], ocr=True)
    assert (state, [code for code, _ in codes]) == (TextState.PARTIAL, ["truncated"])


def _linked(paper: canvas.Canvas) -> None:
    _words(paper)
    for at in range(4):
        paper.linkURL(f"https://example.org/{at}", (10 * at, 0, 10 * at + 9, 9))
        paper.bookmarkPage(str(at))
        paper.addOutlineEntry(f"Part {at}", str(at))


def test_what_is_cut_at_a_limit_of_a_pdf_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _booked(_paper(_linked)) == (TextState.OK, [])
    with monkeypatch.context() as patch:
        patch.setattr("readers.documents.pdf.pages.MOST_NAMES", 3)
        assert [code for code, _ in _booked(_paper(_linked))[1]] == ["too_large"]
    monkeypatch.setattr(outline, "_MOST_ENTRIES", 3)
    state, codes = _booked(_paper(_linked))
    assert (state, [code for code, _ in codes]) == (TextState.PARTIAL, ["too_large"])
    assert "Part 2\n" in text_of(_paper(_linked)).text
    assert "Part 3\n" not in text_of(_paper(_linked)).text


@pytest.mark.parametrize(("packet", "code"), [(b"<data>42</data>", "too_large"), (b"\xff\xfedata", "corrupt")])
def test_a_form_whose_values_are_not_read_reports_it(packet: bytes, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if code == "too_large":
        monkeypatch.setattr(xfa, "_MAX_BYTES", 10)
    catalogue = b"/AcroForm<</Fields[]/XFA[(datasets)6 0 R]>>"
    out = text_of(showing(b"BT /F 9 Tf 9 9 Td (Please wait) Tj ET", stream(packet), catalogue=catalogue))
    assert "Please wait" in out.text
    assert out.error is not None
    assert out.error.code.value == code


def _letter(message: str, related: str = "", **more: str) -> bytes:
    """A Word document of one run, and what it relates to."""
    rels = {"word/_rels/document.xml.rels": f'<Relationships xmlns="r">{related}</Relationships>'}
    return docx(para(message), **rels, **more)


def _relation(number: int, kind: str, target: str, mode: str = "Internal") -> str:
    return f'<Relationship Id="r{number}" Type="{R}/{kind}" Target="{target}" TargetMode="{mode}"/>'


def _book(cells: str, *sheets: str, strings: str = "", **more: str) -> bytes:
    """A workbook with these sheets, of which only the first is in the package."""
    listed = "".join(f'<sheet name="{name}" r:id="r{at}"/>' for at, name in enumerate(sheets, start=1))
    related = "".join(_relation(at, "worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(sheets) + 1))
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="r">{related}</Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData><row>{cells}</row></sheetData></worksheet>',
        **({"xl/sharedStrings.xml": f'<sst xmlns="{S}">{strings}</sst>'} if strings else {}),
        **more,
    }
    return package(parts)


# A string by its number in a form that is told by expressions, one in a form that is read as a tree, and a number.
_SHARED = '<c r="A1" t="s"><v>0</v></c><c r="B1"><v>42</v></c><c t="s" r="C1" xml:space="preserve"><v>7</v></c>'


def test_addresses_beyond_the_limit_of_an_office_document_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    links = "".join(_relation(at, "hyperlink", f"https://example.org/{at}", "External") for at in range(3))
    data = _letter("body", links)
    assert _booked(data) == (TextState.OK, [])
    monkeypatch.setattr(parts_of, "_ADDRESSES", 2)
    assert [code for code, _ in _booked(data)[1]] == ["too_large"]
    assert text_of(data).text.split() == ["body", "https://example.org/0", "https://example.org/1"]


def test_cells_whose_strings_are_not_there_are_reported() -> None:
    state, codes = _booked(_book(_SHARED, "Sales"))
    assert (state, codes) == (
        TextState.PARTIAL,
        [("corrupt", "2 cells refer to strings that are missing from the workbook")],
    )
    whole = _book(_SHARED, "Sales", strings="<si><t>word</t></si>" * 8)
    assert _booked(whole) == (TextState.OK, [])
    assert text_of(whole).text.split() == ["Sales", "word", "42", "word"]


def test_a_sheet_that_is_not_there_is_reported() -> None:
    data = _book('<c r="A1"><v>42</v></c>', "Sales", "Bribes")
    state, codes = _booked(data)
    assert (state, codes) == (TextState.PARTIAL, [("corrupt", "1 referenced parts with text are missing")])
    assert text_of(data).text.split() == ["Sales", "42", "Bribes"]


@pytest.mark.parametrize("kind", ["header", "footer", "footnotes", "comments"])
def test_a_part_of_a_document_that_is_not_there_is_reported(kind: str) -> None:
    related = _relation(1, "image", "media/gone.png") + _relation(2, kind, "https://example.org/x", "External")
    assert _booked(_letter("body", related)) == (TextState.OK, [])
    related += _relation(3, kind, "a%20part.xml")
    state, codes = _booked(_letter("body", related))
    assert (state, codes[0][0]) == (TextState.PARTIAL, "corrupt")
    assert _booked(_letter("body", related, **{"word/a part.xml": "<w:hdr xmlns:w='w'/>"})) == (TextState.OK, [])


def test_strings_that_an_older_workbook_lacks_are_reported() -> None:
    cells = [(0xFD, struct.pack("<HHHI", 0, column, 0, number)) for column, number in enumerate((0, 5, 6))]
    globals_ = [begin(5), (0xFC, struct.pack("<II", 1, 1) + struct.pack("<HB", 4, 0) + b"word"), END]
    state, codes = _booked(workbook(biff(*globals_, begin(), *cells, (0x3C, b"\0"), END)))
    assert (state, codes) == (
        TextState.PARTIAL,
        [("corrupt", "2 cells refer to strings that are missing from the workbook")],
    )


_TEXTS = "PRIVILEGED ATTORNEY WORKPRODUCT"


def test_watermarks_of_word_are_text() -> None:
    """For a review it is the word that counts; it stands in an attribute of VML."""
    shapes = f'<v:shapetype><v:textpath on="t"/></v:shapetype><v:shape><v:textpath string="{_TEXTS}"/></v:shape>'
    shown = f"head</w:t><w:pict>{shapes}</w:pict><w:t>"
    assert text_of(_letter(shown)).text.split() == ["head", *_TEXTS.split()]


def test_controls_of_sheets_are_text() -> None:
    note = '<v:shape><v:textbox><div>a note</div></v:textbox><x:ClientData ObjectType="Note"/></v:shape>'
    button = '<v:shape><v:textbox><div><font>Approve<br>payment</font></div></v:textbox><x:ClientData ObjectType="Button"/></v:shape>'
    drawing = f'<xml xmlns:v="{V}" xmlns:x="urn:schemas-microsoft-com:office:excel">%s</xml>'
    cells = '<c r="A1"><v>42</v></c>'
    found = text_of(_book(cells, "Sales", **{"xl/drawings/vmlDrawing1.vml": drawing % (note + button)}))
    assert (found.text.split(), found.error) == (["Sales", "42", "Approve", "payment"], None)
    assert text_of(_book(cells, "Sales", **{"xl/drawings/vmlDrawing1.vml": drawing % note})).text.split() == [
        "Sales",
        "42",
    ]
    lettered = drawing % f'<v:shape><v:textpath string="{_TEXTS}"/></v:shape>'
    assert _TEXTS in text_of(_book(cells, "Sales", **{"xl/drawings/vmlDrawing1.vml": lettered})).text


@pytest.mark.parametrize(
    "data",
    [
        word(["body\r"], drawings=holding(0xF002, holding(0xF004, lettered(_TEXTS, (0x81, b"ab"))))),
        workbook(biff(begin(5), END, begin(), (0xEC, holding(0xF004, lettered(_TEXTS))), END)),
        powerpoint(
            {
                1: holding(0x3E8, holding(0xFF0, persist(2))),
                2: holding(0x3EE, holding(0x40C, holding(0xF002, holding(0xF004, lettered(_TEXTS, (0x17F, b"x")))))),
            }
        ),
    ],
    ids=["doc", "xls", "ppt"],
)
def test_letters_that_make_shapes_are_text(data: bytes) -> None:
    found = text_of(data)
    assert _TEXTS in found.text.splitlines()
    assert found.error is None


def test_what_only_looks_like_properties_hides_nothing() -> None:
    """A header by chance, one that goes beyond the end, one of more properties than it has room for."""
    chance = b"\x13\0\x0b\xf0\xff\xff\xff\x7f" + b"\xf3\xff\x0b\xf0\x08\0\0\0" + b"\xc0\x80"
    assert list(art.lettering(chance + lettered("found"))) == ["found"]
    assert list(art.lettering(lettered("found")[:-9])) == []
    assert list(art.lettering(b"\xc0\x80" * 50)) == []


_ARCHIVE = {
    "WebMainResource": {
        "WebResourceURL": "https://example.org/a/the%20page.html",
        "WebResourceMIMEType": "text/html",
        "WebResourceData": b"<p>The zebra contract was signed",
        "WebResourceResponse": b"never shown",
    },
    "WebSubresources": [{"WebResourceURL": "https://[example.org/x.gif", "WebResourceData": b"GIF89a"}],
}


@pytest.mark.parametrize("form", [plistlib.FMT_BINARY, plistlib.FMT_XML])
def test_a_saved_page_is_a_child_of_its_web_archive(form: plistlib.PlistFormat) -> None:
    """Without it the archive was `ok` and had no word of the page; in XML its base64 stood there as words."""
    data = plistlib.dumps(_ARCHIVE, fmt=form, sort_keys=False)
    found = [(child.name, child.data, child.media_type, child.ordinal) for child in children_of(data)]
    assert found == [
        (b"the page.html", b"<p>The zebra contract was signed", "text/html", 0),
        (b"resource-1", b"GIF89a", None, 1),
    ]
    text = text_of(data).text
    assert "https://example.org/a/the%20page.html" in text
    assert "R0lGODlh" not in text


def test_a_list_that_is_no_web_archive_has_no_children() -> None:
    for form in (plistlib.FMT_BINARY, plistlib.FMT_XML):
        assert children_of(plistlib.dumps({"Bookmark": bytes(99), "Name": "x"}, fmt=form)) == []
    assert children_of(b"<?xml version='1.0'?><plist><dict>") == []


def test_a_resource_that_cannot_be_decoded_is_a_row_with_an_exception() -> None:
    data = plistlib.dumps(_ARCHIVE, fmt=plistlib.FMT_XML).replace(b"R0lGODlh", b"R0lGODlh!!")
    page, picture = sorted(children_of(data), key=lambda child: child.data is None)
    assert (page.data, picture.data) == (b"<p>The zebra contract was signed", None)
    assert (picture.error and picture.error.code) is ExceptionCode.CORRUPT


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ('<smses><sms body="Delete the zebra ledger" kind="1"/></smses>', ["Delete the zebra ledger", "1"]),
        ('<a><b x="1" y="two words"/><b z="größer"/><c t="not this one">said</c></a>', ["said", "two words", "größer"]),
        ('<svg xmlns="http://www.w3.org/2000/svg"><path d="M 1 2 L ab cd"/></svg>', []),
        (f'<a b="{"x" * 2_000}" c="said"/>', ["said"]),
    ],
    ids=["messages", "beside data", "picture", "packed data"],
)
def test_words_in_attributes(markup: str, lines: list[str]) -> None:
    """What phones save of messages is in attributes alone, and was `empty`."""
    assert text_of(b'<?xml version="1.0"?>' + markup.encode(), name=b"x.xml").text.splitlines() == lines

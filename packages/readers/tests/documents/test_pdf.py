"""PDF: text, pages, attachments, passwords and damage."""

import io
import os
import struct
import tracemalloc
import zlib

import pypdfium2 as pdfium
import pytest
from as_found import read_by
from ocr_pictures import mixed_pdf
from pdf_file import CATALOGUE, CONTENT, HELVETICA, one_page, page, pdf, showing, stream
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen import canvas
from unpacking import unpack

from core.records import Limits
from readers import xmp
from readers.base import MemorySource
from readers.documents.pdf import metadata as pdf_metadata
from readers.documents.pdf.handler import PdfHandler
from readers.documents.pdf.metadata import _texts
from readers.documents.pdf.packed import may_mention
from readers.errors import DocumentError, ExceptionCode, PagesWithoutText
from readers.records import Kind, TextState

LIMITS = Limits()
HANDLER = PdfHandler()
read, children = read_by(HANDLER)


def make(*pages: str, password: str | None = None) -> bytes:
    """A PDF of these pages, encrypted when a password (the empty one too) is given."""
    out = io.BytesIO()
    encryption = None if password is None else StandardEncryption(password, ownerPassword="o")
    paper = canvas.Canvas(out, encrypt=encryption)
    paper.setTitle("A title")
    paper.setAuthor("An author")
    for text in pages:
        paper.drawString(72, 700, text)
        paper.showPage()
    paper.save()
    return out.getvalue()


@pytest.fixture
def paper() -> canvas.Canvas:
    """An empty page to draw on; `text_drawn` ends it."""
    return canvas.Canvas(io.BytesIO())


def text_drawn(paper: canvas.Canvas) -> str:
    """Text of what was drawn."""
    paper.showPage()
    return read(paper.getpdfdata()).text


def test_text_pages_and_metadata() -> None:
    out = read(make("first page", "second page"))
    assert out.text.splitlines() == ["first page", "second page"]
    assert out.pages == 2
    assert (out.metadata["title"], out.metadata["author"]) == ("A title", "An author")
    assert out.error is None


def test_a_word_hyphenated_at_a_lines_end_keeps_a_soft_hyphen(paper: canvas.Canvas) -> None:
    """The index has it whole and in its parts; joined without a mark, neither `well-known` nor `known` would be found."""
    for at, line in enumerate(("the inter-", "national and well-", "known agreement")):
        paper.drawString(72, 700 - 14 * at, line)
    assert text_drawn(paper).split() == ["the", "inter\xadnational", "and", "well\xadknown", "agreement"]


def test_words_with_narrow_gaps_are_words(paper: canvas.Canvas) -> None:
    """PDFium leaves out the blank where the gap is narrow, and a search for any of the words found nothing; long words, and
    letters that are a little apart, stay whole."""
    shown = "a large spectrum of experience in the financial industry and fast learner with attention to every detail"
    whole = "Rindfleischetikettierungsaufgabe and Donaudampfschifffahrtsgesellschaft are words of their own for sure"
    for at, (line, blank) in enumerate(((shown, 1.6), (shown, 1.6), (whole, 4.0))):
        x = 72.0
        for word in line.split():
            for letter in word:
                paper.drawString(x, 700 - 20 * at, letter)
                x += paper.stringWidth(letter, "Helvetica", 12) + 0.1
            x += blank
    assert text_drawn(paper).split() == [*shown.split(), *shown.split(), *whole.split()]


def test_words_that_stick_are_found_both_ways(paper: canvas.Canvas) -> None:
    """On a page whose words stick to the commas before them others may stick to words, and a search for `crash` found nothing; a soft
    hyphen has the index read them whole and in parts. Letters that are set apart stay as they are."""
    shown = "typed styles of ours install any signal handler.~The parts,~as ever,~are sorted and never~crash;~all is well S~ale"
    for line in range(5):  # a letter's places tell how far it stands from the next
        x = 20.0
        for letter in shown:
            paper.drawString(x, 700 - 20 * line, letter.strip("~ "))
            x += {" ": 4.0, "~": 1.7}.get(letter) or paper.stringWidth(letter, "Helvetica", 12) - 0.5
    assert {"never\xadcrash;all", "Sale"} <= set(text_drawn(paper).split())


def test_a_page_that_is_upside_down(paper: canvas.Canvas) -> None:
    lines = (
        "American artists and thinkers spoke of cultural ideals",
        "in museums and partnerships of the whole world today",
    )
    paper.translate(500, 500)
    paper.rotate(180)
    for at, line in enumerate(lines):
        x = 0.0
        for piece in (part for word in line.split() for part in (word[:3], word[3:], " ")):
            paper.drawString(x, -14 * at, piece.strip())
            x += paper.stringWidth(piece, "Helvetica", 12)
    assert text_drawn(paper).splitlines() == list(lines)


def test_text_without_letters_is_reported() -> None:
    """Of a font that numbers its letters as it likes PDFium gives none: a page of them had few words, and the state `ok`."""
    drawn = b"BT /G 9 Tf 9 9 Td (seen) Tj ET BT /F 9 Tf "
    drawn += b"".join(b"9 %d Td <%04X> Tj " % (k % 7, 0x2000 + k) for k in range(99)) + b"ET"
    out = read(
        one_page(
            stream(drawn),
            b"<</Type/Font/Subtype/Type0/BaseFont/Some/Encoding/Identity-H/DescendantFonts[6 0 R]>>",
            b"<</Type/Font/Subtype/CIDFontType0/BaseFont/Some/CIDSystemInfo"
            b"<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor 7 0 R>>",
            b"<</Type/FontDescriptor/FontName/Some/Flags 4/FontBBox[0 0 1 1]/ItalicAngle 0/Ascent 9/Descent 0/CapHeight 7/StemV 8>>",
            HELVETICA,
            entries=b"/Contents 4 0 R/Resources<</Font<</F 5 0 R/G 8 0 R>>>>",
        )
    )
    assert out.text.strip() == "seen"
    assert (out.error and out.error.code) is ExceptionCode.UNSUPPORTED


def test_pages_without_text_are_named() -> None:
    """Those with something on them, where others have text: a blank page lacks nothing, and a document of scans alone has
    the state for that."""
    found = read(mixed_pdf("words", ["a scan"], None, ["another"], ["a third"]))
    assert isinstance(found.error, PagesWithoutText)
    assert "3 of 5 pages" in found.error.detail
    assert (found.metadata["pages_without_text"], found.text.split()) == ("2, 4-5", ["words"])
    assert "pages_without_text" not in read(mixed_pdf("words", None)).metadata
    scans = read(mixed_pdf(["a scan"]))
    assert (scans.state, "pages_without_text" in scans.metadata) == (TextState.NO_TEXT_LAYER, False)


def test_names_and_values_of_form_fields() -> None:
    """A value may be in a field above the widget; a box says what it means where it is ticked; what a button is set to
    is no text, nor is a name that a program counted."""
    box = b"<</Type/Annot/Subtype/Widget/FT/Btn/T(%b)/TU(Was it paid?)/V/%b/AS/%b/AP<</N<</cash 9 0 R/Off 9 0 R>>>>"
    data = one_page(
        b"<</FT/Tx/T(above)/V(inherited value)/Kids[5 0 R]>>",
        b"<</Type/Annot/Subtype/Widget/Parent 4 0 R/Rect[10 10 100 30]>>",
        b"<</Type/Annot/Subtype/Widget/FT/Btn/T(button)/V/Pressed/Rect[10 50 100 80]>>",
        box % (b"paid", b"cash", b"cash") + b"/Rect[10 100 30 120]>>",
        box % (b"form[0].late[0]", b"Off", b"Off") + b"/Rect[10 130 30 150]>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 20 20]/Length 0>>stream\n\nendstream",
        b"<</FT/Tx/T(nowhere)/V(on \\(no\\) page)>>",
        b"<</Type/Annot/Subtype/Widget/FT/Ch/T(list)/Ff 2097152/Opt[[(x)(shown)](two)(three)]/V[(x)(three)]/Rect[9 9 99 99]>>",
        catalogue=b"/AcroForm<</Fields[4 0 R 6 0 R 7 0 R 8 0 R 10 0 R 11 0 R]>>",
        entries=b"/Annots[5 0 R 6 0 R 7 0 R 8 0 R 11 0 R]",
    )
    reported = "above\ninherited value\nbutton\nWas it paid?\npaid\ncash\nlist\nshown\nthree\non (no) page"
    assert read(data).text.strip() == reported


@pytest.mark.parametrize(
    "more",
    [
        b"/Square/AP<</N 6 0 R>>",
        b"/Widget/FT/Btn/AP<</N 6 0 R>>",
        b"/FreeText/RC(<p>sh<b>own</b></p>)",
        b"/Redact/OverlayText(shown)",
    ],
)
def test_what_an_annotation_shows_is_text(more: bytes) -> None:
    look = stream(b"BT /F 9 Tf 1 1 Td (shown) Tj ET", b"/Subtype/Form/BBox[0 0 90 90]/Resources<</Font<</F 5 0 R>>>>")
    drawn = b"<</Type/Annot/Rect[0 0 90 90]/Subtype%b>>" % more
    assert read(one_page(drawn, HELVETICA, look, entries=b"/Annots[4 0 R]")).text.split() == ["shown"]


@pytest.mark.parametrize("kind", [b"RichMedia", b"Screen", b"Movie", b"Sound", b"3D"])
def test_media_on_a_page_are_reported(kind: bytes) -> None:
    """Flash may say anything; `ok` would say that all was read. The file in it need not say that it is one."""
    film = b"<</Type/Annot/Subtype/%b/Contents(a film)/Rect[10 10 100 30]>>" % kind
    out = read(one_page(film, entries=b"/Annots[4 0 R]"))
    assert out.text.strip() == "a film"
    assert (out.error and out.error.code) is ExceptionCode.UNSUPPORTED


def test_a_page_that_breaks_off_is_reported() -> None:
    drawn = (
        b"BT /F 9 Tf "
        + b"".join(b"9 %d Td (word%d and more) Tj " % (9 * (k % 7), k * 7919 % 10007) for k in range(400))
        + b"ET"
    )

    def document(packed: bytes) -> bytes:
        return one_page(stream(packed, b"/Filter/FlateDecode"), HELVETICA, entries=CONTENT)

    whole = zlib.compress(drawn)
    middle = len(whole) // 2
    assert read(document(whole[:-1] + bytes([whole[-1] ^ 1]))).error is None
    assert read(document(b"")).error is None
    for damaged in (whole[:middle] + bytes(40) + whole[middle + 40 :], whole[:middle]):
        out = read(document(damaged))
        assert 0 < len(out.text) < len(read(document(whole)).text)
        assert (out.error and out.error.code) is ExceptionCode.CORRUPT


def test_unreadable_pages_are_counted_and_the_others_read() -> None:
    much = " ".join(f"word{number}" for number in range(3000))
    content = b"/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>"
    out = read(
        pdf(
            CATALOGUE % b"",
            b"<</Type/Pages/Kids[4 0 R 9 0 R 6 0 R]/Count 3>>",
            HELVETICA,
            page(content % 5, box=b"0 0 300000 300"),
            stream(b"BT /F 9 Tf (" + much.encode() + b") Tj ET"),
            page(content % 7),
            stream(b"BT /F 9 Tf (last) Tj ET"),
        )
    )
    assert out.text == f"{much}\nlast\n"
    assert out.pages == 3
    assert out.error is not None
    assert (out.error.code, out.error.detail) == (ExceptionCode.CORRUPT, "1 of 3 pages cannot be read")


def test_a_document_without_a_readable_page_is_not_labelled_as_without_text_layer() -> None:
    """It is not what OCR is for, and its text is lost: the state follows from the exception. One page that can be read, and
    is empty, has no text layer."""
    for kids, state in ((b"8 0 R 9 0 R", None), (b"3 0 R 9 0 R", TextState.NO_TEXT_LAYER)):
        out = read(pdf(CATALOGUE % b"", b"<</Type/Pages/Kids[%b]/Count 2>>" % kids, page()))
        assert (out.state, out.text, out.pages) == (state, "", 2)
        assert (out.error and out.error.code) is ExceptionCode.CORRUPT


def test_attachments_are_children() -> None:
    document = pdfium.PdfDocument(make("x"))
    for name, content in (("one.txt", b"content 1"), ("zwei ü.bin", bytes(range(256)))):
        document.new_attachment(name).set_data(content)
    buffer = io.BytesIO()
    document.save(buffer)
    document.close()
    found = children(buffer.getvalue())
    assert [(c.name.decode(), c.data, c.kind) for c in found] == [
        ("one.txt", b"content 1", Kind.EMBEDDED_OBJECT),
        ("zwei ü.bin", bytes(range(256)), Kind.EMBEDDED_OBJECT),
    ]
    assert [c.ordinal for c in found] == [0, 1]


def test_embedded_files_that_no_list_leads_to_are_counted() -> None:
    data = one_page(
        b"<</Type/Filespec/F(a)/EF<</F 5 0 R/Unix 6 0 R>>>>",
        stream(b"one", b"/Type/EmbeddedFile"),
        stream(b"two", b"/Type /EmbeddedFile"),
        catalogue=b"/Names<</EmbeddedFiles<</Names[(a) 4 0 R]>>>>",
    )
    found = HANDLER.children(MemorySource(b"x.pdf", data), LIMITS)
    assert next(found).data == b"one"
    with pytest.raises(DocumentError) as caught:
        next(found)
    assert (caught.value.code, caught.value.missing) == (ExceptionCode.UNSUPPORTED, 1)


def test_empty_user_password_is_read() -> None:
    assert "readable" in read(make("readable", password="")).text


def test_no_text_layer() -> None:
    out = read(make("", ""))
    assert (out.state, out.text, out.pages) == (TextState.NO_TEXT_LAYER, "", 2)


def test_truncated_is_an_error() -> None:
    data = make("some text")
    cut = data[: data.rindex(b"startxref")]
    try:
        error = read(cut).error
    except DocumentError as raised:
        error = raised
    assert (error and error.code) is ExceptionCode.TRUNCATED


def test_corrupt_is_an_error() -> None:
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        read(b"%PDF-1.4\n" + b"junk " * 100 + b"%%EOF")


def test_limits() -> None:
    data = make("some text that is long enough")
    out = read(data, Limits(text_characters=4))
    assert (out.text, out.state) == ("some", TextState.TRUNCATED_BY_LIMIT)
    with pytest.raises(DocumentError, match=r"^too_large:"):
        read(data, Limits(parse_bytes=100))


def test_works_after_fork() -> None:
    data = make("forked")
    read(data)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if all("forked" in read(data).text for _ in range(20)) else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def with_xfa(packets: bytes) -> bytes:
    """A PDF whose form is in XFA: packets in an array, or one stream with all of them."""
    data = '<xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"><xfa:data><form><name>Ann Größe</name>'
    data += "<e/><!-- c --><sum> 42 </sum><h:p xmlns:h='h'>ri<h:b>ch</h:b></h:p></form></xfa:data><xfa:other>no value</xfa:other></xfa:datasets>"
    parts = ("<template>caption</template>", data, f"<xdp><template>caption</template>{data}</xdp>")
    return one_page(*(stream(xml.encode()) for xml in parts), catalogue=b"/AcroForm<</Fields[]/XFA %b>>" % packets)


@pytest.mark.parametrize("packets", [b"[(template)4 0 R(datasets)5 0 R]", b"6 0 R"], ids=["packets", "one stream"])
def test_values_of_xfa_forms_are_text(packets: bytes) -> None:
    assert read(with_xfa(packets)).text.split("\n") == ["Ann Größe", "42", "rich", ""]


def signed(*texts: bytes, stamp: bytes = b"") -> bytes:
    """A page with a signature's field, which shows something, or with a stamp; the signature's dictionary says `texts`."""
    kind = b"/Subtype/Stamp" if stamp else b"/Subtype/Widget/FT/Sig/T(s)/V 7 0 R"
    font = b"/Resources<</Font<</F 5 0 R>>>>"
    shows = b"BT /F 9 Tf 5 5 Td (%b) Tj ET" % (stamp or b"Digitally signed by Somebody")
    data = one_page(
        b"<</Type/Annot%b/Rect[10 10 200 40]/F 4/AP<</N 6 0 R>>>>" % kind,
        HELVETICA,
        stream(shows, b"/Type/XObject/Subtype/Form/BBox[0 0 190 30]" + font),
        b"<</Type/Sig/Filter/Adobe.PPKLite/ByteRange[0 AAAAAA BBBBBB CCCCCC]/Contents<00ff>%b>>" % b"".join(texts),
        stream(b"BT /F 9 Tf 50 200 Td (the page) Tj ET"),
        catalogue=b"/AcroForm<</Fields[%b]/SigFlags 3>>" % (b"" if stamp else b"4 0 R"),
        entries=b"/Annots[4 0 R]/Contents 8 0 R" + font,
    )
    before = data.index(b"<00ff>")
    for mark, place in ((b"AAAAAA", before), (b"BBBBBB", before + 6), (b"CCCCCC", len(data) - before - 6)):
        data = data.replace(mark, b"%06d" % place)
    return data


def test_words_of_a_signature_and_of_its_field() -> None:
    """Who signed, where and why, in any of the ways a string can be written; what its field shows on the page."""
    texts = (
        b"/Reason(I agree)/Name(A. \\(Mar\\355a\\) N(o)wak)",
        b"/Location <FEFF041A04380457>/ContactInfo(a@example.org)/Prop_Build<</App<</Name/SomeProgram>>>>",
    )
    lines = read(signed(*texts)).text.splitlines()
    assert lines[:2] == ["the page", "Digitally signed by Somebody"]
    assert sorted(lines[2:]) == sorted(["I agree", "A. (Mar\u00eda) N(o)wak", "\u041a\u0438\u0457", "a@example.org"])


def test_what_a_stamp_shows() -> None:
    assert read(signed(stamp=b"APPROVED by counsel")).text.splitlines() == ["the page", "APPROVED by counsel"]


@pytest.mark.parametrize(
    ("reported", "text"),
    [(b"/Name(never ends", "never ends"), (b"/Name<41", "A"), (b"/Name()", ""), (b"/Location(\\", "\\")],
)
def test_a_signature_that_is_damaged(reported: bytes, text: str) -> None:
    assert list(_texts(reported)) == [text]


def test_outline_links_and_who_commented() -> None:
    data = one_page(
        b"<</Type/Annot/Subtype/Link/Rect[1 1 9 9]/A<</S/URI/URI(mailto:ann@example.org)>>>>",
        b"<</Type/Annot/Subtype/Text/Rect[1 1 9 9]/Contents(why?)/T(Ann Clerk)/Subj(Note)>>",
        b"<</Type/Outlines/First 7 0 R/Last 8 0 R>>",
        b"<</Title(Part one)/Parent 6 0 R/Next 8 0 R/First 9 0 R/Last 9 0 R>>",
        b"<</Title(Part two)/Parent 6 0 R/Next 7 0 R>>",
        b"<</Title<FEFF00DC006200650072>/Parent 7 0 R>>",
        b"<</Type/Annot/Subtype/Link/Rect[1 1 9 9]/A<</S/Launch/F(started.doc)>>>>",
        b"<</Type/Annot/Subtype/Link/Rect[1 1 9 9]/A<</S/GoToR/F(other.pdf)/D[0/Fit]>>>>",
        catalogue=b"/Outlines 6 0 R",
        entries=b"/Annots[4 0 R 4 0 R 5 0 R 5 0 R 10 0 R 11 0 R]",
    )
    shown = ["mailto:ann@example.org", "why?", "Ann Clerk", "Note", "why?", "started.doc", "other.pdf"]
    assert read(data).text.splitlines() == [*shown, "Part one", "\u00dcber", "Part two"]


def test_single_letters_are_no_words() -> None:
    apart = read(make(*[" ".join("lettersapart") for _ in range(10)], "and some words"))
    assert apart.error is not None
    assert apart.error.code is ExceptionCode.UNSUPPORTED
    assert "120 letters" in apart.error.detail
    assert read(make(" ".join("lettersapart"), "and some words")).error is None
    assert read(make(*["words in the text and a b c d e" for _ in range(40)])).error is None


PACKET = b"""<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Budget of 2019</rdf:li><rdf:li xml:lang="de">Haushalt</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ann Lee</rdf:li><rdf:li>Bo</rdf:li></rdf:Seq></dc:creator>
<dc:subject><rdf:Bag><rdf:li>money</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
OTHER = PACKET.replace(b"Budget", b"Picture").replace(b"Haushalt", b"")


def with_xmp(*packets: bytes, named: int = 0, packed: bool = False, title: bytes = b"") -> bytes:
    """A PDF whose catalogue names one of several packets; its Info has at most a title."""
    about = b"/Type /Metadata/Subtype/XML" + (b"/Filter/FlateDecode" if packed else b"")
    return one_page(
        b"<</Title(%b)>>" % title,
        *(stream(zlib.compress(packet) if packed else packet, about) for packet in packets),
        catalogue=b"/MarkInfo<</Marked true>>%b" % (b"/Metadata %d 0 R" % (named + 5) if named >= 0 else b""),
        info=4,
    )


@pytest.mark.parametrize("packed", [False, True])
def test_properties_of_xmp_alone_are_metadata(packed: bool) -> None:
    found = read(with_xmp(OTHER, PACKET, named=1, packed=packed)).metadata
    assert found == {"title": "Budget of 2019", "author": "Ann Lee, Bo", "keywords": "money"}
    assert read(with_xmp(PACKET, packed=packed, named=-1)).metadata == found
    assert read(with_xmp(PACKET, title=b"Info")).metadata == found | {"title": "Info"}


def test_no_packet_is_taken_for_the_documents() -> None:
    assert read(with_xmp(OTHER, PACKET, named=-1)).metadata == {}
    assert read(with_xmp(b"<x", packed=False)).metadata == {}
    assert read(with_xmp(PACKET, packed=True).replace(b"x\x9c", b"zz")).metadata == {}


def _pdf(shown: str, **letters: str) -> bytes:
    """One page with these glyphs from left to right, and the letters that ToUnicode gives for them."""
    lines = "\n".join(f"<{ord(glyph):02x}> <{text.encode('utf-16-be').hex()}>" for glyph, text in letters.items())
    unicode_map = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def 1 begincodespacerange "
        f"<00><FF> endcodespacerange {len(letters)} beginbfchar\n{lines}\nendbfchar endcmap end end"
    )
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>"
    content = f"BT /F 12 Tf 72 200 Td ({shown}) Tj ET".encode()
    return one_page(stream(content), font, stream(unicode_map.encode()), entries=CONTENT)


def test_what_stands_for_pictures_in_the_structure() -> None:
    """Alternative and replacement texts of tagged documents (14.9), each once, but for what the page itself says."""
    data = one_page(
        stream(b"/Figure <</MCID 0>> BDC BT /F 12 Tf 9 9 Td (shown) Tj ET EMC"),
        HELVETICA,
        b"<</Type/StructTreeRoot/K[7 0 R]/ParentTree<</Nums[0[7 0 R]]>>>>",
        b"<</Type/StructElem/S/Figure/P 6 0 R/Pg 3 0 R/K 0/Alt(a ship)/ActualText(shown)>>",
        catalogue=b"/StructTreeRoot 6 0 R/MarkInfo<</Marked true>>",
        entries=b"/StructParents 0" + CONTENT,
    )
    assert read(data).text.split("\n") == ["shown", "a ship", ""]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (_pdf("ABCD", A="م", B="س", C="لا", D="ا"), "الاسم"),
        (_pdf("ABC", A="م", B="لا", C="س"), "سلام"),
        (_pdf("ABCD", A="م", B="س", C="\ufefb", D="ا"), "الاسم"),  # PDFium takes it apart itself
        (_pdf("ABC", A="س", B="\ufef9", C="ا"), "الإس"),  # the same, into a letter with its hamza
        (_pdf("ABC", A="الله", B=" ", C="بسم"), "بسم الله"),
        (_pdf("AB", A="م", B="لَ"), "لَم"),
        # Letters that are a ligature of Unicode in either order: the map has them, or the ligature's character.
        (_pdf("ABC", A="د", B="م", C="مح"), "محمد"),
        (_pdf("ABC", A="د", B="م", C="\ufc46"), "محمد"),
        (_pdf("AB", A="م", B="ال"), "الم"),
        (_pdf("AB", A="ם", B="של"), "שלם"),
        (_pdf("xABy", x="fi", A="م", B="لا", y="ffl"), "fiلامffl"),
        (_pdf("xay", x="fi", a="a", y="ffl"), "fiaffl"),
    ],
)
def test_letters_of_a_glyph_stay_in_order(data: bytes, text: str) -> None:
    assert read(data).text.strip() == text


def test_more_pages_than_the_page_tree_counts() -> None:
    objects = (page(CONTENT), stream(b"BT /F 9 Tf 9 9 Td (one) Tj ET"), HELVETICA)
    tree, none = b"<</Type/Pages/Kids[3 0 R 6 0 R]/Count %d>>", b"<</Type/Pages/Kids[]/Count 0>>"
    for count, last, wrong in ((1, objects[0], True), (2, objects[0], False), (3, objects[0], False), (1, none, False)):
        found = read(pdf(CATALOGUE % b"", tree % count, *objects, last))
        assert (found.error is not None and "page tree" in found.error.detail) is wrong


def test_what_is_outside_of_the_document() -> None:
    """An earlier document in the file, text before and after it: children, and an exception; line ends and zeros are nothing."""
    one, two = _pdf("a", a="alphaword"), _pdf("a", a="betaword")
    for calm in (one, one + b"\r\n\r\n", one + bytes(99)):
        assert unpack(b"x.pdf", calm).out.exceptions == []
    for data, name in (
        (one + two, "earlier document in the file"),
        (one + b"trailingword in clear after the end\n", "bytes after the end"),
        (b"X-Header: prefixword\r\n\r\n" + one, "bytes before the beginning"),
    ):
        found = unpack(b"x.pdf", data)
        assert ("x.pdf", name) in found.by_path
        assert found.codes("x.pdf") == ["corrupt"]


NAME = b"/FileAttachment"
DEFLATED = b"<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>"


def object_stream(objects: bytes, dictionary: bytes = DEFLATED, eol: bytes = b"\r\n") -> bytes:
    """An object stream."""
    packed = zlib.compress(objects) if b"/Filter" in dictionary else objects
    return b"7 0 obj\n" + dictionary % len(packed) + b"stream" + eol + packed + b"\nendstream\nendobj\n"


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "filtered", [b"/Filter/FlateDecode", b"/Filter /FlateDecode", b"/Filter [ /FlateDecode ]", b""]
)
def test_finds_what_is_packed(eol: bytes, filtered: bytes) -> None:
    dictionary = b"<</Type /ObjStm" + filtered + b"/Length %d>>"
    other, wanted = (object_stream(b"<</Subtype" + name + b">>", dictionary, eol) for name in (b"/Text", NAME))
    assert not may_mention(b"%PDF-1.7\n" + 3 * other, NAME)
    assert may_mention(b"%PDF-1.7\n" + other + wanted, NAME)


@pytest.mark.parametrize(
    "unknown",
    [
        object_stream(b"x", b"<</Type/ObjStm/Filter/FlateDecode/DecodeParms<</Predictor 12>>/Length %d>>"),
        object_stream(b"x", b"<</Type/ObjStm/Filter[/ASCIIHexDecode/FlateDecode]/Length %d>>"),
        object_stream(b"x", b"<</Type/ObjStm/Filter/LZWDecode/Length %d>>"),
        object_stream(b"x", b"<</Type/ObjStm/#46ilter/FlateDecode/Length %d>>"),
        object_stream(b"<</Subtype/File#41ttachment>>"),
        object_stream(b"cut short" * 100)[:-40],
        object_stream(b"damaged" * 100).replace(b"x\x9c", b"x\x9c\xff", 1),
        b"7 0 obj <</Type/ObjStm/Length 5>>",
    ],
    ids=["predictor", "two filters", "another filter", "escaped key", "escaped name", "cut", "damaged", "no stream"],
)
def test_is_not_sure_of_what_it_cannot_read(unknown: bytes) -> None:
    assert may_mention(b"%PDF-1.7\n" + object_stream(b"x") + unknown, NAME)


def test_bombs_are_not_inflated() -> None:
    """Streams that are very large together count as not known."""
    assert may_mention(4 * object_stream(bytes(10_000_000)), NAME)


def annotated(subtype: bytes) -> bytes:
    """A PDF 1.5 whose annotation, with a file, is in an object stream."""
    packed = [
        b"<</Type/Annot/Subtype" + subtype + b"/Rect[0 0 9 9]/FS 6 0 R>>",
        b"<</Type/Filespec/F(note.txt)/EF<</F 4 0 R>>>>",
    ]
    head = b"5 0 6 %d " % (len(packed[0]) + 1)
    objects = zlib.compress(head + b" ".join(packed))
    plain = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Annots[5 0 R]>>",
        b"<</Type/EmbeddedFile/Length 5>>stream\nbytes\nendstream",
        b"<</Type/ObjStm/N 2/First %d/Filter/FlateDecode/Length %d>>stream\n%b\nendstream"
        % (len(head), len(objects), objects),
    ]
    out, places = b"%PDF-1.5\n", dict[int, int]()
    for number, body in zip((1, 2, 3, 4, 7), plain, strict=True):
        places[number] = len(out)
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    places[8] = len(out)
    table = struct.pack(">BHB", 0, 0, 255)
    for number in range(1, 9):
        packed_in = number in (5, 6)
        table += struct.pack(">BHB", 1 + packed_in, 7 if packed_in else places[number], number - 5 if packed_in else 0)
    out += b"8 0 obj\n<</Type/XRef/Size 9/W[1 2 1]/Root 1 0 R/Length %d>>stream\n%b\nendstream\nendobj\n" % (
        len(table),
        table,
    )
    return out + b"startxref\n%d\n%%%%EOF\n" % places[8]


def test_files_attached_to_a_page() -> None:
    found = children(annotated(NAME))
    assert [(child.name, child.data) for child in found] == [(b"note.txt", b"bytes")]


def test_an_annotation_of_another_kind_attaches_nothing() -> None:
    with pytest.raises(DocumentError, match="1 embedded file") as raised:
        children(annotated(b"/Text"))
    assert raised.value.missing == 1


HELLO = b"BT /F 12 Tf 9 9 Td (Hello evidence) Tj ET"


def test_a_text_is_kept_for_what_is_wanted_and_near() -> None:
    """Of 200 elements in one another each would keep all the text below it."""
    deep = b"<title>" * 200 + b"<b>x</b>" * 1_000 + b"</title>" * 200
    assert xmp.properties(deep, ("author",)) == []
    reported = xmp.properties(deep, ("title",))
    assert [name for name, _ in reported] == ["title"] * 8
    assert [len(pieces) for _, pieces in reported] == [1_000] * 8


def test_values_of_a_property() -> None:
    packet = (
        b"<r a:title='one' xmlns:a='b'><a:title>two<!-- no --> three<i>four</i></a:title><author>five</author>six</r>"
    )
    assert xmp.properties(packet, ("title", "author")) == [
        ("title", ["one"]),
        ("title", ["two", " three", "four"]),
        ("author", ["five"]),
    ]


def test_only_the_documents_packet_is_unpacked() -> None:
    packets = [stream(zlib.compress(b" " * (1 << 20)), b"/Type/Metadata/Subtype/XML/Filter/FlateDecode")] * 60
    data = showing(HELLO, *packets)
    tracemalloc.start()
    try:
        assert pdf_metadata.described(data) == {}
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_metadata_that_cannot_be_read_costs_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: bytes) -> dict[str, str]:
        raise MemoryError

    monkeypatch.setattr(pdf_metadata, "described", fail)
    found = read(showing(HELLO))
    assert found.text.strip() == "Hello evidence"
    assert (found.error and found.error.code) is ExceptionCode.MEMORY

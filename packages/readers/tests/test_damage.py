"""Handlers under mutation: whatever the bytes, only DocumentError comes out, in time and in bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from email.message import EmailMessage
from functools import cache, partial

import py7zr
import pytest
from effort import takes_at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from reportlab.pdfgen import canvas

from core.records import Limits
from readers.base import Handler, MemorySource
from readers.documents.pdf import handler as pdf
from readers.documents.rtf import handler as rtf
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.images import handler as image
from readers.mail import mhtml
from readers.mail.contacts import handler as contacts
from readers.office.odf import handler as odf
from readers.office.ooxml import handler as ooxml
from readers.registry import handler_for
from readers.tables import csv
from readers.text import plain as text
from readers.text.html import handler as html
from traces.blocks import zstd

LIMITS = Limits(expansion_floor=1_000_000, parse_bytes=2_000_000)
OWN = (
    *("message/rfc822", "application/mbox", "application/zip", "application/x-tar", "application/gzip"),
    *("application/x-bzip2", "application/x-xz", "application/zstd", "application/x-7z-compressed"),
)


def message(files: int = 2) -> bytes:
    out = EmailMessage()
    out["From"], out["Subject"] = "Jürgen <a@example.org>", "Größe " * 20
    out["Date"], out["Message-ID"] = "Tue, 02 Jan 2024 10:00:00 +0200", "<one@example.org>"
    out.set_content("Text with ünïcode\n" * 3)
    out.add_alternative("<p>HTML</p>", subtype="html")
    for i in range(files):
        out.add_attachment(bytes(range(200)) * 2, maintype="application", subtype="x", filename=f"näme {i}.bin")
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("x")
    out.add_attachment(inner)
    return out.as_bytes()


def sevenz() -> bytes:
    """Two folders, with a plain header."""
    out = io.BytesIO()
    for filters in ([{"id": py7zr.FILTER_LZMA2, "preset": 0}], [{"id": py7zr.FILTER_COPY}]):
        mode = "a" if out.tell() else "w"
        with py7zr.SevenZipFile(out, mode, filters=filters) as archive:
            archive.set_encoded_header_mode(False)
            for name in ("a", "b"):
                archive.writef(io.BytesIO(name.encode() * 400), mode + name)
    return out.getvalue()


def samples() -> dict[str, bytes]:
    mbox = b"".join(b"From a@b Mon Jan  1 00:00:00 2024\n" + message(1) + b"\n" for _ in range(3))
    tar, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.txt", "ü" * 120, "b"):
            info = tarfile.TarInfo(name)
            info.size = 700
            archive.addfile(info, io.BytesIO(bytes(700)))
    with zipfile.ZipFile(zipped, "w") as file:
        for i, method in enumerate((0, 8, 12, 14)):
            file.writestr(f"member{i}", b"some data " * 30, compress_type=method)
    return {
        "message/rfc822": message(),
        "application/mbox": mbox,
        "application/zip": zipped.getvalue(),
        "application/x-tar": tar.getvalue()[:6144],
        "application/gzip": gzip.compress(tar.getvalue()) + gzip.compress(b"more"),
        "application/x-bzip2": bz2.compress(tar.getvalue(), 1) + bz2.compress(b"more"),
        "application/x-xz": lzma.compress(tar.getvalue(), preset=0),
        "application/zstd": zstd.compress(tar.getvalue()) + zstd.compress(b"more"),
        "application/x-7z-compressed": sevenz(),
    }


SAMPLES = samples()
SECONDS = 3.0  # of processor time, for files of a few KB


def mutate(random_: random.Random, data: bytes) -> bytes:
    """A few flips, a cut, a splice from elsewhere, or all of them."""
    out = bytearray(data)
    for _ in range(random_.choice((0, 1, 1, 3, 20))):
        at = random_.randrange(len(out))
        out[at] = random_.choice((0, 0xFF, 0x7F, out[at] ^ 1 << random_.randrange(8), random_.randrange(256)))
    if random_.random() < 0.3:
        del out[random_.randrange(len(out)) :]
    if random_.random() < 0.3:
        other = random_.choice(list(SAMPLES.values()))
        start = random_.randrange(len(other))
        at = random_.randrange(len(out) + 1)
        out[at:at] = other[start : start + random_.randrange(400)]
    if random_.random() < 0.2 and out:
        start = random_.randrange(len(out))
        del out[start : start + random_.randrange(1, 64)]
    return bytes(out)


def exercise(handler: Handler, source: MemorySource) -> int:
    """Everything the pipeline asks of a handler; how many bytes came out."""
    total = lines = 0
    handler.announced(source)
    parts = handler.parts(source, 1000)
    for part in [None, *parts[:5]]:
        try:
            for child in handler.children(source, LIMITS, part):
                assert (child.data is None) != (child.stream is None)
                assert isinstance(child.name, bytes)
                total += len(child.data or b"")
                while child.stream is not None and (piece := child.stream.read(1 << 16)):
                    total += len(piece)
        except DocumentError as error:
            lines = max(lines, error.detail.count("\n"))
    try:
        text = handler.text(source, LIMITS)
        str(text.metadata).encode()
    except DocumentError:
        pass
    handler.message_hashes(source, LIMITS)
    assert lines == 0, "a detail must be one line"
    return total


def _bounded(handler: Handler, source: MemorySource) -> None:
    assert exercise(handler, source) < 40_000_000
    identify(source)


@pytest.mark.parametrize("media_type", OWN)
def test_mutated_samples_raise_document_errors_only(media_type: str) -> None:
    """A hundred damaged files of each kind, of which `make test-mutants` reads thousands: nothing unforeseen, no hang."""
    random_ = random.Random(media_type)
    handler = handler_for(media_type)
    for _ in range(100):
        source = MemorySource(b"damaged", mutate(random_, SAMPLES[media_type]))
        takes_at_most(SECONDS, partial(_bounded, handler, source))


@pytest.mark.parametrize("media_type", OWN)
@pytest.mark.parametrize("other", OWN)
def test_each_handler_survives_the_other_formats(media_type: str, other: str) -> None:
    exercise(handler_for(media_type), MemorySource(b"wrong", SAMPLES[other]))


@pytest.mark.parametrize("media_type", OWN)
def test_every_cut_of_a_sample(media_type: str) -> None:
    data = SAMPLES[media_type]
    for cut in range(0, len(data), max(1, len(data) // 150)):
        exercise(handler_for(media_type), MemorySource(b"cut", data[:cut]))


LIMITS_MUTATIONS = Limits(parse_bytes=2_000_000, text_characters=1_000_000)
SECONDS_MUTATIONS = 5.0  # for files of a few KB; undamaged ones take milliseconds
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _zip(**parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def _docx() -> bytes:
    body = "".join(f"<w:p><w:r><w:t>paragraph {i}</w:t></w:r></w:p>" for i in range(30))
    return _zip(
        **{"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>", "word/media/a": "x" * 99}
    )


def _xlsx() -> bytes:
    rows = "".join(f'<row><c t="s"><v>{i}</v></c><c s="1"><v>{i}.5</v></c></row>' for i in range(30))
    strings = "".join(f"<si><t>string {i}</t></si>" for i in range(30))
    styles = (
        '<s><numFmts><numFmt numFmtId="170" formatCode="yyyy"/></numFmts><cellXfs><xf numFmtId="170"/></cellXfs></s>'
    )
    return _zip(
        **{
            "xl/workbook.xml": '<workbook><sheets><sheet name="S"/></sheets></workbook>',
            "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
            "xl/sharedStrings.xml": f"<sst>{strings}</sst>",
            "xl/styles.xml": styles,
        }
    )


def _pdf() -> bytes:
    out = io.BytesIO()
    paper = canvas.Canvas(out)
    for page in range(3):
        paper.drawString(72, 700, f"page {page}")
        paper.showPage()
    paper.save()
    return out.getvalue()


RTF = (
    rb"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 A;}{\f1\fcharset128 B;}}{\info{\title T}{\creatim\yr2020}}"
    rb"\f1\'93\'fa{\*\shppict{\pict\pngblip 8950}}\u8364?{\object{\*\objdata 0105000002000000080000005061636b61676500"
    rb"000000000000000010000000020061000000030000000000010000ff}{\result x}}\par text}"
)
MHTML = (
    b"From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=B\r\n\r\n--B\r\n"
    b"Content-Type: text/html\r\n\r\n<p>text</p>\r\n--B\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n"
    b"Content-Location: http://a/b.png\r\n\r\nAAEC\r\n--B--\r\n"
)


def _odt() -> bytes:
    names = 'xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:b="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    rows = "".join(
        f"<b:table-row><b:table-cell><t:p>{i}<t:s t:c='3'/>x</t:p></b:table-cell></b:table-row>" for i in range(20)
    )
    return _zip(**{"content.xml": f"<d {names}><b:table b:name='n'>{rows}</b:table></d>", "Pictures/a.png": "x" * 99})


def _image(form: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (33, 22), "red").save(out, form)
    return out.getvalue()


@cache
def samples_of_mutations() -> dict[str, tuple[Handler, bytes]]:
    """An undamaged sample of each format with its handler."""
    office, xml = ooxml.HANDLERS[0], text.HANDLERS[1]
    page = b"<!doctype html><meta charset=utf-8><title>t</title><table><tr><td>a</table><script>x</script><p>b" * 5
    out: dict[str, tuple[Handler, bytes]] = {
        "docx": (office, _docx()),
        "xlsx": (office, _xlsx()),
        "pdf": (pdf.HANDLERS[0], _pdf()),
        "html": (html.HANDLERS[0], page),
        "text": (text.HANDLERS[0], "Größe und Länge, ein Text.\n".encode() * 20),
        "xml": (xml, b"<?xml version='1.0'?><a b='c'>text<d>more &amp; more</d></a>"),
        "csv": (csv.HANDLERS[0], b'a,b,"c d"\n1,2,"three\nlines"\n' * 10),
    }
    out["rtf"] = (rtf.HANDLERS[0], RTF)
    out["odt"] = (odf.HANDLERS[0], _odt())
    out["vcard"] = (
        contacts.HANDLERS[0],
        b"BEGIN:VCARD\r\nFN:Ann\r\n Lee\r\nPHOTO;ENCODING=b:AAEC\r\nEND:VCARD\r\n" * 5,
    )
    out["calendar"] = (contacts.HANDLERS[1], b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:a\nATTENDEE;CN=x:mailto:b\n" * 5)
    out["mhtml"] = (mhtml.HANDLERS[0], MHTML)
    for form in ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP"):
        out[form] = (image.HANDLERS[0], _image(form))
    return out


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with a few flips, cuts, and pieces moved, doubled or replaced."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(out) - 1)))
        kind = draw(st.sampled_from(["flip", "cut", "drop", "double", "junk"]))
        length = draw(st.integers(1, 64))
        if kind == "flip" and out:
            out[at] ^= draw(st.integers(1, 255))
        elif kind == "cut":
            del out[at:]
        elif kind == "drop":
            del out[at : at + length]
        elif kind == "double":
            out[at:at] = out[at : at + length]
        else:
            out[at : at + length] = draw(st.binary(min_size=1, max_size=16))
    return bytes(out)


def _says_why(error: DocumentError) -> None:
    assert error.detail


def exercise_of_mutations(handler: Handler, data: bytes) -> None:
    """Everything the pipeline asks of a handler; what comes out can be stored."""
    source = MemorySource(b"sample", data)
    try:
        out = handler.text(source, LIMITS_MUTATIONS)
        out.text.encode("utf-8")
        assert len(out.text) <= LIMITS_MUTATIONS.text_characters
        assert "\0" not in repr(sorted(out.metadata.items()))
        repr(out.metadata).encode("utf-8")
    except DocumentError as error:
        _says_why(error)
    try:
        for child in handler.children(source, LIMITS_MUTATIONS):
            if child.stream is not None:
                child.stream.read()
    except DocumentError as error:
        _says_why(error)


@pytest.mark.parametrize("name", sorted(samples_of_mutations()))
def test_damaged_bytes_give_document_errors_only(name: str) -> None:
    """No damage makes a handler raise anything but DocumentError, or take long."""
    handler, sample = samples_of_mutations()[name]

    @given(damaged(sample))
    @settings(suppress_health_check=list(HealthCheck))
    def check(data: bytes) -> None:
        takes_at_most(SECONDS_MUTATIONS, lambda: exercise_of_mutations(handler, data))

    check()


@pytest.mark.parametrize("name", sorted(samples_of_mutations()))
def test_every_truncation(name: str) -> None:
    """A sample cut after any byte (a spread of 150 of them) is read or refused with a code."""
    handler, sample = samples_of_mutations()[name]
    for length in range(0, len(sample), max(1, len(sample) // 150)):
        exercise_of_mutations(handler, sample[:length])

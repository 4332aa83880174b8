"""readers.documents.pdf.packed: names in object streams, without PDFium; files attached to places on pages."""

from __future__ import annotations

import struct
import zlib

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.documents.pdf.handler import PdfHandler
from readers.documents.pdf.packed import may_mention
from readers.errors import DocumentError

NAME = b"/FileAttachment"
DEFLATED = b"<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>"


def stream(objects: bytes, dictionary: bytes = DEFLATED, eol: bytes = b"\r\n") -> bytes:
    """An object stream."""
    packed = zlib.compress(objects) if b"/Filter" in dictionary else objects
    return b"7 0 obj\n" + dictionary % len(packed) + b"stream" + eol + packed + b"\nendstream\nendobj\n"


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    "filtered", [b"/Filter/FlateDecode", b"/Filter /FlateDecode", b"/Filter [ /FlateDecode ]", b""]
)
def test_finds_what_is_packed(eol: bytes, filtered: bytes) -> None:
    dictionary = b"<</Type /ObjStm" + filtered + b"/Length %d>>"
    other, wanted = (stream(b"<</Subtype" + name + b">>", dictionary, eol) for name in (b"/Text", NAME))
    assert not may_mention(b"%PDF-1.7\n" + 3 * other, NAME)
    assert may_mention(b"%PDF-1.7\n" + other + wanted, NAME)


@pytest.mark.parametrize(
    "unknown",
    [
        stream(b"x", b"<</Type/ObjStm/Filter/FlateDecode/DecodeParms<</Predictor 12>>/Length %d>>"),
        stream(b"x", b"<</Type/ObjStm/Filter[/ASCIIHexDecode/FlateDecode]/Length %d>>"),
        stream(b"x", b"<</Type/ObjStm/Filter/LZWDecode/Length %d>>"),
        stream(b"x", b"<</Type/ObjStm/#46ilter/FlateDecode/Length %d>>"),
        stream(b"<</Subtype/File#41ttachment>>"),
        stream(b"cut short" * 100)[:-40],
        stream(b"damaged" * 100).replace(b"x\x9c", b"x\x9c\xff", 1),
        b"7 0 obj <</Type/ObjStm/Length 5>>",
    ],
    ids=["predictor", "two filters", "another filter", "escaped key", "escaped name", "cut", "damaged", "no stream"],
)
def test_is_not_sure_of_what_it_cannot_read(unknown: bytes) -> None:
    assert may_mention(b"%PDF-1.7\n" + stream(b"x") + unknown, NAME)


def test_bombs_are_not_inflated() -> None:
    """Streams that are very large together count as not known."""
    assert may_mention(4 * stream(bytes(10_000_000)), NAME)


def annotated(subtype: bytes) -> bytes:
    """A PDF 1.5 whose annotation, with a file, lies in an object stream."""
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
    found = list(PdfHandler().children(MemorySource(b"x.pdf", annotated(NAME)), Limits()))
    assert [(child.name, child.data) for child in found] == [(b"note.txt", b"bytes")]


def test_an_annotation_of_another_kind_attaches_nothing() -> None:
    with pytest.raises(DocumentError, match="1 embedded file") as raised:
        list(PdfHandler().children(MemorySource(b"x.pdf", annotated(b"/Text")), Limits()))
    assert raised.value.missing == 1

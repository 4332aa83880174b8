"""readers.documents.pdf.metadata, readers.xmp: packets that are made to cost much."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest

from core.records import Limits
from readers import xmp
from readers.base import MemorySource
from readers.documents.pdf import metadata as pdf_metadata
from readers.documents.pdf.handler import PdfHandler
from readers.errors import ExceptionCode


def pdf(packets: list[bytes]) -> bytes:
    """A page that says something, and packets none of which the catalogue names."""
    drawn = b"BT /F 12 Tf 9 9 Td (Hello evidence) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>\nstream\n%b\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for packed in map(zlib.compress, packets):
        head = b"<</Type/Metadata/Subtype/XML/Filter/FlateDecode/Length %d>>" % len(packed)
        objects.append(b"%b\nstream\n%b\nendstream" % (head, packed))
    out, places = b"%PDF-1.7\n", []
    for number, data in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, data)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    tail = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + tail


def test_a_text_is_kept_for_what_is_wanted_and_near() -> None:
    """Of 200 elements in one another each would keep all the text below it."""
    deep = b"<title>" * 200 + b"<b>x</b>" * 1_000 + b"</title>" * 200
    assert xmp.properties(deep, ("author",)) == []
    told = xmp.properties(deep, ("title",))
    assert [name for name, _ in told] == ["title"] * 8
    assert [len(pieces) for _, pieces in told] == [1_000] * 8


def test_what_is_said_of_a_property() -> None:
    packet = (
        b"<r a:title='one' xmlns:a='b'><a:title>two<!-- no --> three<i>four</i></a:title><author>five</author>six</r>"
    )
    assert xmp.properties(packet, ("title", "author")) == [
        ("title", ["one"]),
        ("title", ["two", " three", "four"]),
        ("author", ["five"]),
    ]


def test_only_the_documents_packet_is_unpacked() -> None:
    data = pdf([b" " * (1 << 20)] * 60)
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
    found = PdfHandler().text(MemorySource(b"a.pdf", pdf([])), Limits())
    assert found.text.strip() == "Hello evidence"
    assert found.error is not None
    assert found.error.code is ExceptionCode.MEMORY

"""Properties that people and programs add to a document's own: alike in Office's older and newer documents and in OpenDocument."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.keys import misfits
from readers.office.custom import noted
from readers.office.odf.handler import OdfHandler
from readers.office.ole.compound import CompoundFile
from readers.office.ole.property_set import added, metadata
from readers.office.ooxml.handler import OoxmlHandler

MATTER = ["ClientMatter: Oberschwaben Takeover", "Pages: 7"]
USER_DEFINED = bytes.fromhex("05d5cdd59c2e1b10939708002b2cf9ae")


def archive(**parts: str) -> MemorySource:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return MemorySource(b"x", out.getvalue())


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


def section(page: int, names: bytes, *values: bytes) -> bytes:
    """A section whose dictionary is its first value; then its code page, then values from number 2."""
    numbered = [(0, names), (1, struct.pack("<II", 2, page)), *enumerate(values, 2)]
    at, places, data = 8 + 8 * len(numbered), b"", b""
    for number, raw in numbered:
        places += struct.pack("<II", number, at + len(data))
        data += raw + bytes(-len(raw) % 4)
    return struct.pack("<II", at + len(data), len(numbered)) + places + data


def stream(page: int, wide: bool) -> bytes:
    """A stream of two sections, the second with names."""
    names = struct.pack("<I", 3)
    for number, name in ((2, "ClientMatter"), (3, "Pages"), (9, "Gone")):
        raw = (name + "\0").encode("utf-16-le" if wide else "cp1251")
        names += struct.pack("<II", number, len(name) + 1) + raw + (bytes(-len(raw) % 4) if wide else b"")
    matter = "Oberschwaben Takeover\0".encode("utf-16-le" if wide else "cp1251")
    values = struct.pack("<II", 30, len(matter)) + matter, struct.pack("<II", 3, 7)
    first, second = section(1252, b"\0\0\0\0"), section(page, names, *values)
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
    second = section(1252, names, struct.pack("<II", 11, 0xFFFF), struct.pack("<Id", 5, 1.5))
    head = struct.pack("<HHI16sI", 0xFFFE, 0, 0, bytes(16), 2) + bytes(20) + USER_DEFINED
    assert list(added(head + struct.pack("<I", 68) + second)) == [("a", "true"), ("b", "1.5")]


def test_there_are_not_too_many() -> None:
    assert len(noted((str(n), "x") for n in range(5_000))["custom_properties"]) == 1_000  # type: ignore[arg-type]

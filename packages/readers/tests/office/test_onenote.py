"""readers.office.onenote: text, properties and embedded files of sections, damaged and hostile ones too.

Beside these, sections of OneNote 2013, 2016 and 365 from Apache Tika's test suite were read by hand (decision 0031)."""

import contextlib
import random
import struct

import pytest
from one_file import ASCII, TEXT, TITLE, packaged, section
from unpacking import unpack

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.onenote import OneNoteHandler

ONENOTE = OneNoteHandler()


def utf16(text: str) -> bytes:
    return text.encode("utf-16-le")


def text_of(data: bytes) -> str:
    return ONENOTE.text(MemorySource(b"x.one", data), Limits()).text


def test_text_and_title() -> None:
    link = '\ufddfHYPERLINK "https://example.org/"our site'
    data = section(
        (1, {TITLE: utf16("Minutes of Größe\0"), TEXT: utf16("first line")}),
        (2, {ASCII: "second l\xefne".encode("cp1252")}),
        (3, {TEXT: utf16(link)}),
    )
    assert identify(MemorySource(b"x", data)) == "application/onenote"
    found = ONENOTE.text(MemorySource(b"x.one", data), Limits())
    assert found.text == "first line\nsecond lïne\nhttps://example.org/ our site\n"
    assert found.metadata["title"] == "Minutes of Größe"


def test_the_last_version_of_an_object_counts() -> None:
    assert text_of(section((1, {TEXT: utf16("old")}), (2, {TEXT: utf16("b")}), (1, {TEXT: utf16("new")}))) == "new\nb\n"


def test_embedded_files_have_their_names() -> None:
    files = {"report.docx": b"PK and more", "größe.bin": random.Random(1).randbytes(9_000_000)}
    found = unpack(b"a.one", section((1, {TEXT: utf16("words")}), files=files))
    assert {path[1]: found.store.kept[i.id] for path, i in found.by_path.items() if len(path) == 2} == files
    assert found.count("a.one") == (2, 2, 0, False)


def test_a_cut_embedded_file_keeps_what_is_there() -> None:
    data = bytearray(section((1, {TEXT: utf16("words")}), files={"a.bin": b"some bytes"}))
    at = data.find(bytes.fromhex("e716e3bd65261145a4c48d4d0b7a9eac"))
    data[at + 16 : at + 24] = struct.pack("<Q", 1 << 60)
    found = unpack(b"a.one", bytes(data))
    assert found.codes("a.one", "a.bin") == ["truncated"]
    assert found.store.kept[found.by_path["a.one", "a.bin"].id].startswith(b"some bytes")


def test_a_packaging_that_is_not_known_is_reported() -> None:
    """`unsupported`, not empty."""
    data = bytearray(section((1, {TEXT: utf16("words")})))
    data[48:64] = bytes(16)
    with pytest.raises(DocumentError, match=r"^unsupported:"):
        text_of(bytes(data))


def test_a_list_that_refers_to_itself_ends() -> None:
    data = bytearray(section((1, {TEXT: utf16("words")})))
    start = struct.unpack_from("<Q", data, 172)[0]
    data[-20:-8] = struct.pack("<QL", start, len(data) - start)
    assert text_of(bytes(data)) == "words\n"


def test_objects_that_overlap_are_no_bomb() -> None:
    many = section(*((1, {TEXT: utf16("x" * 40_000)}) for _ in range(3)), *((n % 200, {}) for n in range(2000)))
    data = bytearray(many)
    head = struct.pack("<L", 0x0A4 | 22 << 10 | 1 << 23 | 1 << 27 | 1 << 31)
    place = struct.pack("<LL", 1024, 80_000)
    at = 0
    while (at := data.find(head, at)) >= 0:
        data[at + 4 : at + 12] = place
        at += 12
    found = ONENOTE.text(MemorySource(b"x.one", bytes(data)), Limits())
    assert (found.error and found.error.code) is ExceptionCode.CORRUPT


def test_sections_as_servers_package_them() -> None:
    data = packaged(
        [(1, {TEXT: utf16("first"), TITLE: utf16("Title")}), (2, {ASCII: b"second"})],
        [(1, {TEXT: utf16("first")}), (1, {TEXT: utf16("changed")})],
        files={"größe.docx": b"PK and more"},
    )
    assert identify(MemorySource(b"x", data)) == "application/onenote"
    found = ONENOTE.text(MemorySource(b"x.one", data), Limits())
    assert found.text == "first\nsecond\nchanged\n"
    assert (found.metadata["title"], found.error) == ("Title", None)
    out = unpack(b"a.one", data)
    assert out.count("a.one") == (1, 1, 0, False)
    assert out.store.kept[out.by_path["a.one", "größe.docx"].id] == b"PK and more"


def test_a_package_that_is_cut_keeps_its_text() -> None:
    data = packaged([(1, {TEXT: utf16("first")}), (2, {TEXT: utf16("second")})], files={"a.bin": b"bytes"})
    cut = ONENOTE.text(MemorySource(b"x.one", data[:-4]), Limits())
    assert (cut.text, cut.error.code if cut.error else None) == ("first\nsecond\n", ExceptionCode.TRUNCATED)


@pytest.mark.parametrize("length", [20, 1023, 1100])
def test_cut_files_have_a_code(length: int) -> None:
    with pytest.raises(DocumentError):
        text_of(section((1, {TEXT: utf16("words")}))[:length])


def test_mutants_raise_document_errors_only() -> None:
    sample = section((1, {TITLE: utf16("t"), TEXT: utf16("words")}), (2, {ASCII: b"x"}), files={"a.bin": b"bytes"})
    rng = random.Random(4)
    for _ in range(300):
        data = bytearray(sample)
        for _ in range(rng.choice((1, 2, 6))):
            data[rng.randrange(172 if rng.random() < 0.2 else 1024, len(data))] = rng.choice(
                (0, 255, rng.randrange(256))
            )
        unpack(b"a.one", bytes(data))
        with contextlib.suppress(DocumentError):
            text_of(bytes(data))

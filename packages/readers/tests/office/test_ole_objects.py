"""OLE packages wherever they lie, properties of compound files, and files of all these kinds when damaged."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import zipfile
from pathlib import Path

import pytest
from old_office import END, begin, biff, packager, word, workbook

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.ole.compound import CompoundFile
from readers.office.ole.objects import packaged
from readers.office.ole.property_set import codec_of, metadata, properties
from readers.records import Kind, TextState
from readers.registry import handler_for

INGEST = Path(__file__).parents[4].parent / "shared/data/real-files/ingest-file"
real_files = pytest.mark.skipif(not INGEST.is_dir(), reason="the real files are not on this machine")


@pytest.mark.parametrize(
    ("stream", "name", "data"),
    [
        (packager(b"C:\\docs\\a b.txt", b"text"), b"a b.txt", b"text"),
        (packager(b"na\xefve.txt", b""), b"na\xefve.txt", b""),
        (packager(b"x.txt", b"text", wide="D:\\größe.txt"), "größe.txt".encode(), b"text"),
        (struct.pack("<I", 3) + b"BMP" + b"behind", b"", b"BMP"),
        (struct.pack("<I", 60) + b"\2\0no end of a name", b"", b"\2\0no end of a name"),
        (struct.pack("<I", 0), b"", b""),
    ],
)
def test_packages(stream: bytes, name: bytes, data: bytes) -> None:
    assert packaged(stream) == (name, data)


@pytest.mark.parametrize("stream", [b"", b"\1\0", packager(b"a", b"abc", size=0x7FFFFFFF)])
def test_packages_cut_short(stream: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        packaged(stream)
    assert caught.value.code is ExceptionCode.TRUNCATED


def ooxml(folder: str, objects: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(f"{folder}/document.xml", "<x/>")
        for name, data in objects.items():
            archive.writestr(f"{folder}/embeddings/{name}", data)
    return out.getvalue()


@pytest.mark.parametrize("folder", ["word", "xl", "ppt"])
def test_packages_in_office_open_xml(folder: str) -> None:
    """`oleObject1.bin` is the file packed in it; an object that is a document, or damaged, stays what it is."""
    package = write(Storage(streams={"\x01Ole10Native": packager(b"plan.pdf", b"%PDF")}))
    other = write(Storage(streams={"WordDocument": b"w" * 5_000}))
    cut = write(Storage(streams={"\x01Ole10Native": packager(b"cut.pdf", b"%PDF", size=99)}))
    whole = write(Storage(streams={"Package": b"PK\5\6" + bytes(18)}))
    objects = {"oleObject1.bin": package, "oleObject2.bin": other, "oleObject3.bin": cut, "oleObject4.bin": whole}
    source = MemorySource(b"x", ooxml(folder, objects | {"Sheet.xlsx": b"PK"}))
    found = list(handler_for(identify(source)).children(source, Limits()))
    assert [(c.name, c.ordinal, c.kind, c.data) for c in found] == [
        (b"plan.pdf", 0, Kind.EMBEDDED_OBJECT, b"%PDF"),
        (b"oleObject2.bin", 1, Kind.EMBEDDED_OBJECT, other),
        (b"oleObject3.bin", 2, Kind.EMBEDDED_OBJECT, cut),
        (b"oleObject4.bin", 3, Kind.EMBEDDED_OBJECT, b"PK\5\6" + bytes(18)),
        (b"Sheet.xlsx", 4, Kind.EMBEDDED_OBJECT, b"PK"),
    ]


def property_stream(*values: tuple[int, bytes], page: int = 1252) -> bytes:
    """A property set of raw values."""
    entries = [(1, struct.pack("<IHH", 2, page, 0)), *values]
    at, places, data = 8 + 8 * len(entries), b"", b""
    for number, raw in entries:
        places += struct.pack("<II", number, at + len(data))
        data += raw + bytes(-len(raw) % 4)
    head = struct.pack("<HHI16sI16sI", 0xFFFE, 0, 0, bytes(16), 1, bytes(16), 48)
    return head + struct.pack("<II", at + len(data), len(entries)) + places + data


def narrow(text: str, codec: str = "cp1252") -> bytes:
    raw = text.encode(codec) + b"\0"
    return struct.pack("<II", 30, len(raw)) + raw


def test_properties() -> None:
    """Strings in their code page, times as ISO 8601, numbers; a time of "never" and a value cut off are left out."""
    moment = struct.pack("<IQ", 64, 127_909_224_000_000_000)
    stream = property_stream(
        (2, narrow("Отчёт", "cp1251")),
        (4, struct.pack("<II", 31, 4) + "Änne".encode("utf-16-le")),
        (12, moment),
        (13, struct.pack("<IQ", 64, 0)),
        (14, struct.pack("<II", 3, 7)),
        (18, struct.pack("<I", 30)),
        page=1251,
    )
    found = metadata(CompoundFile(write(Storage(streams={"\x05SummaryInformation": stream}))))
    assert found == {"title": "Отчёт", "author": "Änne", "created": "2006-05-01T02:00:00Z", "page_count": 7}
    for cut in range(len(stream)):
        properties(stream[:cut])


def test_a_code_page_that_is_no_number() -> None:
    """A time where the code page should be: windows-1252."""
    found = properties(property_stream((1, struct.pack("<IQ", 64, 127_909_224_000_000_000)), (2, narrow("é"))))
    assert found == {2: "é"}


def test_code_pages() -> None:
    """Known ones by name, unknown ones as windows-1252."""
    assert [codec_of(page) for page in (1251, 1200, 65001, 10000, 10029, 0, 31_999)] == [
        "cp1251",
        "utf-16-le",
        "utf-8",
        "mac-roman",
        "mac-latin2",
        "cp1252",
        "cp1252",
    ]


@pytest.mark.parametrize(
    ("stream", "media_type"),
    [
        ("VisioDocument", "application/vnd.visio"),
        ("something", "application/x-ole-storage"),
    ],
)
def test_other_compound_files_have_metadata(stream: str, media_type: str) -> None:
    summary = property_stream((2, narrow("Floor plan")))
    source = MemorySource(b"x", write(Storage(streams={stream: b"x" * 99, "\x05SummaryInformation": summary})))
    assert identify(source) == media_type
    out = handler_for(media_type).text(source, Limits())
    assert (out.metadata, out.state, out.error) == ({"title": "Floor plan"}, TextState.UNSUPPORTED, None)


def test_a_loose_package() -> None:
    source = MemorySource(b"oleObject1.bin", write(Storage(streams={"\x01Ole10Native": packager(b"a.txt", b"hi")})))
    found = list(handler_for(identify(source)).children(source, Limits()))
    assert [(c.name, c.data) for c in found] == [(b"a.txt", b"hi")]
    assert handler_for(identify(source)).text(source, Limits()).state is TextState.EMPTY


@real_files
@pytest.mark.parametrize(
    ("name", "fragment", "pages"),
    [
        ("doc.doc", "This links to The Main Heading Bookmark", None),
        ("doc.doc", "This is the footer for our document", None),
        ("rom.xls", "Şcoala de Meserii 4 Bubueci", None),
        ("slides.ppt", "Now", 1),
    ],
)
def test_real_documents(name: str, fragment: str, pages: int | None) -> None:
    source = MemorySource(name.encode(), (INGEST / name).read_bytes())
    out = handler_for(identify(source)).text(source, Limits())
    assert fragment in out.text
    assert "HYPERLINK" not in out.text
    assert (out.pages, out.error) == (pages, None)
    assert out.metadata["author"]


@real_files
@pytest.mark.parametrize("name", ["password_protected.xls", "password_protected.xlsx"])
def test_real_passwords(name: str) -> None:
    source = MemorySource(name.encode(), (INGEST / name).read_bytes())
    with pytest.raises(DocumentError) as caught:
        handler_for(identify(source)).text(source, Limits())
    assert caught.value.code is ExceptionCode.ENCRYPTED
    assert list(handler_for(identify(source)).children(source, Limits())) == []


def samples() -> dict[str, bytes]:
    """A document of each kind, the real ones where they are."""
    package = Storage("ObjectPool", storages=[Storage("_1", streams={"\x01Ole10Native": packager(b"a", b"b" * 99)})])
    label = (0x204, struct.pack("<HHHHB", 0, 0, 0, 5, 0) + b"label")
    out = {
        "word": word(["one \x13 F \x14r\x15\r", "два\r"], counts=[8, 4], storages=[package]),
        "sheet": workbook(biff(begin(5), (0xFC, bytes(8) + b"\3\0\0abc"), END, begin(), label, END)),
    }
    if INGEST.is_dir():
        out |= {name: (INGEST / name).read_bytes() for name in ("doc.doc", "slides.ppt")}
    return out


@pytest.mark.parametrize("name", sorted(samples()))
def test_damaged_files_raise_document_errors_only(name: str) -> None:
    good, chance = samples()[name], random.Random(name)
    for _ in range(120):
        data = bytearray(good)
        for _ in range(chance.choice((1, 2, 6, 30))):
            at = chance.randrange(76, len(data))
            data[at : at + 1] = chance.choice((b"\0", b"\xff", b"\x13", bytes((chance.randrange(256),))))
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        source = MemorySource(b"damaged", bytes(data))
        for media_type in ("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"):
            handler = handler_for(media_type)
            size = sum(len(child.data or b"") for child in handler.children(source, Limits()))
            assert size <= 4 * len(good) + 1_000_000
            with contextlib.suppress(DocumentError):
                assert len(handler.text(source, Limits()).text) <= 4 * len(good) + 1_000_000

"""Macros: the source of each module is a child, in all documents of Office."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from office_xml import docx, para

from core.records import Limits
from readers import cfb
from readers.base import Child, MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.office import vba
from readers.office.doc.handler import DocHandler
from readers.office.ole.compound import CompoundFile
from readers.office.ooxml.handler import OoxmlHandler
from readers.office.xls.handler import XlsHandler

LIMITS = Limits()
# [MS-OVBA] 3.2.2
PACKED = bytes.fromhex(
    "012fb000236161616263646582660070616768696a013808616b6c00306d6e6f700671027004107273747576107778797a003c"
)
PLAIN = b"#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa"
HEAD = 'Attribute VB_Name = "{}"\r\nAttribute VB_Base = "0"\r\n'


def packed(data: bytes) -> bytes:
    """A compressed container without copies."""
    out = b"\1"
    for at in range(0, len(data), 3600):
        some = data[at : at + 3600]
        eights = b"".join(b"\0" + some[i : i + 8] for i in range(0, len(some), 8))
        out += struct.pack("<H", 0xB000 | len(eights) - 1) + eights
    return out


def record(kind: int, value: bytes) -> bytes:
    """An entry of the `dir` stream."""
    return struct.pack("<HI", kind, len(value)) + value


def project(modules: dict[str, str], page: int = 1251) -> cfb.Storage:
    """A storage VBA with these modules."""
    codec = f"cp{page}"
    listed = record(3, struct.pack("<H", page)) + struct.pack("<HIIH", 9, 4, 1, 2)
    streams = {}
    for number, (name, source) in enumerate(modules.items()):
        listed += record(0x19, name.encode(codec)) + record(0x1A, b"s%d" % number) + record(0x31, struct.pack("<I", 5))
        listed += record(0x21, b"") + record(0x2B, b"")
        streams[f"s{number}"] = b"pcode" + packed((HEAD.format(name) + source).encode(codec))
    return cfb.Storage("VBA", streams={**streams, "dir": packed(listed)})


MODULES = {"ThisDocument": "Option Explicit\r\n", "\u041c\u043e\u0434": "Sub \u0422\u0435\u0441\u0442()\r\nEnd Sub\r\n"}


def shown(children: list[Child]) -> list[tuple[bytes, int, str]]:
    """Names, ordinals and sources without their attributes."""
    return [(c.name, c.ordinal, (c.data or b"").decode().partition('"0"\n')[2]) for c in children]


EXPECTED = ("\u041c\u043e\u0434.bas".encode(), "Sub \u0422\u0435\u0441\u0442()\nEnd Sub\n")


@pytest.mark.parametrize(
    ("handler", "stream", "storage"),
    [(DocHandler(), "WordDocument", "Macros"), (XlsHandler(), "Workbook", "_VBA_PROJECT_CUR")],
)
def test_modules_of_older_documents(handler: DocHandler | XlsHandler, stream: str, storage: str) -> None:
    inner = cfb.Storage(storage, storages=[project(MODULES)])
    data = cfb.write(cfb.Storage(streams={stream: bytes(2000)}, storages=[inner]))
    assert shown(list(handler.children(MemorySource(b"x", data), LIMITS))) == [(EXPECTED[0], 0, EXPECTED[1])]


def test_modules_of_a_package() -> None:
    whole = cfb.write(cfb.Storage(storages=[project(MODULES)]))
    parts = {"word/media/image1.png": b"\x89PNG", "word/vbaProject.bin": whole, "word/media/image2.png": b"\x89PNG"}
    found = list(OoxmlHandler().children(MemorySource(b"x", docx(para("x"), **parts)), LIMITS))
    assert [(c.name, c.ordinal) for c in found] == [(b"image1.png", 0), (EXPECTED[0], 1), (b"image2.png", 2)]
    broken = docx(para("x"), **{"word/vbaProject.bin": b"no compound file"})
    (child,) = OoxmlHandler().children(MemorySource(b"x", broken), LIMITS)
    assert (child.name, child.data) == (b"vbaProject.bin", b"no compound file")
    assert (child.error and child.error.code) is ExceptionCode.CORRUPT


def test_a_list_of_modules_that_cannot_be_read_is_reported() -> None:
    storage = cfb.Storage("VBA", streams={"dir": b"\1\3\xb0\1\0\0"})
    compound = CompoundFile(cfb.write(cfb.Storage(storages=[storage])))
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        list(vba.children(compound, LIMITS))


def test_a_module_that_is_not_there_is_a_failed_child() -> None:
    storage = project({"a": "x = 1", "b": "y = 2"})
    del storage.streams["s0"]
    compound = CompoundFile(cfb.write(cfb.Storage(storages=[storage])))
    first, second = vba.children(compound, LIMITS)
    assert (first.emit, first.ordinal, second.emit, second.ordinal) == (False, 0, True, 1)


def test_compressed_source() -> None:
    """The example of the specification, and limits."""
    assert vba.decompressed(PACKED, 100) == PLAIN
    assert vba.decompressed(packed(bytes(10_000)), 20_000) == bytes(10_000)
    with pytest.raises(DocumentError, match=r"^too_large:"):
        vba.decompressed(PACKED, 10)


@given(st.binary(max_size=300))
def test_any_bytes_give_source_or_an_error(data: bytes) -> None:
    """Of the document's kind, and no more source than chunks can hold."""
    with suppress(DocumentError):
        assert len(vba.decompressed(b"\1" + data, 1 << 20)) <= 4096 * (len(data) // 3 + 1)

"""Archives in pieces: each piece says what it is, and nothing of it is taken for something else."""

from __future__ import annotations

import io
import random
import struct
import zipfile

import py7zr
import pytest
from unpacking import unpack

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.registry import handler_for

NOISE = random.Random(8).randbytes(60_000)


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", b"small")
        archive.writestr("b.bin", NOISE)
    return out.getvalue()


def sevenz() -> bytes:
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", filters=[{"id": py7zr.FILTER_COPY}]) as archive:
        archive.writef(io.BytesIO(NOISE), "b.bin")
    return out.getvalue()


def read(source: MemorySource) -> None:
    """Its text, then its children."""
    handler = handler_for(identify(source))
    handler.text(source, Limits())
    list(handler.children(source, Limits()))


@pytest.mark.parametrize(("name", "whole"), [("x.zip", zipped()), ("x.7z", sevenz())], ids=["zip", "7z"])
def test_pieces_as_7_zip_cuts_them(name: str, whole: bytes) -> None:
    pieces = [whole[:25_000], whole[25_000:50_000], whole[50_000:]]
    first = unpack(f"{name}.001".encode(), pieces[0])
    assert first.codes(f"{name}.001") == ["unsupported"]
    assert any("join the parts" in e.detail for e in first.out.exceptions)
    for number, piece in enumerate(pieces[1:], start=2):
        source = MemorySource(f"{name}.{number:03}".encode(), piece)
        with pytest.raises(DocumentError) as caught:
            read(source)
        assert caught.value.code is ExceptionCode.UNSUPPORTED
        assert "join the parts" in caught.value.detail


def test_the_pieces_of_a_spanned_zip() -> None:
    """`.z01` begins with a mark of its own, `.z02` anywhere; `.zip` is the last and has the directory of all."""
    whole = zipped()
    end = whole.rfind(b"PK\5\6")
    directory = whole[:end] + struct.pack("<4sHHHHLLH", b"PK\5\6", 2, 2, 2, 2, end - whole.rfind(b"PK\1\2"), 100, 0)
    last = directory[50_000:]
    for name, data in (("x.z01", b"PK\7\b" + whole[:20_000]), ("x.z02", whole[20_000:50_000]), ("x.zip", last)):
        source = MemorySource(name.encode(), data)
        with pytest.raises(DocumentError) as caught:
            read(source)
        assert caught.value.code is ExceptionCode.UNSUPPORTED
        assert "join the parts" in caught.value.detail


def test_the_name_alone_makes_no_part() -> None:
    assert identify(MemorySource(b"notes.zip.002", b"plain words, nothing else\n" * 9)) == "text/plain"
    assert identify(MemorySource(b"scan.z02", b"%PDF-1.7\n")) == "application/pdf"
    assert identify(MemorySource(b"noise.zip", NOISE)) == "application/octet-stream"

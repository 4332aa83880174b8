"""Publisher documents: the text of all frames, pictures, damage."""

import struct

import pytest
from old_office import lettered, record

from core.records import Limits
from readers.base import MemorySource, Text
from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for

ENTRY = struct.Struct("<H4s6x4sII")


def contents(*texts: str, cut: int = 0) -> bytes:
    """The stream of text: a directory of 512 bytes, then the pieces; the first entry is of another kind."""
    entries, pieces, at = [ENTRY.pack(24, b"FDPP", b"FDPP", 512, 0)], b"", 512
    for text in texts:
        entries.append(ENTRY.pack(24, b"TEXT", b"TEXT", at, 2 * len(text)))
        pieces += text.encode("utf-16-le")
        at += 2 * len(text)
    head = b"CHNKINK " + bytes(24) + b"".join(entries)
    return (head.ljust(512, b"\0") + pieces)[: at - cut]


def document(text: bytes, picture: bytes = b"", drawing: bytes = b"") -> MemorySource:
    """A compound file with these streams."""
    quill = Storage(name="Quill", storages=[Storage(name="QuillSub", streams={"CONTENTS": text})])
    escher = Storage(name="Escher", streams={"EscherStm": drawing, "EscherDelayStm": picture})
    return MemorySource(b"a.pub", write(Storage(storages=[quill, escher])))


def read(source: MemorySource, limits: Limits | None = None) -> Text:
    """By the type that the bytes are found to be."""
    return handler_for(identify(source)).text(source, limits or Limits())


def test_what_stands_in_all_frames() -> None:
    out = read(document(contents("A frame\rsecond line\x0bthird", "co\x1ftract \x01e\x1email\r")))
    assert (out.text, out.error) == ("A frame\nsecond line\nthird\nco\xadtract e-mail\n", None)


def test_pictures_are_children() -> None:
    """As those of other programs of Office."""
    source = document(contents("x"), record(0xF01E, bytes(17) + b"\x89PNG\r\n", 0x6E0))
    found = list(handler_for(identify(source)).children(source, Limits()))
    assert [(c.name, c.data) for c in found] == [(b"picture1.png", b"\x89PNG\r\n")]


def test_wordart_is_text() -> None:
    """It stands behind the frames; without frames that can be read there is more to it than what it says."""
    out = read(document(contents("frame\r"), drawing=lettered("GRAND OPENING") + lettered("Sale")))
    assert (out.text, out.error) == ("frame\n\nGRAND OPENING\nSale", None)
    alone = read(document(b"something else", drawing=lettered("Sale")))
    assert (alone.text, alone.error and alone.error.code) == ("Sale", ExceptionCode.UNSUPPORTED)


def test_damage() -> None:
    """What breaks off keeps its text and says so; what is laid out otherwise is not taken for empty."""
    cut = read(document(contents("all of it", cut=4)))
    assert (cut.text, cut.error and cut.error.code) == ("all of ", ExceptionCode.TRUNCATED)
    for other in (b"", b"CHNKINK " + bytes(9), b"something else" * 99):
        with pytest.raises(DocumentError, match=r"^unsupported:"):
            read(document(other))


def test_limit() -> None:
    out = read(document(contents("abcdef")), Limits(text_characters=3))
    assert (out.text, out.state) == ("abc", TextState.TRUNCATED_BY_LIMIT)

"""readers.documents.rtf.compressed: [MS-OXRTFCP]."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_gen.formats.outlook.mapi_mail import compress
from readers.documents.rtf.compressed import decompress
from readers.errors import DocumentError, ExceptionCode


@given(st.binary(max_size=300) | st.text("ab{}\\ ", max_size=9000).map(str.encode) | st.just(b"x" * 20_000))
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
def test_back_as_it_was(data: bytes) -> None:
    """What the generator's compressor, written from the same specification, makes."""
    assert decompress(compress(data), 1 << 20) == (data, None)


def test_the_examples_of_the_specification() -> None:
    """Section 4.1: a simple text, and one whose reference crosses the write position."""
    simple = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert decompress(simple, 1000).data == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    crossing = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")
    assert decompress(crossing, 1000).data == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"


def test_limits_and_damage() -> None:
    """Never more than the limit, whatever the header says; no other error than a document's."""
    data = compress(b"{\\rtf1 " + b"word " * 1000 + b"}")
    some = decompress(data, 100)
    assert (len(some.data), some.error and some.error.code) == (100, ExceptionCode.TOO_LARGE)
    assert decompress(struct.pack("<IIII", 0, 5, 0x414C454D, 0) + b"plain rest", 1000) == (b"plain", None)
    for at in range(len(data)):
        with contextlib.suppress(DocumentError):
            decompress(data[:at] + b"\xff" + data[at + 1 :], 100_000)
    for broken in (b"", data[:15], data[:8] + b"none" + data[12:]):
        with pytest.raises(DocumentError):
            decompress(broken, 100)


def test_what_is_cut_off_is_said() -> None:
    """Fewer bytes than the header counts; an end that the mark at it tells is none, whatever the header counts."""
    data = compress(b"{\\rtf1 " + b"word " * 1000 + b"}")
    for there in range(16, len(data) - 4):
        error = decompress(data[:there], 100_000).error
        assert error is not None
        assert error.code is ExceptionCode.TRUNCATED
    counted = data[:4] + struct.pack("<I", 6_000) + data[8:]
    assert decompress(counted, 100_000).error is None

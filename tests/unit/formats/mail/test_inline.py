"""formats.mail.inline: files inside the text of a message."""

from __future__ import annotations

import binascii

from hypothesis import given, settings
from hypothesis import strategies as st

from core.records import Limits
from formats.base import MemorySource
from formats.mail.eml import EmlHandler
from formats.mail.inline import UUENCODE, YENC, inline_files

HANDLER = EmlHandler()
HEAD = b"From: a@b.example\nSubject: x\n\n"


def uuencoded(data: bytes, name: bytes) -> bytes:
    lines = [binascii.b2a_uu(data[i : i + 45]) for i in range(0, len(data), 45)]
    return b"begin 644 " + name + b"\n" + b"".join(lines) + b"`\nend\n"


def yencoded(data: bytes, name: bytes) -> bytes:
    """Escapes are never torn apart by the end of a line."""
    out, line = [], b""
    for byte in data:
        c = byte + 42 & 0xFF
        line += bytes((61, c + 64 & 0xFF)) if c in (0, 10, 13, 61) else bytes((c,))
        if len(line) >= 128:
            out.append(line)
            line = b""
    body = b"".join((b"." + part if part.startswith(b".") else part) + b"\n" for part in [*out, line])
    return b"=ybegin line=128 size=%d name=%b\n%b=yend size=%d\n" % (len(data), name, body, len(data))


@given(st.binary(min_size=1, max_size=400), st.binary(min_size=1, max_size=400))
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
def test_files_come_out_and_leave_the_text(one: bytes, two: bytes) -> None:
    """Each file is a child with its name, in order; the words around them are the text."""
    body = b"before\n" + uuencoded(one, b"a b.gif") + b"between\n" + yencoded(two, b"c.bin") + b"after\n"
    source = MemorySource(b"m.eml", HEAD + body)
    found = list(HANDLER.children(source, Limits()))
    assert [(child.name, child.data) for child in found] == [(b"a b.gif", one), (b"c.bin", two)]
    assert HANDLER.text(source, Limits()).text.split() == ["before", "between", "after"]


def test_prose_is_no_file() -> None:
    """A line that begins so is not enough: it must look like uuencode, and end."""
    for body in (b"begin 644 times\nand then again\nend\n", b"begin the day\nend\n", uuencoded(b"x" * 90, b"a")[:-4]):
        assert inline_files(HEAD + body, 0, len(HEAD + body)) == []
        assert list(HANDLER.children(MemorySource(b"m", HEAD + body), Limits())) == []


def test_many_files_and_false_starts() -> None:
    """Every one is found once."""
    text = b"=ybegin nothing\n" + b"".join(uuencoded(b"%d" % n, b"f%d" % n) for n in range(50)) + yencoded(b"y", b"y")
    found = inline_files(text, 0, len(text))
    assert [file.name for file in found] == [b"f%d" % n for n in range(50)] + [b"y"]
    assert [file.encoding for file in found] == [UUENCODE] * 50 + [YENC]

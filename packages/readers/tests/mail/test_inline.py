"""readers.mail.inline: files inside the text of a message."""

import base64
import binascii
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail.encoded import EncodedHandler
from readers.mail.inline import UUENCODE, YENC, inline_files

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
def test_files_come_out_and_leave_the_text(one: bytes, two: bytes) -> None:
    body = b"before\n" + uuencoded(one, b"a b.gif") + b"between\n" + yencoded(two, b"c.bin") + b"after\n"
    source = MemorySource(b"m.eml", HEAD + body)
    found = list(HANDLER.children(source, Limits()))
    assert [(child.name, child.data) for child in found] == [(b"a b.gif", one), (b"c.bin", two)]
    assert HANDLER.text(source, Limits()).text.split() == ["before", "between", "after"]


def test_prose_is_no_file() -> None:
    """A line that begins so is not enough: what follows must look like uuencode."""
    for body in (b"begin 644 times\nand then again\nend\n", b"begin the day\nend\n", b"begin 644 TIMES\nOR MORE\n"):
        assert inline_files(HEAD + body, 0, len(HEAD + body)) == []
        assert list(HANDLER.children(MemorySource(b"m", HEAD + body), Limits())) == []


def test_many_files_and_false_starts() -> None:
    text = b"=ybegin nothing\n" + b"".join(uuencoded(b"%d" % n, b"f%d" % n) for n in range(50)) + yencoded(b"y", b"y")
    found = inline_files(text, 0, len(text))
    assert [file.name for file in found] == [b"f%d" % n for n in range(50)] + [b"y"]
    assert [file.encoding for file in found] == [UUENCODE] * 50 + [YENC]


def binhexed(data: bytes, name: bytes) -> bytes:
    """RFC 1741, with runs."""
    header = bytes((len(name),)) + name + b"\0TEXTttxt\0\0" + len(data).to_bytes(4, "big") + bytes(4)
    whole = b"".join(part + binascii.crc_hqx(part, 0).to_bytes(2, "big") for part in (header, data, b""))
    packed, at = b"", 0
    while at < len(whole):
        run = next((n for n in range(1, 255) if whole[at + n : at + n + 1] != whole[at : at + 1]), 255)
        one = b"\x90\0" if whole[at] == 0x90 else whole[at : at + 1]
        packed += one + b"\x90" + bytes((run,)) if run > 3 else one * run
        at += run
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    hqx = b"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr"
    letters = binascii.b2a_base64(packed, newline=False).rstrip(b"=").translate(bytes.maketrans(alphabet, hqx))
    lines = [(b":" + letters + b":")[i : i + 64] for i in range(0, len(letters) + 2, 64)]
    return b"(This file must be converted with BinHex 4.0)\n\n" + b"\n".join(lines) + b"\n"


def base64_uuencoded(data: bytes, name: bytes) -> bytes:
    return b"begin-base64 644 " + name + b"\n" + base64.encodebytes(data) + b"====\n"


ENCODERS = [uuencoded, yencoded, binhexed, base64_uuencoded]
RUNS = st.lists(
    st.sampled_from([b"\x90", b"\0", b"aaaaaa", b"x", b"\xff" * 300, b"\n", b"end\n"]), min_size=1, max_size=30
)


@pytest.mark.parametrize("encode", ENCODERS)
@given(st.binary(min_size=1, max_size=300) | RUNS.map(b"".join))
def test_a_loose_file_is_its_child(encode: Callable[[bytes, bytes], bytes], data: bytes) -> None:
    text = b"word one\n\n" + encode(data, b"a.bin") + b"\nword two\n"
    loose = MemorySource(b"a.txt", text)
    for handler, source in ((HANDLER, MemorySource(b"m.eml", HEAD + text)), (EncodedHandler(), loose)):
        [child] = handler.children(source, Limits())
        assert (child.name, child.data, child.error) == (b"a.bin", data, None)
        assert handler.text(source, Limits()).text.split() == ["word", "one", "word", "two"]
    if encode is not yencoded:
        assert identify(loose) in EncodedHandler.media_types


@pytest.mark.parametrize("encode", [uuencoded, base64_uuencoded, binhexed])
@pytest.mark.parametrize("quote", [b"> ", b">", b">> ", b"| "])
def test_a_quoted_file_is_read(encode: Callable[[bytes, bytes], bytes], quote: bytes) -> None:
    data = b"firstfile words\n" * 12
    text = b"".join(quote + line for line in encode(data, b"f.txt").splitlines(keepends=True))
    [child] = HANDLER.children(MemorySource(b"m.eml", HEAD + b"Ann wrote:\n" + text + b"after\n"), Limits())
    assert (child.name, child.data, child.error) == (b"f.txt", data, None)


@pytest.mark.parametrize("encode", ENCODERS)
def test_a_file_without_its_end_is_read_and_reported(encode: Callable[[bytes, bytes], bytes]) -> None:
    """Up to the last line that can be of it; a second file is another one."""
    data = b"firstfile words\n" * 12
    whole = encode(data, b"f.txt")
    cut = whole[: whole.rindex(b"\n", 0, len(whole) - 5) + 1]
    second = encode(b"second", b"s.txt")
    first, other = HANDLER.children(MemorySource(b"m.eml", HEAD + b"before\n" + cut + b"\n" + second), Limits())
    assert first.data is not None
    assert first.data.startswith(b"firstfile words")
    assert first.error is not None or first.data == data
    assert (other.name, other.data, other.error) == (b"s.txt", b"second", None)


def test_pieces_and_checksums_of_yenc() -> None:
    whole = yencoded(b"data", b"a")
    for changed in (
        whole.replace(b"=ybegin line", b"=ybegin part=2 total=3 line"),
        whole.replace(b"=yend size=4", b"=yend size=5"),
        whole.replace(b"=yend size=4", b"=yend size=4 crc32=00000000"),
    ):
        [child] = HANDLER.children(MemorySource(b"m.eml", HEAD + changed), Limits())
        assert (child.data, child.error is not None) == (b"data", True)


@pytest.mark.parametrize("label", [b"x-uuencode", b"uuencode", b"x-uue", b"mac-binhex40", b"x-yenc"])
def test_encoding_of_a_part_that_is_another(label: bytes) -> None:
    head = b"Content-Type: image/x; name=a\nContent-Transfer-Encoding: " + label + b"\n\n"
    [child] = HANDLER.children(MemorySource(b"m.eml", b"From: a@b.example\n" + head + b"plain words"), Limits())
    assert child.error is not None
    assert label == b"x-yenc" or child.data == b"plain words"


@pytest.mark.parametrize("encoding", [b"base64", b"quoted-printable"])
@pytest.mark.parametrize("encode", [uuencoded, base64_uuencoded, binhexed])
def test_a_file_in_a_text_that_is_encoded(encode: Callable[[bytes, bytes], bytes], encoding: bytes) -> None:
    data = b"firstfile words\n" * 12
    text = b"before\n" + encode(data, b"f.txt") + b"after\n"
    coded = base64.encodebytes(text) if encoding == b"base64" else binascii.b2a_qp(text)
    head = b"From: a@b.example\nContent-Type: text/plain\nContent-Transfer-Encoding: " + encoding + b"\n\n"
    source = MemorySource(b"m.eml", head + coded)
    [child] = HANDLER.children(source, Limits())
    assert (child.name, child.data, child.error) == (b"f.txt", data, None)
    assert HANDLER.text(source, Limits()).text.split() == ["before", "after"]


def test_a_piece_of_a_file_is_reported() -> None:
    piece = b"\n".join(uuencoded(bytes(range(256)) * 2, b"a").split(b"\n")[1:8])
    for body, damaged in (
        (b"section 2 of 3\n" + piece + b"\n", True),
        (b"Many words\nMore words\nMost words\nMuch\n", False),
    ):
        text = HANDLER.text(MemorySource(b"m.eml", HEAD + body), Limits())
        assert (text.error is not None) == damaged
        assert "words" in text.text or "section" in text.text

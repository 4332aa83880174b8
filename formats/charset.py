"""Bytes to characters: which charset a text without (or with a wrong) declaration is in."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from formats.last import remembered

# The longer marks first: UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ANY_MARK = tuple(mark for mark, _ in _MARKS)
# What people mean by a label (as https://encoding.spec.whatwg.org/ has it), where Python's codec is narrower.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
CHUNK = 1 << 18


def by_mark(head: bytes) -> tuple[str, int]:
    """(codec, length of the mark) when the bytes begin with a byte-order mark, else ("", 0)."""
    if not head.startswith(_ANY_MARK):
        return "", 0
    return next((codec, len(mark)) for mark, codec in _MARKS if head.startswith(mark))


@remembered
def by_label(label: str) -> str:
    """The codec for a declared charset; "" when it is unknown or does not turn bytes into text."""
    try:
        info = codecs.lookup(label.strip().strip("\"'"))
    except (LookupError, ValueError):  # ValueError: the label holds NUL
        return ""
    if not getattr(info, "_is_text_encoding", True) or info.name in ("idna", "punycode", "unicode_escape"):
        return ""
    return _WIDER.get(info.name, info.name)


def by_zeros(head: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, told by where the zero bytes of mostly Latin text lie; "" when neither."""
    sample = head[: len(head) & ~3]
    zeros = sample.count(0)
    if len(sample) < 8 or zeros < len(sample) // 5:
        return ""
    quarter = len(sample) // 4
    lanes = [sample[i::4].count(0) for i in range(4)]
    full = [lane > quarter * 0.9 for lane in lanes]
    if full == [False, True, True, True]:
        return "utf-32-le"
    if full == [True, True, True, False]:
        return "utf-32-be"
    odd, even = lanes[1] + lanes[3], lanes[0] + lanes[2]
    if odd > 10 * even and odd > quarter // 2:
        return "utf-16-le"
    if even > 10 * odd and even > quarter // 2:
        return "utf-16-be"
    return ""


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 are so nearly, and so are damaged UTF-8 rather than another charset."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - bad - len(text.encode("ascii", "ignore"))
    return good > 4 * bad


def _certain(head: bytes) -> tuple[str, int]:
    """Codec and mark length where the head alone decides; ("", 0) otherwise."""
    codec, skip = by_mark(head)
    return (codec, skip) if codec else (_by_controls(head), 0)


def _by_controls(head: bytes) -> str:
    """The codec where control characters tell; "" where they do not."""
    if b"\0" in head:
        return by_zeros(head)
    return "iso2022_jp" if b"\x1b" in head and (b"\x1b$B" in head or b"\x1b$@" in head) else ""


def decode(data: bytes, declared: str = "") -> tuple[str, str]:
    """(text, charset): byte-order mark, then the declared charset, UTF-8, UTF-16 by its zeros, else windows-1252."""
    codec, skip = by_mark(data)
    if codec:
        return data[skip:].decode(codec, "replace"), codec
    codec = by_label(declared) if declared else ""
    if codec.startswith(("utf-16", "utf-32")) and not by_zeros(data[:4096]):
        codec = ""  # the declaration was readable as ASCII, so it is wrong
    if codec == "cp1252" and data.isascii():
        return data.decode("ascii"), codec
    if codec and codec != "utf-8":
        return data.decode(codec, "replace"), codec
    codec = _by_controls(data[:4096])
    if codec:
        return data.decode(codec, "replace"), codec
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        codec = "utf-8" if _is_damaged_utf8(data) else "cp1252"
        return data.decode(codec, "replace"), codec


class Decoder:
    """Streams a file of unknown charset as text; `charset` is right once the stream has been read."""

    def __init__(self, head: bytes) -> None:
        self._codec, self._skip = _certain(head)
        self.charset = self._codec or "utf-8"

    def chunks(self, stream: BinaryIO) -> Iterator[str]:
        """The text in pieces. Bytes that fit no charset become U+FFFD."""
        stream.read(self._skip)
        if self._codec:
            yield from self._plain(stream, self._codec, b"")
        else:
            yield from self._guess(stream)

    def _plain(self, stream: BinaryIO, codec: str, first: bytes) -> Iterator[str]:
        self.charset = codec
        decoder = codecs.getincrementaldecoder(codec)("replace")
        yield decoder.decode(first)
        while data := stream.read(CHUNK):
            yield decoder.decode(data)
        yield decoder.decode(b"", True)

    def _guess(self, stream: BinaryIO) -> Iterator[str]:
        """UTF-8 for as long as it is; from the first byte that is not, whatever the text before it speaks for."""
        rest, wide = b"", False
        while data := rest + stream.read(CHUNK):
            final = len(data) == len(rest)
            try:
                text, used = codecs.utf_8_decode(data, "strict", final)
            except UnicodeDecodeError:
                codec = "utf-8" if wide or _is_damaged_utf8(data) else "cp1252"
                yield from self._plain(stream, codec, data)
                return
            wide = wide or used != len(text)
            rest = data[used:]
            yield text

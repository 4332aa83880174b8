"""Bytes to characters: which charset a text without (or with a wrong) declaration is in."""

from __future__ import annotations

import codecs
import enum
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from formats.charset_guess import SAMPLE, doubtful, guess, reads, western, wide
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
_CODE_PAGE = re.compile(r"^(?:ibm-?|windows-)(?=\d{3,4}$)")
# Labels that programs write and Python does not know.
_MISSPELT = {
    "windows-31j": "cp932",
    "ansi": "cp1252",
    "x-sjis": "cp932",
    "x-x-big5": "big5",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "x-mac-ce": "mac-latin2",
    "x-mac-ukrainian": "mac-cyrillic",
    "unicode": "utf-16",
    "unicode-1-1-utf-8": "utf-8",
    "unicode-1-1-utf-7": "utf-7",
    "utf8mb4": "utf-8",
    "visual": "iso8859-8",
    "logical": "iso8859-8",
    "gb_2312-80": "gb2312",
    "iso-2022-jp-ms": "iso2022_jp_ext",
}
DOUBLE = frozenset(("gb18030", "cp932", "cp949", "big5", "big5hkscs", "cp950", "euc_jp", "euc_jis_2004", "johab"))
_ASCII_IN = DOUBLE | frozenset(f"cp125{n}" for n in range(9)) | frozenset(f"iso8859-{n}" for n in range(2, 17))
_ESCAPES = {b"\x1b$B": "iso2022_jp", b"\x1b$@": "iso2022_jp", b"\x1b$)C": "iso2022_kr"}
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r")
_HALVES = re.compile(r"[\ud800-\udfff]")
CHUNK = 1 << 18
_CHECKS = 200  # strings of a document that are looked at: each may take the detector


class CharsetSource(enum.StrEnum):
    """Where a charset is known from."""

    MARK = "bom"
    DECLARED = "declared"
    UTF8 = "utf-8"  # nothing else is valid UTF-8 by chance
    STRUCTURE = "structure"  # zero bytes, escape sequences
    HINT = "hint"  # a code page or a charset around it
    DETECTED = "detected"
    DEFAULT = "default"  # windows-1252, because nothing speaks for anything


CHARSET_KEYS = ("charset", "charset_source", "charset_confidence")  # that `Found.metadata` gives


class Detected(NamedTuple):
    """The charset that a text was read in, where it is known from, and of 100 such findings how many are right."""

    charset: str
    source: CharsetSource
    confidence: int = 100
    guessed: bool = False  # it may well be another one

    @property
    def detected(self) -> bool:
        """Whether the bytes alone had to tell it, by what they look like."""
        return self.source in (CharsetSource.DETECTED, CharsetSource.DEFAULT)

    def metadata(self) -> dict[str, Any]:
        """The keys that a handler gives with it."""
        keys: dict[str, Any] = {"charset": self.charset, "charset_source": self.source.value}
        return keys | {"charset_confidence": self.confidence} if self.detected else keys


def by_mark(head: bytes) -> tuple[str, int]:
    """(codec, length of the mark) when the bytes begin with a byte-order mark, else ("", 0)."""
    if not head.startswith(_ANY_MARK):
        return "", 0
    return next((codec, len(mark)) for mark, codec in _MARKS if head.startswith(mark))


@remembered
def by_label(label: str) -> str:
    """The codec for a declared charset; "" when it is unknown or does not turn bytes into text."""
    name = label.strip().strip("\"'").lower()
    page = _CODE_PAGE.sub("cp", name)  # ibm720, windows-874: Python knows some of them by no other name
    for known in (name, _MISSPELT.get(name, ""), name.removeprefix("x-"), name.removesuffix("-i"), page):
        try:
            info = codecs.lookup(known)
        except (LookupError, ValueError):  # ValueError: the label holds NUL
            continue
        if not getattr(info, "_is_text_encoding", True) or info.name in ("idna", "punycode", "unicode_escape"):
            return ""
        return _WIDER.get(info.name, info.name)
    return ""


@remembered
def _says_nothing(label: str) -> bool:
    """Whether programs write this label over bytes of any charset, because they know none: ASCII."""
    try:
        return codecs.lookup(label.strip().strip("\"'")).name == "ascii"
    except (LookupError, ValueError):
        return False


def by_zeros(head: bytes) -> str:
    """UTF-32 without a mark, or UTF-16 of mostly Latin text, told by where the zero bytes lie; "" when neither."""
    sample = head[: len(head) & ~3]
    zeros = sample.count(0)
    if len(sample) < 8 or zeros < len(sample) // 5:
        return ""
    quarter = len(sample) // 4
    lanes = [sample[i::4].count(0) for i in range(4)]
    full = [lane > quarter * 0.9 for lane in lanes]
    if full[2] and full[3] and not full[0]:
        return "utf-32-le"
    if full[0] and full[1] and not full[3]:
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


def by_structure(head: bytes) -> str:
    """The codec where zero bytes, escape sequences or rows of characters tell; "" where they do not."""
    if b"\0" in head:
        return by_zeros(head) or wide(head)
    if b"\x1b" in head:
        return next((codec for mark, codec in _ESCAPES.items() if mark in head), "")
    if b"~" in head and b"~{" in head and b"~}" in head and head.isascii() and guess(head[:SAMPLE]).codec == "hz":
        return "hz"
    return ""


def read_in(data: bytes, codec: str) -> str:
    """The bytes as text; what is no character becomes U+FFFD."""
    return _whole(data.decode(codec, "replace"), codec)


def _whole(text: str, codec: str) -> str:
    """Without halves of surrogate pairs, which UTF-7 alone can spell and Python takes from it."""
    return _HALVES.sub("\ufffd", text) if codec == "utf-7" else text


def decode(data: bytes, declared: str = "", hint: str = "") -> tuple[str, Detected]:
    """The text, and what was found out about its charset. A byte-order mark counts most, then what is declared where the
    bytes do not contradict it, UTF-8 where it is that, and what the bytes look like; a `hint` (a charset that lies
    around them, or that their code page or language lets expect) counts where the bytes leave room for it."""
    codec, skip = by_mark(data)
    if codec:
        return data[skip:].decode(codec, "replace"), Detected(codec, CharsetSource.MARK)
    codec = by_label(declared) if declared else ""
    if codec.startswith(("utf-16", "utf-32")) and not (by_zeros(data[:4096]) or wide(data[:4096])):
        codec = ""  # the declaration was readable as ASCII, so it is wrong
    told = _told_otherwise(data, codec) if codec else ""
    if codec and not told and (known := _declared(data, codec, declared)) is not None:
        return known
    codec = told or by_structure(data[:4096])
    if codec:
        return data.decode(codec, "replace"), Detected(codec, CharsetSource.STRUCTURE)
    try:
        return data.decode("utf-8"), Detected("utf-8", CharsetSource.UTF8)
    except UnicodeDecodeError:
        detected = _told(data, "" if not hint or _says_nothing(hint) else by_label(hint))
        return read_in(data, detected.charset), detected


def code_page(data: bytes, codec: str) -> str:
    """The codec of bytes that something around them (a language, a code page of the file) says to be in one: another
    where the bytes contradict it. Control characters among them say nothing."""
    if data.isascii():
        return codec
    text = data[: 4 * SAMPLE].translate(None, _CONTROLS)
    other = _instead(text) if doubtful(text.decode(codec, "replace")) else None
    return other.charset if other else codec


class CodePage:
    """Reads a document's strings of bytes in the code page that it tells, until one of the first contradicts that."""

    __slots__ = ("_checks", "_codec")

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._checks = _CHECKS

    @property
    def codec(self) -> str:
        """What the next string is read in."""
        return self._codec

    def text(self, raw: bytes) -> str:
        """A string; what fits no charset becomes U+FFFD."""
        if self._checks and not raw.isascii():
            self._checks -= 1
            codec = code_page(raw, self._codec)
            if codec != self._codec:
                self._codec, self._checks = codec, 0
        return read_in(raw, self._codec)


def _told_otherwise(data: bytes, codec: str) -> str:
    """Another codec than the declared one, where zero bytes or escape sequences tell it: such bytes are ASCII to look at, and so they
    agree with nearly every declaration. "" where they do not tell another."""
    head = data[:4096]
    if b"\0" in head:
        told = by_zeros(head) or ("" if codec.startswith("utf-") else wide(head))
    elif not data.isascii() or codec.startswith("iso2022"):
        told = ""
    elif b"\x1b" in head:
        told = next((name for mark, name in _ESCAPES.items() if mark in head and reads(data, name)), "")
    else:
        told = by_structure(head)
    return "" if told == codec else told


def _declared(data: bytes, codec: str, label: str) -> tuple[str, Detected] | None:
    """Text and charset as declared; None where that is not what the bytes are in."""
    if data.isascii() and codec in _ASCII_IN:
        return data.decode("ascii"), Detected(codec, CharsetSource.DECLARED)
    if codec == "utf-8" or _says_nothing(label):
        return None
    text = read_in(data, codec)
    if "\ufffd" not in text and codec in DOUBLE:
        return text, Detected(codec, CharsetSource.DECLARED)
    if _is_utf8(data):
        return None
    other = _instead(data) if doubtful(text) or (codec == "cp1252" and not western(data)) else None
    return (read_in(data, other.charset), other) if other else (text, Detected(codec, CharsetSource.DECLARED))


def _instead(data: bytes) -> Detected | None:
    """Another charset than the declared one, where it is sure, takes the bytes, and makes a better text of them."""
    guessed = guess(data)
    if not guessed.sure or not reads(data, guessed.codec):
        return None
    return (
        None
        if doubtful(data.decode(guessed.codec, "replace"))
        else Detected(guessed.codec, CharsetSource.DETECTED, guessed.confidence)
    )


def _told(data: bytes, hint: str) -> Detected:
    """The charset of bytes that are no UTF-8, and of which nothing but a hint is known."""
    if codec := wide(data):
        return Detected(codec, CharsetSource.STRUCTURE)
    if _is_damaged_utf8(data):
        return Detected("utf-8", CharsetSource.UTF8)
    if hint and hint != "utf-8" and reads(data, hint) and not doubtful(data[:SAMPLE].decode(hint, "replace")):
        return Detected(hint, CharsetSource.HINT)
    codec, confidence, sure = guess(data)
    return (
        Detected(codec, CharsetSource.DETECTED, confidence, not sure)
        if codec
        else Detected("cp1252", CharsetSource.DEFAULT, 0, True)
    )


def _is_utf8(data: bytes) -> bool:
    try:
        return len(data.decode("utf-8")) != len(data)
    except UnicodeDecodeError:
        return False


class Decoder:
    """Streams a file of unknown charset as text; `detected` is right once the stream has been read."""

    def __init__(self, head: bytes) -> None:
        codec, self._skip = by_mark(head)
        self._codec = codec or by_structure(head)
        source = CharsetSource.MARK if codec else CharsetSource.STRUCTURE if self._codec else CharsetSource.UTF8
        self.detected = Detected(self._codec or "utf-8", source)

    def chunks(self, stream: BinaryIO) -> Iterator[str]:
        """The text in pieces. Bytes that fit no charset become U+FFFD."""
        stream.read(self._skip)
        if self._codec:
            yield from self._plain(stream, b"")
        else:
            yield from self._guess(stream)

    def _plain(self, stream: BinaryIO, first: bytes) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder(self.detected.charset)("replace")
        yield _whole(decoder.decode(first), self.detected.charset)
        while data := stream.read(CHUNK):
            yield _whole(decoder.decode(data), self.detected.charset)
        yield _whole(decoder.decode(b"", True), self.detected.charset)

    def _guess(self, stream: BinaryIO) -> Iterator[str]:
        """UTF-8 for as long as it is; from the first byte that is not, whatever the text before it speaks for."""
        rest, many = b"", False
        while data := rest + stream.read(CHUNK):
            final = len(data) == len(rest)
            try:
                text, used = codecs.utf_8_decode(data, "strict", final)
            except UnicodeDecodeError:
                self.detected = Detected("utf-8", CharsetSource.UTF8) if many else _told(data, "")
                yield from self._plain(stream, data)
                return
            many = many or used != len(text)
            rest = data[used:]
            yield text

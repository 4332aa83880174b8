"""Decoding of bytes: which charset a text without (or with a wrong) declaration is in."""

from __future__ import annotations

import codecs
import enum
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import Any, BinaryIO, NamedTuple

from readers.charset_guess import SAMPLE, doubtful, guess, plainly_western, reads, western, wide
from readers.charset_labels import by_label, by_mark, is_placeholder
from readers.charset_mixed import BIG, LITTLE, first_wide, parts
from readers.charset_wider import HALVES, errors_of

DOUBLE = frozenset(("gb18030", "cp932", "cp949", "big5", "big5hkscs", "cp950", "euc_jp", "euc_jis_2004", "johab"))
_ASCII_IN = DOUBLE | frozenset(f"cp125{n}" for n in range(9)) | frozenset(f"iso8859-{n}" for n in range(2, 17))
_ESCAPES = {b"\x1b$B": "iso2022_jp", b"\x1b$@": "iso2022_jp", b"\x1b$)C": "iso2022_kr"}
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r")
_NUL, _ESCAPE, _TILDE = b"\0\x1b~"  # numbers: bytes are searched for one in a tenth of the time of a byte string
_NOT_CONTINUING = bytes((*range(0x80), *range(0xC0, 0x100)))  # in UTF-8
_HALVES = re.compile(r"[\ud800-\udfff]")
# A sequence of two bytes is a character in a few other charsets too; a longer one is several rare characters in a row.
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xf4][\x80-\xbf]{2,3}")
_CUT = re.compile(rb"(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})\Z")  # at the end of a read
_COUNTS = (0, 0, 1, 4, 4)  # weight of a sequence by its length
# Among many lines in another charset some are UTF-8 by chance: the weight that no line has, nor 4 KB; letters that none has.
_IN_A_LINE, _AT_AN_END, _NOT_LATIN = 12, 32, re.compile(rb"[\xc6-\xff]")
_LIKELY = 89  # right of 100: so sure, it was right in 382 of 395 texts that were declared falsely and read badly, and wrong in none
# that were declared truly but for capitals
_SIGNS = 0.1  # share of a text's characters that are not ASCII
CHUNK = 1 << 18
_CHECKS = 200  # strings of a document that are examined: each may need the detector


class CharsetSource(enum.StrEnum):
    """Origin of a charset."""

    MARK = "bom"
    DECLARED = "declared"
    UTF8 = "utf-8"  # nothing else is valid UTF-8 by chance
    STRUCTURE = "structure"  # zero bytes, escape sequences
    HINT = "hint"  # a code page or a charset around it
    DETECTED = "detected"
    DEFAULT = "default"  # windows-1252, because there is no evidence


CHARSET_KEYS = ("charset", "charset_source", "charset_confidence")  # keys of `Detected.metadata`


class Detected(NamedTuple):
    """The charset that a text was decoded with, its origin, and how many of 100 such findings are right."""

    charset: str
    source: CharsetSource
    confidence: int = 100
    guessed: bool = False  # it may be another one

    @property
    def detected(self) -> bool:
        """Whether the charset was detected from the bytes alone."""
        return self.source in (CharsetSource.DETECTED, CharsetSource.DEFAULT)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata keys of a handler for it."""
        keys: dict[str, Any] = {"charset": self.charset, "charset_source": self.source.value}
        return keys | {"charset_confidence": self.confidence} if self.detected else keys


def by_zeros(head: bytes) -> str:
    """Return UTF-32, or UTF-16 of mostly Latin text, without a byte-order mark, detected by the positions of the zero
    bytes; "" if it is neither."""
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


def _other_lines(data: bytes, utf8: bool) -> str:
    """Return the codec of lines that are not UTF-8 among lines that certainly are (`utf8`: the text before was), as
    when two programs write to a log; "" if there are none. A line with a damaged byte does not count, as in
    `_is_damaged_utf8`."""
    if not utf8 and not data.translate(None, _NOT_CONTINUING):
        return ""  # no character of several bytes, as in most western texts
    good: list[bytes] = []
    bad: list[bytes] = []
    for line in data.split(b"\n"):
        if not line.isascii():
            (good if _is_utf8(line) else bad).append(line)
    others = b"\n".join(bad)
    if not bad or _is_damaged_utf8(others) or not (utf8 or _never_by_chance(b"\n".join(good))):
        return ""
    codec = guess(others).codec or "cp1252"
    if not utf8 and 4 * len(good) <= len(bad) and (codec in DOUBLE or _NOT_LATIN.search(b"".join(good))):
        return codec if any(_never_by_chance(line, _IN_A_LINE) for line in good) else ""
    return codec


def _turned(data: bytes, codec: str) -> str:
    """Return whether a further piece of a text in this codec has parts in UTF-16, or ends in lines of UTF-8."""
    if codec.startswith(("utf", "iso2022", "hz")):
        return ""
    if _NUL in data and first_wide(data) is not None:
        return LITTLE
    end = _CUT.sub(b"", data[-SAMPLE:].partition(b"\n")[2])
    return "utf-8" if _never_by_chance(end, _AT_AN_END) or (codec not in DOUBLE and _other_lines(end, False)) else ""


def _lines(data: bytes, other: str) -> str:
    """Decode each line as UTF-8 if it is that, else with the other codec."""
    lines = data.split(b"\n")
    return "\n".join(read_in(line, "utf-8" if line.isascii() or _is_utf8(line) else other) for line in lines)


def _is_damaged_utf8(data: bytes) -> bool:
    """Return whether bytes that are not UTF-8 are damaged UTF-8 rather than another charset."""
    text, whole = data.decode("utf-8", "replace"), len(HALVES.findall(data))
    bad = text.count("\ufffd")
    good = len(text) - bad - len(text.encode("ascii", "ignore"))
    return good + whole > 4 * (bad - 6 * whole)  # each byte of the halves counts as bad


def by_structure(head: bytes) -> str:
    """Return the codec that zero bytes, escape sequences or rows of characters indicate; "" if they indicate none."""
    if _NUL in head:
        return by_zeros(head) or wide(head)
    if _ESCAPE in head:
        return next((codec for mark, codec in _ESCAPES.items() if mark in head), "")
    if _TILDE in head and b"~{" in head and b"~}" in head and head.isascii() and guess(head[:SAMPLE]).codec == "hz":
        return "hz"
    return ""


def read_in(data: bytes, codec: str) -> str:
    """Decode the bytes; invalid ones become U+FFFD."""
    return _whole(data.decode(codec, errors_of(codec)), codec)


def _whole(text: str, codec: str) -> str:
    """Replace halves of surrogate pairs, which only UTF-7 can spell and Python lets through."""
    return _HALVES.sub("\ufffd", text) if codec == "utf-7" else text


def decode(data: bytes, declared: str = "", hint: str = "") -> tuple[str, Detected]:
    """Return the text and the charset that was found. A byte-order mark counts most, then the declared charset if the
    bytes do not contradict it, UTF-8 if they are valid UTF-8, and the charset that the bytes look like. A `hint` (a
    charset of the surroundings, or one that their code page or language suggests) counts if the bytes leave it open."""
    codec, skip = by_mark(data)
    if codec:
        return _of_parts(data[skip:], codec, hint), Detected(codec, CharsetSource.MARK)
    codec = by_label(declared) if declared else ""
    if _NUL in data and not by_structure(data[:4096]) and (first := first_wide(data)) is not None:
        return _of_parts(data, "", hint), Detected(first[1], CharsetSource.STRUCTURE, guessed=True)
    if codec.startswith(("utf-16", "utf-32")) and not (by_zeros(data[:4096]) or wide(data[:4096])):
        codec = ""  # the declaration was readable as ASCII, so it is wrong
    other = _contradicting(data, codec) if codec else ""
    if codec and not other and (known := _declared(data, codec, declared)) is not None:
        return known
    codec = other or by_structure(data[:4096])
    if codec:
        return _of_parts(data, codec, hint), Detected(codec, CharsetSource.STRUCTURE)
    text, found = _narrow(data, _hint(hint))
    return text, found._replace(guessed=True) if _ESCAPE in data and b"\x1b$" in data else found  # of ISO 2022-CN


def _of_parts(data: bytes, codec: str, hint: str) -> str:
    """Decode text that begins in a codec; parts in another encoding may follow if the codec is UTF-16 or ""."""
    if codec not in ("", LITTLE, BIG):
        return data.decode(codec, errors_of(codec))
    return "".join(
        part.decode(own, "replace").replace("\ufeff", "") if own else _narrow(part, _hint(hint))[0]
        for own, part in parts((data,), codec)
    )


def code_page(data: bytes, codec: str) -> str:
    """Return the codec of bytes that their surroundings (a language, a code page of the file) declare as `codec`:
    another one if the bytes contradict it. Control characters among them are no evidence."""
    return of_code_page(data, codec).charset


def of_code_page(data: bytes, codec: str) -> Detected:
    """Return the same with its certainty: a guess if it reads badly and no other charset is certain."""
    return _unless_capitals(_by_code_page(data, codec, likely=True), data)


def _by_code_page(data: bytes, codec: str, *, likely: bool = False) -> Detected:
    if data.isascii():
        return Detected(codec, CharsetSource.DECLARED)
    if _never_by_chance(data) or (codec == "cp1252" and _is_utf8(data)):
        return Detected("utf-8", CharsetSource.UTF8)
    sample = data[: 4 * SAMPLE].translate(None, _CONTROLS)
    text = sample.decode(codec, errors_of(codec))
    if not doubtful(text):
        return Detected(codec, CharsetSource.DECLARED)
    return _judged(sample, text, codec, likely=likely)


def least_certain(read: Iterable[Detected | None]) -> Detected | None:
    """Return the least certain of the detected or guessed charsets; None without any."""
    unsure = [one for one in read if one is not None and (one.detected or one.guessed)]
    return min(unsure, key=lambda one: (not one.guessed, one.confidence)) if unsure else None


class CodePage:
    """Decoder of a document's byte strings in the code page that it declares, until one of the first strings
    contradicts it."""

    __slots__ = ("_checks", "_doubted", "_found", "_sound")

    def __init__(self, codec: str) -> None:
        self._found = Detected(codec, CharsetSource.DECLARED)
        self._checks = _CHECKS
        self._doubted = bytearray()  # strings that read badly
        self._sound = 0  # non-ASCII bytes of the other strings

    @property
    def codec(self) -> str:
        """Codec of the next string."""
        return self._found.charset

    @property
    def detected(self) -> Detected:
        """The charset with its origin; a guess if most of the examined strings read badly, and all of these together
        do."""
        doubted = bytes(self._doubted)
        if self._found.detected or len(doubted) <= self._sound:
            return self._found
        found = of_code_page(doubted, self.codec)
        return self._found._replace(guessed=found.guessed or found.charset != self.codec)

    def text(self, raw: bytes) -> str:
        """Decode a string; bytes that fit no charset become U+FFFD."""
        if self._checks and not raw.isascii():
            self._checks -= 1
            found = _by_code_page(raw, self.codec)
            if found.charset != self.codec:
                self._found, self._checks = found, 0
            elif found.guessed:
                self._doubted += raw[: 4 * SAMPLE] + b"\n"
            else:
                self._sound += len(raw)
        return read_in(raw, self.codec)


def _contradicting(data: bytes, codec: str) -> str:
    """Return a codec other than the declared one if zero bytes or escape sequences indicate it, else "". Such bytes
    look like ASCII, so they agree with nearly every declaration."""
    head = data[:4096]
    if _NUL in head:
        found = by_zeros(head) or ("" if codec.startswith("utf-") else wide(head))
    elif not data.isascii() or codec.startswith("iso2022"):
        found = ""
    elif _ESCAPE in head:
        found = next((name for mark, name in _ESCAPES.items() if mark in head and reads(data, name)), "")
    else:
        found = by_structure(head)
    return "" if found == codec else found


def _declared(data: bytes, codec: str, label: str) -> tuple[str, Detected] | None:
    """Return text and charset as declared; None if the bytes contradict the declaration. It is a guess if they read
    badly and the better charset is not certain."""
    if data.isascii() and codec in _ASCII_IN:
        return data.decode("ascii"), Detected(codec, CharsetSource.DECLARED)
    if codec == "utf-8" or is_placeholder(label):
        return None
    text = read_in(data, codec)
    if "\ufffd" not in text and codec in DOUBLE and not _never_by_chance(data):
        return text, Detected(codec, CharsetSource.DECLARED)
    if _is_utf8(data):
        return None
    if codec == "cp1252" and plainly_western(data):
        return text, Detected(codec, CharsetSource.DECLARED)
    bad = doubtful(text)
    if not bad and (codec != "cp1252" or western(data)):
        return text, Detected(codec, CharsetSource.DECLARED)
    found = _judged(data, text, codec, likely=bad)
    if found.charset != codec:
        return read_in(data, found.charset), found
    return text, _unless_capitals(found, data) if bad else found._replace(guessed=False)


def _judged(data: bytes, text: str, codec: str, *, likely: bool) -> Detected:
    """Judge bytes that seem not to be in the codec that they are labelled with; `text` is their content in that codec.
    Return another codec that decodes them to better text, if it is certain or `likely` is enough; else this one, as a
    guess if the detector would choose another."""
    guessed = guess(data)
    takes = bool(guessed.codec) and reads(data, guessed.codec)
    other = data.decode(guessed.codec, errors_of(guessed.codec)) if takes else ""
    if other == text:
        return Detected(codec, CharsetSource.DECLARED)
    enough = guessed.sure or (likely and guessed.confidence >= _LIKELY)
    if takes and enough and not doubtful(other) and not _in_capitals(data, codec):
        return Detected(guessed.codec, CharsetSource.DETECTED, guessed.confidence, guessed=not guessed.sure)
    return Detected(codec, CharsetSource.DECLARED, guessed=True)


def _unless_capitals(found: Detected, data: bytes) -> Detected:
    """Clear the mark of a guess if the text is as declared and reads badly only due to capitals."""
    doubted = found.guessed and found.source is CharsetSource.DECLARED
    return found._replace(guessed=False) if doubted and _in_capitals(data, found.charset) else found


def _in_capitals(data: bytes, codec: str) -> bool:
    """Return whether a text reads badly only because of its capitals: in lower case it is likelier to be in this codec,
    or in one that differs in signs, than the unchanged text is to be in another."""
    small = data[:SAMPLE].decode(codec, "replace").lower()
    if doubtful(small):
        return False
    raw = small.encode(codec, "ignore")
    likely = guess(raw)
    if likely.score <= guess(data).score:
        return False
    own, other = raw.decode(codec, "replace"), raw.decode(likely.codec, "replace")
    return len(own) == len(other) and sum(map(str.__ne__, own, other)) <= _SIGNS * sum(c > "\x7f" for c in own)


def _hint(label: str) -> str:
    """Return the codec of a label; "" if the label is no evidence."""
    return "" if not label or is_placeholder(label) else by_label(label)


def _undeclared(data: bytes, hint: str) -> Detected:
    """Return the charset of bytes that are not UTF-8 and for which only a hint is known."""
    if codec := wide(data):
        return Detected(codec, CharsetSource.STRUCTURE)
    if _is_damaged_utf8(data):
        return Detected("utf-8", CharsetSource.UTF8)
    if (
        hint
        and not hint.startswith("utf-")
        and reads(data, hint)
        and not doubtful(data[:SAMPLE].decode(hint, errors_of(hint)))
    ):
        return Detected(hint, CharsetSource.HINT)
    guessed = guess(data)
    return (
        Detected(guessed.codec, CharsetSource.DETECTED, guessed.confidence, not guessed.sure)
        if guessed.codec
        else Detected("cp1252", CharsetSource.DEFAULT, 0, True)
    )


def _never_by_chance(data: bytes, enough: int = 8) -> bool:
    """Return whether bytes are UTF-8, with too many characters to be so by chance: two characters of three bytes, or
    eight of two. (Short Chinese, two characters or so, may be valid UTF-8 too.)"""
    if not _is_utf8(data):
        return False
    counts = accumulate(_COUNTS[len(one[0])] for one in _SEQUENCE.finditer(data))
    return any(count >= enough for count in counts)


def _is_utf8(data: bytes) -> bool:
    try:
        return len(data.decode("utf-8")) != len(data)
    except UnicodeDecodeError:
        return False


def _narrow(data: bytes, hint: str) -> tuple[str, Detected]:
    """Decode a part of a text that is not UTF-16."""
    try:
        return data.decode("utf-8"), Detected("utf-8", CharsetSource.UTF8)
    except UnicodeDecodeError:
        if other := _other_lines(data, False):
            return _lines(data, other), Detected("utf-8", CharsetSource.UTF8, guessed=True)
        detected = _undeclared(data, hint)
        return read_in(data, detected.charset), detected


class Decoder:
    """Decoder of a stream of unknown charset; `detected` is right after the stream was read. The declared charset
    counts if the bytes are not UTF-8."""

    def __init__(self, head: bytes, declared: str = "") -> None:
        self._hint = _hint(declared)
        codec, self._skip = by_mark(head)
        self._codec = codec or by_structure(head)
        source = CharsetSource.MARK if codec else CharsetSource.STRUCTURE if self._codec else CharsetSource.UTF8
        self.detected = Detected(self._codec or "utf-8", source)

    def chunks(self, stream: BinaryIO) -> Iterator[str]:
        """Yield the text in pieces. Bytes that fit no charset become U+FFFD."""
        stream.read(self._skip)
        if self._codec in (LITTLE, BIG):
            yield from self._parts(stream, b"")
        elif self._codec and self._codec != "utf-8":
            yield from self._plain(stream, b"")
        else:
            yield from self._guess(stream)

    def _plain(self, stream: BinaryIO, first: bytes) -> Iterator[str]:
        codec = self.detected.charset
        decoder = codecs.getincrementaldecoder(codec)(errors_of(codec))
        yield _whole(decoder.decode(first), codec)
        while data := stream.read(CHUNK):
            if turned := _turned(data, codec):
                self.detected, self._codec, self._hint = self.detected._replace(guessed=True), "", codec
                data = decoder.getstate()[0] + data
                yield from self._parts(stream, data) if turned == LITTLE else self._by_lines(stream, data, codec)
                return
            text = _whole(decoder.decode(data), codec)
            if codec.startswith("utf-32") and "\ufffd" in text:  # another charset follows
                self.detected = self.detected._replace(guessed=True)
            yield text
        yield _whole(decoder.decode(b"", True), codec)

    def _by_lines(self, stream: BinaryIO, data: bytes, other: str) -> Iterator[str]:
        """Yield the text of a stream with lines in UTF-8 and lines in another codec."""
        while data:
            more = stream.read(CHUNK)
            end = data.rfind(b"\n") + 1 if more and len(data) < 4 * CHUNK else len(data)
            yield _lines(data[: end or len(data)], other)
            data = data[end or len(data) :] + more

    def _parts(self, stream: BinaryIO, first: bytes) -> Iterator[str]:
        """Yield the text of parts in UTF-16 and of the parts between them."""
        rest = iter(lambda: stream.read(CHUNK), b"")
        for codec, data in parts(chain((first,) if first else (), rest), self._codec):
            if codec:
                yield data.decode(codec, "replace").replace("\ufeff", "")
                if not self._codec:
                    self._codec, self.detected = codec, Detected(codec, CharsetSource.STRUCTURE)
            else:
                text, detected = _narrow(data.removeprefix(codecs.BOM_UTF8), self._hint)
                self.detected = self.detected._replace(guessed=self.detected.guessed or detected.guessed)
                yield text

    def _guess(self, stream: BinaryIO) -> Iterator[str]:
        """Decode as UTF-8 up to the first invalid byte, then in the charset that the bytes from there on indicate."""
        rest, many = b"", False
        while data := rest + stream.read(CHUNK):
            final = len(data) == len(rest)
            if (b"\0" in data or (b"\xfe" in data and b"\xff" in data)) and first_wide(data) is not None:
                self._codec = ""
                yield from self._parts(stream, data)
                return
            try:
                text, used = codecs.utf_8_decode(data, "strict", final)
            except UnicodeDecodeError:
                if other := _other_lines(data, many):
                    self.detected = Detected("utf-8", CharsetSource.UTF8, guessed=True)
                    yield from self._by_lines(stream, data, other)
                    return
                if not self._codec:
                    damaged = Detected("utf-8", CharsetSource.UTF8, guessed=not _is_damaged_utf8(data))
                    self.detected = damaged if many else _undeclared(data, self._hint)
                yield from self._plain(stream, data)
                return
            many = many or used != len(text)
            rest = data[used:]
            yield text

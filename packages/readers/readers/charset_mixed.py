"""Texts of which a part is UTF-16 and another is not: what programs append to a log, or Windows PowerShell with `>>`.

A part in UTF-16 is detected by zero bytes that alternate with others, or by a byte-order mark at the start of a line;
another part by a run of ASCII or UTF-8 without zero bytes, at the start of a line and with a line end. Chinese in
UTF-16 has such runs, but no line ends in them. A part in the other byte order is detected by a mark, or by its line
ends: swapped, they are U+0A00, which is not a character."""

from __future__ import annotations

import codecs
import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

from readers.charset_guess import readable, wide

LITTLE, BIG = "utf-16-le", "utf-16-be"
_MARKS = {b"\xff\xfe": LITTLE, b"\xfe\xff": BIG}
_MARK = re.compile(rb"(?:(?<=\n)|\A)(?:\xff\xfe|\xfe\xff)")
_FOUR = re.compile(rb"(?:[\t\n\r\x20-\xff]\0){4}|(?:\0[\t\n\r\x20-\xff]){4}")
_RUN = re.compile(rb"[^\0]{4,}")
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r\f\x1b\x1a") + b"\x7f"
_PADDING = b"\0\t\n\r \x1a"
_SHORT, _ASCII, _ODD_SHARE, _MOST_HELD = 16, 0.7, 0.3, 1 << 18
_COMMON = b"abcdefghijklmnopqrstuvwxyz0123456789 "
_COMMON_SHARE = 0.6
_LONE_RETURN = re.compile(rb"\r(?!\n|\Z)")
_FEWEST_TURNED = 4  # letters
_SLICE = 1 << 12  # bytes examined together: the rest of them is examined again for each part
# Changes of order or charset, and bytes between two of them in a text that does not change by lines or words
_MANY_CHANGES, _FEW_BYTES = 256, 8
_TURNED = {ord(c) << 8: c for c in map(chr, (9, 10, 13, *range(32, 127)))} | {0xFFFE: None}
_LOOK = 64  # bytes after a mark that have to be text


def first_wide(data: bytes) -> tuple[int, str] | None:
    """Return the position of a part in UTF-16, including its mark, and its codec; None if there is none."""
    mark = next((found for found in _MARK.finditer(data) if _is_mark(data, found.start())), None)
    zeros = _FOUR.search(data)
    if mark is not None and (zeros is None or mark.start() <= zeros.start()):
        return mark.start(), _MARKS[mark[0]]
    found = [one for one in (_line(data), zeros and _start(data, zeros.start())) if one is not None]
    return min(found, default=None)


def _line(data: bytes) -> tuple[int, str] | None:
    """Return the same for a script without zero bytes in letters, by the first line with one."""
    zero = data.find(b"\0")
    if zero < 0:
        return None
    begin = data.rfind(b"\n", 0, zero - 1) + 1
    begin += (zero - 1 - begin) & 1
    end = data.find(b"\n\0", begin)
    line = data[begin : len(data) if end < 0 else end + 2]
    before = data[begin : zero - 1]
    if before.isascii() and len(before.translate(None, _CONTROLS)) == len(before):  # a zero in other text
        return None
    return (begin, LITTLE) if wide(line) == LITTLE else None


def _is_mark(data: bytes, at: int) -> bool:
    behind = data[at + 2 : at + 2 + _LOOK]
    return len(behind) > 1 and readable(behind[: len(behind) & ~1], _MARKS[data[at : at + 2]])


def _start(data: bytes, at: int) -> tuple[int, str]:
    """Return the beginning of a part in UTF-16 without a mark, and its codec, from the first four characters with zero
    bytes. The line break before it belongs to the part before; without one it is little-endian, as Windows writes
    it."""
    if not data[at]:  # a zero comes first: it is the second byte of a letter unless a line ends before it
        before = data[at - 1 : at]
        if not at or (before == b"\n" and data[at - 2 : at - 1] != b"\0"):
            return at, BIG
        return at - 1, LITTLE
    return (at + 1, BIG) if data[at] == 10 and data[at - 1 : at] not in (b"", b"\0") else (at, LITTLE)


def parts(pieces: Iterable[bytes], codec: str) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a text that comes in pieces, in order, as (codec, bytes): UTF-16 without marks, "" for the
    others. A part may come in several pieces, cut between characters or after a line. `codec` is that of the first
    part. If UTF-16 changes its byte order every few letters, the rest is one part (`_in_one_order`)."""
    data = b""
    changes = size = wanted = 0
    slices = _with_last(piece[at : at + _SLICE] for piece in pieces for at in range(0, len(piece), _SLICE))
    for piece, final in slices:
        data += piece
        if len(data) < wanted and not final:
            continue
        while data:
            if changes == _MANY_CHANGES and codec:
                if size < _MANY_CHANGES * _FEW_BYTES:
                    yield from _in_one_order(chain((data,), (more for more, _ in slices)), codec)
                    return
                changes = size = 0
            used, part, following = _wide(data, codec, final) if codec else _narrow(data, final)
            if part:
                yield codec, part
            held = codec == following and used < len(data)
            changes += codec != following and changes < _MANY_CHANGES
            size += used
            data, codec = data[used:], following
            wanted = 2 * len(data) if held else 0  # so that held bytes are not examined again for every piece
            if held:
                break
        if final and data:
            yield codec, data


def _in_one_order(pieces: Iterable[bytes], codec: str) -> Iterator[tuple[str, bytes]]:
    """Yield each piece in this byte order, with ASCII characters that are in the other order swapped. Characters of
    other scripts in the other order come out as other characters."""
    decode = codecs.getincrementaldecoder(codec)("replace").decode
    for piece in pieces:
        yield codec, decode(piece).translate(_TURNED).encode(codec)


def _with_last(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each piece, and whether it is the last."""
    rest = iter(pieces)
    piece = next(rest, b"")
    for following in rest:
        yield piece, False
        piece = following
    yield piece, True


def _narrow(data: bytes, final: bool) -> tuple[int, bytes, str]:
    """Return how many bytes are used, the text bytes among them, and the codec of the part that follows."""
    if (found := first_wide(data)) is not None:
        at, codec = found
        return at + 2 * (data[at : at + 2] in _MARKS), data[:at], codec
    end = len(data) if final or len(data) > _MOST_HELD else data.rfind(b"\n") + 1
    return end, data[:end], ""


def _wide(data: bytes, codec: str, final: bool) -> tuple[int, bytes, str]:
    """Return the same for a part in UTF-16."""
    decode = codecs.utf_16_le_decode if codec == LITTLE else codecs.utf_16_be_decode
    text, even = decode(data, "replace", final)
    even &= ~1
    whole = data if final and data[even:].strip(_PADDING) else data[:even]  # half a character becomes U+FFFD
    if text.isascii():  # the usual case, and much faster to check
        return even if not final else len(data), whole, codec
    latin = not data[codec == LITTLE : even : 2].strip(b"\0")
    other = BIG if codec == LITTLE else LITTLE
    turned = None
    mark_at = _other_mark(data, even, codec)
    if not latin:
        turned = _turned(data[:even], codec, final)
        end = _after_last_line(data, even, codec)
        decided = final or turned is not None or mark_at is not None
        even = even if decided or len(data) - end > _MOST_HELD else end
    ends = [at for at in (mark_at, turned) if at is not None]
    for run in () if latin else _RUN.finditer(data):
        begin = run.start() + (run.start() & 1)
        if ends and begin > min(ends):
            break
        if run.end() == len(data) and not final and len(data) - begin < _MOST_HELD:
            even = min(even, begin)
            break
        # In little-endian order the last byte before a zero is a letter of the next part.
        stop = run.end() - (run.end() < len(data) and codec == LITTLE)
        mark = _MARK.search(data, begin, run.end())
        stop = stop if mark is None else mark.start()
        line = begin == 0 or data[begin - 2 : begin] in (b"\n\0", b"\0\n")
        if stop > begin and _is_narrow(data[begin:stop], codec, line, run.end() == len(data), mark is not None):
            return begin, data[:begin], ""
    if mark_at is not None and mark_at == min(ends):
        return mark_at + 2, data[:mark_at], other
    if turned is not None:
        return turned, data[:turned], other
    return even if not final else len(data), whole if final else data[:even], codec


def _other_mark(data: bytes, end: int, codec: str) -> int | None:
    """Return the position of a mark of the other byte order; None if there is none."""
    mark = "\ufffe".encode(codec)
    at = data.find(mark, 0, end)
    while at & 1 and at > 0:
        at = data.find(mark, at + 1, end)
    return at if at >= 0 else None


def _after_last_line(data: bytes, end: int, codec: str) -> int:
    """Return the position of the text after the last whole line."""
    line = "\n".encode(codec)
    at = data.rfind(line, 0, end)
    while at > 0 and at & 1:
        at = data.rfind(line, 0, at + 1)
    return at + 2 if at >= 0 else 0


def _turned(data: bytes, codec: str, final: bool) -> int | None:
    """Return the position of the first line in the other byte order, or of the part of a line whose letters are; None
    if there is none. The last line may have no end: then most of its letters have a zero byte where this order has
    none."""
    zero = int(codec == LITTLE)  # of a letter's two bytes the one that is zero in Latin text
    try:
        at = 2 * array("H", data).index(int.from_bytes("\u0a00".encode(codec), sys.byteorder))
    except ValueError:
        begin = _after_last_line(data, len(data), codec)
        own, others = data[begin + zero :: 2].count(0), data[begin + 1 - zero :: 2].count(0)
        if not final or own or others < _FEWEST_TURNED or 4 * others < len(data) - begin:
            return None
        return begin
    begin = _after_last_line(data, at, codec)
    lane = data[begin + zero : at : 2]
    latin = len(lane) - len(lane.lstrip(b"\0"))
    return begin + 2 * latin if latin >= _FEWEST_TURNED else begin


def _is_narrow(data: bytes, codec: str, line: bool, last: bool, marked: bool) -> bool:
    """Return whether bytes without zeros are text that is not UTF-16. `line`: they are at the start of a line; `last`:
    they are at the end of the text; `marked`: a mark follows."""
    if len(data) < _SHORT and not (line and b"\n" in data):
        return False
    ended = b"\n" in data or last or data.endswith(b"\r")  # its line feed was taken for a letter of the next part
    if not ended or len(data.translate(None, _CONTROLS)) != len(data):
        return False
    if len(set(data[::2])) == 1 or len(set(data[1::2])) == 1:  # one row of characters, as of Devanagari
        return False
    # Half of the bytes of Chinese in UTF-16 are ASCII too, and those of U+4E0A end a line: words in ASCII have other letters.
    ascii_bytes = sum(byte < 0x80 for byte in data)
    common = len(data) - len(data.translate(None, _COMMON))
    latin = marked or (common >= _COMMON_SHARE * ascii_bytes and not _LONE_RETURN.search(data))
    if 2 * ascii_bytes >= len(data) and not latin:
        return False
    try:
        codecs.utf_8_decode(data, "strict", len(data) < _MOST_HELD)
    except UnicodeDecodeError:
        if ascii_bytes >= _ASCII * len(data) and b" " in data[:_SHORT]:
            return True
        text = data.decode(codec, "replace")  # letters of other charsets are halves and private characters of UTF-16
        return _ODD_SHARE * len(text) <= sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" for c in text)
    return True

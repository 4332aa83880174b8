"""Files that old mail programs and newsreaders put into the text itself: uuencode (POSIX 1003.1, its base64 form too),
yEnc (draft 1.3) and BinHex 4.0 (RFC 1741). A file without its last line is read up to its last valid line, and reported
as damaged."""

from __future__ import annotations

import binascii
import re
import zlib
from collections.abc import Callable
from typing import NamedTuple

from readers.mail.base64 import from_base64

# Transfer encodings of the parts that such files become.
UUENCODE, YENC, BINHEX = b"x-uuencode", b"x-yenc", b"x-binhex"
_QUOTE = rb"(?P<quote>(?:[>|][ \t]?){0,10})"  # quotation marks, if the file is quoted in an answer
_UU_BEGIN = re.compile(rb"^%bbegin(?P<base64>-base64)? [0-7]{3,6}(?: (?P<name>.{0,255}?))?\r?\n" % _QUOTE, re.MULTILINE)
_Y_BEGIN = re.compile(rb"^=ybegin [^\r\n]{0,500}? ?name=(?P<name>[^\r\n]{1,255})\r?\n", re.MULTILINE)
_Y_END = re.compile(rb"^=yend [^\r\n]*\r?(?:\n|\Z)", re.MULTILINE)
_Y_FIGURE = re.compile(rb" (size|part|total|crc32|pcrc32)=([0-9A-Fa-f]{1,18})")
_HQX_BEGIN = re.compile(
    rb"^%b\(This file must be converted with BinHex[^\r\n]{0,20}\)[^\r\n]{0,20}\r?\n(?:[>| \t]*\r?\n){0,5}[>| \t]*:"
    % _QUOTE,
    re.MULTILINE | re.IGNORECASE,
)
_HQX_END = re.compile(rb":[ \t]*\r?(?:\n|\Z)")
_HQX_ALPHABET = b"!\"#$%&'()" + b"*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr"
_AS_BASE64 = bytes.maketrans(_HQX_ALPHABET, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_NOT_HQX = bytes(c for c in range(256) if c not in _HQX_ALPHABET)
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]{1,100}={0,2}")
_UU_CHARACTERS = bytes(range(32, 97))
_MAX_FILES = 1_000
# Full lines. It begins with a character, which makes the search much faster than `find` with two characters.
_PIECE = re.compile(rb"M(?<=\nM)[ -`]{60}(?:\r?\nM[ -`]{60}){3}(?=\r?\n)")
_BEGIN, _BINHEX = re.compile(rb"begin"), re.compile(rb"B(?=inHex)")  # the same
_MOST_UNPACKED = 1 << 28  # bytes
_MINUS_42 = bytes((c - 42) & 0xFF for c in range(256))
_NO_HEADER = "its BinHex has no header"
_NO_END = "it has no last line, so something may be missing"


class Inline(NamedTuple):
    """Position of a file, its first and last lines included."""

    start: int
    end: int
    name: bytes
    encoding: bytes


def inline_files(data: bytes, start: int, end: int) -> list[Inline]:
    """Return the files in this range of a text in order."""
    kinds: list[_Next] = []
    if _BEGIN.search(data, start, end):
        kinds += (_next_uuencoded, _next_yenc)
    if _BINHEX.search(data, start, end):
        kinds.append(_next_binhex)
    out: list[Inline] = []
    if not kinds:
        return out
    waiting = [(inline, kind) for kind in kinds if (inline := kind(data, start, end))]
    while waiting and len(out) < _MAX_FILES:
        first, kind = min(waiting, key=lambda pair: pair[0])
        waiting.remove((first, kind))
        at = out[-1].end if out else start
        if first.start >= at:
            out.append(first)
            at = first.end
        following = kind(data, at, end)
        waiting += [(following, kind)] if following else []
    return out


_Next = Callable[[bytes, int, int], Inline | None]


def _next_uuencoded(data: bytes, at: int, end: int) -> Inline | None:
    """Return the first file that begins at `at` or later. Its last line is searched up to the next file."""
    begin = _UU_BEGIN.search(data, at, end)
    while begin is not None:
        following = _UU_BEGIN.search(data, begin.end(), end)
        stop = following.start() if following else end
        if (last := _end_of_uu(data, begin, stop)) is not None:
            return Inline(begin.start(), last, (begin["name"] or b"").strip(), UUENCODE)
        begin = following
    return None


def _end_of_uu(data: bytes, begin: re.Match[bytes], stop: int) -> int | None:
    """Return the file's end: after its last line, else after lines that can belong to it; else None."""
    quote, at = begin["quote"].rstrip(), begin.end()
    if not _line_fits(data, at, stop, begin):
        return None
    last = rb"={4,}" if begin["base64"] else b"end"
    closing = re.compile(rb"^%b[ \t]*%b[ \t]*\r?(?:\n|\Z)" % (re.escape(quote), last), re.MULTILINE)
    if (found := closing.search(data, at, stop)) is not None:
        return found.end()
    first = at
    while at < stop and _line_fits(data, at, stop, begin, strict=True):
        last_line = _unquoted(data[at : data.find(b"\n", at, stop) + 1 or stop], begin["quote"]).strip()
        at = data.find(b"\n", at, stop) + 1 or stop
        if last_line in (b"", b"`"):  # no bytes: the last line but `end`
            break
    return at if at > first else None


def _line_fits(data: bytes, at: int, stop: int, begin: re.Match[bytes], *, strict: bool = False) -> bool:
    """Return whether the line at `at` can belong to the file that begins so."""
    line_end = data.find(b"\n", at, stop)
    line = _unquoted(data[at : line_end if line_end >= 0 else stop], begin["quote"])
    if begin["base64"]:
        return _BASE64_LINE.fullmatch(line.strip()) is not None or (not strict and line.startswith(b"===="))
    if not line and strict:
        return False
    if not line:  # an empty file, whose blank was trimmed
        return data.startswith(b"end", line_end + 1)
    return _is_uu_line(line) and not (strict and line.translate(None, _UU_CHARACTERS))


def is_piece_of_file(data: bytes, start: int, end: int) -> bool:
    """Return whether lines of uuencode are in this range of a text: of a file that was sent in several messages."""
    return _PIECE.search(data, start, end) is not None


def _is_uu_line(line: bytes) -> bool:
    """Return whether a line's first character fits its length (some encoders drop final blanks, some add one)."""
    if not line or not 32 <= line[0] <= 96:
        return False
    wanted = -(-((line[0] - 32) & 63) // 3) * 4 + 1
    return wanted - 3 <= len(line) <= wanted + 2


def _unquoted(line: bytes, quote: bytes) -> bytes:
    """Return a line without its line end and its quotation marks."""
    line = line.rstrip(b"\r\n")
    if quote:
        line = line[len(quote) :] if line.startswith(quote) else line.removeprefix(quote.rstrip())
    return line


def _next_yenc(data: bytes, at: int, end: int) -> Inline | None:
    begin = _Y_BEGIN.search(data, at, end)
    if begin is None:
        return None
    following = _Y_BEGIN.search(data, begin.end(), end)
    stop = following.start() if following else end
    closing = _Y_END.search(data, begin.end(), stop)
    return Inline(begin.start(), closing.end() if closing else stop, begin["name"].strip(), YENC)


def _next_binhex(data: bytes, at: int, end: int) -> Inline | None:
    begin = _HQX_BEGIN.search(data, at, end)
    while begin is not None:
        following = _HQX_BEGIN.search(data, begin.end(), end)
        stop = following.start() if following else end
        closing = _HQX_END.search(data, begin.end(), stop)
        stop = closing.end() if closing else stop
        name, _, damage = _binhex(data[begin.start() : stop])
        if damage != _NO_HEADER:
            return Inline(begin.start(), stop, name, BINHEX)
        begin = following
    return None


def decode_uu(raw: bytes) -> tuple[bytes, str | None]:
    """Decode uuencode: the lines between `begin` and `end`, all lines if there is no `begin`; return also the damage.
    Lines that are too long are cut to the length that they give."""
    begin = _UU_BEGIN.search(raw)
    lines = raw[begin.end() if begin else 0 :].splitlines()
    quote = begin["quote"] if begin else b""
    if begin is None and not (lines and any(map(_is_uu_line, lines[:2]))):
        return raw, "it is declared as uuencoded, but is not"
    lines = [_unquoted(line, quote) for line in lines]
    if begin is not None and begin["base64"]:
        rest = next((at for at, line in enumerate(lines) if line.startswith(b"====")), None)
        return from_base64(b"".join(lines[:rest])), None if rest is not None else _NO_END
    out: list[bytes] = []
    ended = False
    for line in lines:
        if line.strip() == b"end":
            ended = True
            break
        ended = line in (b"`", b" ")  # no bytes: the last line but `end`
        if line and (piece := _uu_line(line)) is not None:
            out.append(piece)
    return b"".join(out), None if ended else _NO_END


def _uu_line(line: bytes) -> bytes | None:
    """Decode a line; return None if it is not uuencode."""
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        wanted = (((line[0] - 32) & 63) * 4 + 5) // 3
    try:
        return binascii.a2b_uu(line[:wanted])
    except binascii.Error:
        return None


def decode_yenc(raw: bytes) -> tuple[bytes, str | None]:
    """Decode the bytes between the lines that begin with `=y`: each is increased by 42 modulo 256, and `=` marks one
    that is increased by 64 more. Return also contradictions between these lines and the bytes."""
    rows = raw.replace(b"\r\n", b"\n").split(b"\n")
    lines = [line for line in rows if not line.startswith(b"=y")]
    pieces = b"".join(line[1:] if line.startswith(b"..") else line for line in lines).split(b"=")
    out = [pieces[0]]
    for piece in pieces[1:]:
        out.append(bytes(((piece[0] - 64) & 0xFF,)) + piece[1:] if piece else b"")
    data = b"".join(out).translate(_MINUS_42)
    return data, _yenc_damage(data, rows)


def _yenc_damage(data: bytes, rows: list[bytes]) -> str | None:
    begin = dict(
        _Y_FIGURE.findall(next((row for row in rows if row.startswith(b"=ybegin ")), b"").partition(b"name=")[0])
    )
    last = next((row for row in reversed(rows) if row.startswith(b"=yend ")), None)
    if last is None:
        return _NO_END
    end = dict(_Y_FIGURE.findall(last))
    if b"part" in begin and (begin[b"part"], begin.get(b"total")) != (b"1", b"1"):
        total = begin.get(b"total", b"?").decode()
        return f"it is part {begin[b'part'].decode()} of {total} of a file"
    if (size := end.get(b"size", b"")).isdigit() and int(size) != len(data):
        return f"it has {len(data)} of {int(size)} bytes"
    checksum = end.get(b"pcrc32") or end.get(b"crc32")
    return "its checksum is wrong" if checksum and int(checksum, 16) & 0xFFFFFFFF != zlib.crc32(data) else None


def decode_binhex(raw: bytes) -> tuple[bytes, str | None]:
    """Return the data fork of a BinHex 4.0 file, and the damage."""
    return _binhex(raw)[1:]


def _binhex(raw: bytes) -> tuple[bytes, bytes, str | None]:
    """Return name, data fork and damage (RFC 1741, appendix A): characters of six bits, runs, then a header and two
    forks, each with its checksum."""
    begin = _HQX_BEGIN.search(raw)
    _, colon, packed = (b"", b":", raw[begin.end() :]) if begin else raw.partition(b":")
    packed, closing, _ = packed.partition(b":")
    if not colon:
        return b"", raw, "it is declared as BinHex, but is not"
    unpacked = _without_runs(from_base64(packed.translate(None, _NOT_HQX).translate(_AS_BASE64)))
    length = unpacked[0] if unpacked else 0
    header = 1 + length + 1 + 4 + 4 + 2  # name, its NUL, type, creator, flags
    name = unpacked[1 : 1 + length]
    if len(unpacked) < header + 10 or not 0 < length < 64:
        return name, raw, _NO_HEADER
    size = int.from_bytes(unpacked[header : header + 4], "big")
    at = header + 10  # both sizes, the checksum of the header
    data = unpacked[at : at + size]
    checksum = unpacked[at + size : at + size + 2]
    if len(data) < size:
        return name, data, f"its BinHex ends after {len(data)} of {size} bytes"
    if len(checksum) == 2 and binascii.crc_hqx(data, 0) != int.from_bytes(checksum, "big"):
        return name, data, "the checksum of its BinHex is wrong"
    return name, data, None if closing else _NO_END


def _without_runs(data: bytes) -> bytes:
    """Expand runs: a byte, 0x90 and a count repeat that byte; a count of zero is 0x90 itself."""
    out = bytearray()
    at = 0
    while (mark := data.find(b"\x90", at)) >= 0 and mark + 1 < len(data) and len(out) < _MOST_UNPACKED:
        out += data[at:mark]
        count = data[mark + 1]
        if count == 0:
            out.append(0x90)
        elif out:
            out += bytes((out[-1],)) * (count - 1)
        at = mark + 2
    return bytes(out + data[at:])

"""Files that old mail programs and newsreaders put into the text itself: uuencode (POSIX 1003.1) and yEnc (draft 1.3)."""

from __future__ import annotations

import re
from typing import NamedTuple

UUENCODE, YENC = b"x-uuencode", b"x-yenc"  # as the transfer encoding of the part that such a file becomes
_UU_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\r\n]{1,255})\r?\n([^\r\n]*)\r?\n", re.MULTILINE)
_UU_END = re.compile(rb"^(?:`|[ ])?\r?\n?^end[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_Y_BEGIN = re.compile(rb"^=ybegin [^\r\n]{0,500}? ?name=([^\r\n]{1,255})\r?\n", re.MULTILINE)
_Y_END = re.compile(rb"^=yend [^\r\n]*\r?(?:\n|\Z)", re.MULTILINE)
_MAX_FILES = 1_000
_MINUS_42 = bytes((c - 42) & 0xFF for c in range(256))


class Inline(NamedTuple):
    """Where a file lies, its first and last lines included."""

    start: int
    end: int
    name: bytes
    encoding: bytes


def inline_files(data: bytes, start: int, end: int) -> list[Inline]:
    """The files in this range of a text in order; one without its last line is left in the text."""
    if data.find(b"begin ", start, end) < 0:
        return []
    out: list[Inline] = []
    ends: dict[bytes, int] = {}
    waiting = [inline for kind in (UUENCODE, YENC) if (inline := _next(data, start, end, kind, ends))]
    while waiting and len(out) < _MAX_FILES:
        first = min(waiting)
        waiting.remove(first)
        at = out[-1].end if out else start
        if first.start >= at:
            out.append(first)
            at = first.end
        following = _next(data, at, end, first.encoding, ends)
        waiting += [following] if following else []
    return out


def _next(data: bytes, at: int, end: int, encoding: bytes, ends: dict[bytes, int]) -> Inline | None:
    """The first file in this encoding that begins at `at` or later. `ends` keeps where the last line that was found
    begins, for it may be the last line of all that begin before it."""
    pattern, stop = (_UU_BEGIN, _UU_END) if encoding == UUENCODE else (_Y_BEGIN, _Y_END)
    begin = pattern.search(data, at, end)
    while begin is not None and encoding == UUENCODE and not _is_uu_line(begin[2]):
        begin = pattern.search(data, begin.start() + 1, end)
    if begin is None:
        return None
    behind = begin.start(2) if encoding == UUENCODE else begin.end()
    closing = stop.search(data, max(behind, ends.get(encoding, 0)), end)
    ends[encoding] = closing.start() if closing else end
    return Inline(begin.start(), closing.end(), begin[1].strip(), encoding) if closing else None


def _is_uu_line(line: bytes) -> bool:
    """Whether a line's first character fits its length (some encoders drop blanks at the end, some add one more)."""
    if not line or not 32 <= line[0] <= 96:
        return False
    wanted = -(-((line[0] - 32) & 63) // 3) * 4 + 1
    return wanted - 3 <= len(line) <= wanted + 2


def decode_yenc(raw: bytes) -> bytes:
    """The bytes between the lines that begin with `=y`: each is 42 more than it should be, modulo 256, and `=` marks
    one that is 64 more again."""
    lines = [line for line in raw.replace(b"\r\n", b"\n").split(b"\n") if not line.startswith(b"=y")]
    pieces = b"".join(line[1:] if line.startswith(b"..") else line for line in lines).split(b"=")
    out = [pieces[0]]
    for piece in pieces[1:]:
        out.append(bytes(((piece[0] - 64) & 0xFF,)) + piece[1:] if piece else b"")
    return b"".join(out).translate(_MINUS_42)

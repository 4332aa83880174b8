"""Positions of the parts of a multipart (RFC 2046, 5.1): between its delimiter lines, by the declared boundary, else by
the one that the lines themselves show."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

_DELIMITER_REST = re.compile(rb"(--)?[ \t\v\f\0]*\r?(?:\n|\Z)")
# A line that begins like a delimiter, before a field or a blank line.
_LIKELY = re.compile(rb"^--([^\s][^\r\n]{0,199}?)[ \t]*\r?\n(?=[!-9;-~]{1,76}[ \t]*:|\r?\n)", re.MULTILINE)
_CONTENT_FIELD = re.compile(rb"content-[a-z]+[ \t]*:", re.IGNORECASE)
_PREAMBLE = re.compile(rb"\s*(?:This is an? [^\r\n]{0,60}(?:message|mail)[^\r\n]{0,60}\s*)?(?=--)", re.IGNORECASE)
_MOST_LIKELY = 20  # lines that are examined


class Ranges(NamedTuple):
    """Positions of the parts; whether the closing delimiter exists, or they end before it; whether there is any
    delimiter; the position after the last closing delimiter."""

    parts: list[tuple[int, int]]
    closed: bool
    seen: bool
    after: int = -1


def ranges(data: bytes, start: int, end: int, boundary: bytes, most: int) -> Ranges:
    """Return the ranges between the delimiter lines, at most `most`. Some programs give a multipart the boundary of the
    one around it: parts after a closing delimiter count as parts."""
    delimiter = b"--" + boundary
    parts: list[tuple[int, int]] = []
    opened = behind = -1
    closed = False
    at = start
    while (at := data.find(delimiter, at, end)) >= 0:
        if at != start and data[at - 1] != 10:
            at += len(delimiter)
            continue
        rest = _DELIMITER_REST.match(data, at + len(delimiter), end)
        if rest is None:
            at += len(delimiter)
            continue
        if opened >= 0:
            parts.append((opened, max(opened, _before_newline(data, at))))
            if len(parts) > most:
                return Ranges(parts, closed=True, seen=True)
        closed = rest[1] is not None
        at = behind = rest.end()
        opened = -1 if closed else at
    if opened >= 0:
        parts.append((opened, end))
    return Ranges(parts, closed, closed or opened >= 0, behind if closed else -1)


def _before_newline(data: bytes, at: int) -> int:
    """Return the position of the newline before a delimiter, which belongs to the delimiter."""
    if at >= 2 and data[at - 2] == 13:
        return at - 2
    return at - 1


def likely_boundary(data: bytes, start: int, end: int) -> bytes:
    """Return the boundary that the lines show: the first line that begins with two dashes, before fields of a part, or
    with a matching closing delimiter; b"" if there is none."""
    for line in islice(_LIKELY.finditer(data, start, end), _MOST_LIKELY):
        boundary = line[1]
        if boundary.endswith(b"--"):
            continue
        if _CONTENT_FIELD.match(data, line.end(), end):
            return boundary
        if boundary.strip(b"-=_* ") and data.find(b"\n--%b--" % boundary, line.end() - 1, end) >= 0:
            return boundary
    return b""


def unlabelled_boundary(data: bytes, start: int, end: int) -> bytes:
    """Return the boundary of a text that is a multipart without its header: it begins with a delimiter line before
    fields that only parts have; b"" for any other text."""
    begin = _PREAMBLE.match(data, start, end)
    line = _LIKELY.match(data, begin.end(), end) if begin else None
    return line[1] if line is not None and _CONTENT_FIELD.match(data, line.end(), end) else b""

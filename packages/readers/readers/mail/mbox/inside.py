"""Where a message in an mbox ends according to its header, so that a From_ line inside it does not begin another
message: mail with patches attached, stores that quote nothing (mboxcl2)."""

from __future__ import annotations

import re
from typing import NamedTuple

from readers.mail.mbox.from_line import starts_message

HEADER = 1 << 14  # bytes of a header that are looked at
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_BOUNDARY = re.compile(rb"oundary[ \t]*=[ \t]*(?:\"([^\"\r\n]{1,200})\"|([^\s;\"]{1,200}))")
_DECLARED = re.compile(rb"boundary[^\n]{0,20}\Z", re.IGNORECASE)
_NAMED = 30  # bytes in front of a boundary in which it is declared


class Claims(NamedTuple):
    """How long the message is from its From_ line on, by its Content-Length; the boundary of its multipart; where its body is."""

    length: int | None
    boundary: bytes
    body: int


def claims_of(window: bytes, at: int) -> Claims | None:
    """The claims about its end of the message whose From_ line is at `at`; None for most messages."""
    limit = at + HEADER
    end = window.find(b"\n\n", at, limit)
    other = window.find(b"\n\r\n", at, limit if end < 0 else end)
    if end < 0 and other < 0:
        return None
    body = other + 3 if other >= 0 else end + 2
    multipart, length = window.find(b"ultipart/", at, body), window.find(b"ength:", at, body)
    declared = _BOUNDARY.search(window, multipart, body) if multipart >= 0 else None
    announced = _LENGTH.search(window, at, body) if length >= 0 else None
    if declared is None and announced is None:
        return None
    boundary = (declared[1] or declared[2]).rstrip() if declared else b""
    return Claims(body - at + int(announced[1]) if announced else None, boundary, body - at)


def ends_at(around: bytes) -> bool:
    """Whether a message ends behind the first of these bytes."""
    rest = around.lstrip(b"\r\n")
    blank = around[: len(around) - len(rest)]
    return b"\n" in blank and (not rest or starts_message(rest, 0, after_blank=True))


def is_open(window: bytes, boundary: bytes, begin: int, end: int) -> bool:
    """Whether the multipart is opened in this range, and not closed."""
    delimiter = b"\n--" + boundary
    return window.rfind(delimiter + b"--", begin, end) < 0 and window.find(delimiter, begin, end) >= 0


def next_delimiter(window: bytes, boundary: bytes, at: int, end: int) -> int:
    """Where a delimiter follows, or -1; not where the boundary is declared before: that is another copy of the message."""
    while (at := window.find(boundary, at, end)) >= 0:
        if window.startswith(b"\n--", at - 3):
            return at
        if _DECLARED.search(window, max(0, at - _NAMED), at):
            return -1
        at += len(boundary)
    return -1

"""The lines of a header: fields, and other lines among them.

Gateways write names with blanks in them, programs wrap a line without a blank, mail stores insert `>From ` into a
header. The header continues after such a line if fields of mail systems follow before the first blank line; else the
line is text of a message that lacks a blank line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

# Comments in the values of header fields (RFC 5322, 3.2.2): text in parentheses, one inside another, outside of
# quoted strings.

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[()]|[^"\\()]+|["\\]', re.DOTALL)


def without_comments(value: str) -> str:
    """Return the value with a blank in place of each comment. A parenthesis that is never closed is no comment."""
    out: list[str] = []
    inside: list[int] = []  # index of the piece of each open parenthesis
    for piece in _PIECE.finditer(value):
        text = piece[0]
        out.append(text)
        if text == "(":
            inside.append(len(out) - 1)
        elif text == ")" and inside:
            del out[inside.pop() :]
            out.append(" ")
    return "".join(out)


# A field with its continuation lines: they begin with a blank, or with an encoded word if a program omitted the blank
_FIELD = re.compile(rb"([!-9;-~]++)[ \t]*+:([^\n]*+(?:\n(?:[ \t]|=\?)[^\n]*+|(?!))*+)\n?")
_AT_ONCE = 100  # fields
_FIELDS = re.compile(rb"(?:[!-9;-~]++[ \t]*+:[^\n]*+(?:\n(?:[ \t]|=\?)[^\n]*+|(?!))*+\n?){1,%d}" % _AT_ONCE)
_CONTINUED = re.compile(rb"[ \t][^\n]*\n?")
_FROM_LINE = re.compile(rb">?From ")
# Fields that begin no line of a letter, nor of a header quoted in one: a letter may have `Received: 5 boxes`.
_FOLLOWS = re.compile(
    rb"^(?:content-(?:type|transfer-encoding|disposition|id)[ \t]*:[ \t]*[!-~]|mime-version[ \t]*:[ \t]*1\."
    rb"|(?:message-id|return-path|in-reply-to|references)[ \t]*:\s{0,80}<|received[ \t]*:\s{0,80}(?:from|by|\()[ \t\r\n]"
    rb"|(?:dkim-signature|x-mailer|user-agent|thread-index|x-originating-ip)[ \t]*:|delivered-to[ \t]*:[^\n]{0,999}@)",
    re.IGNORECASE | re.MULTILINE,
)
_FROM_LINES = re.compile(rb">?From [^\n]*+\n(?=(?:>?From |[!-9;-~]++[ \t]*+:))")
# Among fields, where a letter's first line may begin so: with the sender and a day.
_STORES = re.compile(
    rb">?From [^\s]++ +[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [^\n]*+\n(?=(?:>?From |[!-9;-~]++[ \t]*+:))"
)
_SPACED_NAME = rb"[A-Z][!-9;-~]*+(?: {1,2}[!-9;-~]++){1,3}?[ \t]*+"
_SPACED = re.compile(rb"(%b):([^\n]*+)" % _SPACED_NAME)
_TO_THE_END = re.compile(rb"(?:(?:[ \t]|[!-9;-~]++[ \t]*+:|%b:)[^\n]*+\n|(?!))++\r*+\n" % _SPACED_NAME)
_BLANK_LINE = re.compile(rb"\n\r*+\n")
_LONGEST = 1 << 16  # bytes of a header after its first odd line
_MOST_ODD = 50  # lines of one header
_WRAPPED = frozenset((b"subject", b"from", b"to", b"cc", b"bcc", b"references", b"keywords", b"comments"))
_WITH_PARAMETERS = frozenset((b"content-type", b"content-disposition"))
# Fields without which the text below them is unreadable.
_UNREAD = re.compile(
    rb"^content-(?:transfer-encoding[ \t]*:[ \t]*(?:base64|quoted-printable)|type[ \t]*:[ \t]*multipart/)",
    re.IGNORECASE | re.MULTILINE,
)
_FRONT = 1 << 13  # bytes of a text in which such fields are searched
UNREAD = "it contains fields of its header"


class Header(Protocol):
    """Target of the fields."""

    odd_end: bool  # the header ends at a line that is neither blank nor a field

    def add(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Append fields: names and values as stored."""

    def wrap(self, name: bytes, line: bytes) -> None:
        """Append a line to the last field of this name (in lower case)."""

    def raw(self, name: bytes) -> bytes:
        """The first field of this name (in lower case)."""


def take_fields(header: Header, data: bytes, start: int, end: int) -> int:
    """Add the fields of the header that starts at `start`; return the start of the body."""
    at = _skip_continued(data, start, end)
    block = _FIELDS.match(data, at, end)
    if block is None and at == start and _FROM_LINE.match(data, at, end):
        at = _skip_continued(data, _behind_from(data, _next_line(data, at, end), end), end)
        block = _FIELDS.match(data, at, end)
    at, last = _take_blocks(header, data, at, end, block)
    if data.startswith(b"\n", at) and at < end:
        return at + 1
    after = _next_line(data, at, end)
    if not data[at:after].strip(b"\r\n"):
        return after
    return _behind_odd_lines(header, data, at, end, last) if last else at


def has_unread_fields(data: bytes, start: int, end: int) -> bool:
    """Return whether a text that begins here contains fields that determine how the rest is read."""
    return _UNREAD.search(data, start, min(end, start + _FRONT)) is not None


def _take_blocks(header: Header, data: bytes, at: int, end: int, block: re.Match[bytes] | None) -> tuple[int, bytes]:
    """Add the fields from this block on; return their end, and the name of the last in lower case."""
    last = b""
    while block is not None:
        pairs = _FIELD.findall(data, at, block.end())
        header.add(pairs)
        at, last = block.end(), pairs[-1][0]
        block = _FIELDS.match(data, at, end) if len(pairs) == _AT_ONCE else None
    return at, last.lower()


def _behind_odd_lines(header: Header, data: bytes, at: int, end: int, last: bytes) -> int:
    """Return the start of the body of a header with an odd line at `at`, after the field named `last`."""
    stop = _last_field(data, at, end)
    for _ in range(_MOST_ODD):
        after = _next_line(data, at, end)
        line = data[at:after].rstrip(b"\r\n")
        if not line:
            return after
        if (behind := _behind_from(data, at, end, _STORES)) == at:
            if at > stop and not _only_fields(header, data, at, end):
                break
            _take_odd(header, line, last)
            behind = after
        at, name = _take_blocks(header, data, behind, end, _FIELDS.match(data, behind, end))
        last = name or last
    header.odd_end = True
    return at


def _last_field(data: bytes, at: int, end: int) -> int:
    """Return the position of the last field of mail systems before the first blank line after an odd line; -1 if there
    is none."""
    end = min(end, at + _LONGEST)
    blank = _BLANK_LINE.search(data, at, end)
    last = -1
    for field in _FOLLOWS.finditer(data, at, blank.start() if blank else end):
        last = field.start()
    return last


def _only_fields(header: Header, data: bytes, at: int, end: int) -> bool:
    """Return whether there are only fields up to the blank line, if names may contain blanks, and the body is in
    base64, in which no such line can be."""
    encoded = header.raw(b"content-transfer-encoding").lower().startswith(b"base64")
    return encoded and _TO_THE_END.match(data, at, min(end, at + _LONGEST)) is not None


def _take_odd(header: Header, line: bytes, last: bytes) -> None:
    """Take a line that is no field: it has blanks in its name, or may belong to the value of the field before it."""
    if (own := _SPACED.match(line)) is not None:
        header.add(((own[1].rstrip(), own[2]),))
    elif last in _WRAPPED or (last in _WITH_PARAMETERS and b"=" in line):
        header.wrap(last, line)
    else:  # of no field; none of its words may be lost
        header.add(((b"Comments", line),))


def _behind_from(data: bytes, at: int, end: int, lines: re.Pattern[bytes] = _FROM_LINES) -> int:
    """Skip `From ` lines of a mail store, quoted or not, that a field follows."""
    while (line := lines.match(data, at, end)) is not None:
        at = line.end()
    return at


def _skip_continued(data: bytes, at: int, end: int) -> int:
    """Skip lines that continue a missing field."""
    if not data.startswith((b" ", b"\t"), at):
        return at
    while (line := _CONTINUED.match(data, at, end)) is not None:
        at = line.end()
    return at


def _next_line(data: bytes, at: int, end: int) -> int:
    return data.find(b"\n", at, end) + 1 or end

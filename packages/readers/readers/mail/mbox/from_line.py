"""The From_ line that starts a message in an mbox (RFC 4155), read as leniently as real mail stores need."""

from __future__ import annotations

import re

_TIME = re.compile(rb"(?<![\d:])\d{1,2}:\d\d(?::\d\d)?(?![\d:])")
_YEAR = re.compile(rb"(?<![\d.])(?:19|20)\d\d(?!\d)")
_USUAL = re.compile(
    rb"From \S{1,300} +[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:19|20)\d\d[ \t]*\r?(?:\n|\Z)"
)  # as asctime writes it
_ZONES = rb"(?:\s+(?:[A-Z]{1,5}|[+-]\d{4})(?!\S))*"
# A sender, which may contain blanks, and a date of asctime or of a Date field; the group is the rest of the line.
_DATED = re.compile(
    rb"(?:\S.{0,300}?\s+)?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\s+)?"
    rb"(?:%b\s+\d{1,2}|\d{1,2}[\s-]%b),?[\s-]+(?:%b%b,?\s+%b|%b,?\s+%b)%b\s*(.*)"
    % (*[rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"] * 2, _TIME.pattern, _ZONES, _YEAR.pattern, _YEAR.pattern, _TIME.pattern, _ZONES),
    re.DOTALL,
)  # fmt: skip
_BEHIND = re.compile(rb"(?:remote from \S+|\([^()]*\))?\s*")
_ADDRESS_ONLY = re.compile(rb"\S[^\s@]*+@\S+|-|\?\?\?@\?\?\?|MAILER-DAEMON")
_KNOWN_FIELD = re.compile(
    rb"(?:received|return-path|message-id|mime-version|delivered-to|from|to|date|subject|x-[!-9;-~]+|status|content-type)"
    rb"[ \t]*:",
    re.IGNORECASE,
)
_TWO_FIELDS = re.compile(rb"(?:>?[!-9;-~]{1,76}[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*){2}")
MAX_FROM_LINE = 1024  # a longer line is body text
LOOK_AHEAD = 2 * MAX_FROM_LINE  # bytes after the start of a From_ line that decide what it is


def starts_message(data: bytes, at: int, *, after_blank: bool) -> bool:
    """Return whether the line at `at` is a From_ line. `data` has LOOK_AHEAD bytes more, or all that exist.

    After a blank line (or at the start) it must be `From `, a sender and a date as in RFC 4155, followed by nothing but
    zones. Any other line with a time or a year, or with only a sender, counts if a header follows: a well-known field,
    or two of any name. Without a blank line before it, which some programs omit, it needs only a sender or time and
    year, and a well-known field next."""
    if not data.startswith(b"From ", at):
        return False
    if after_blank and _USUAL.match(data, at):
        return True
    end = data.find(b"\n", at, at + MAX_FROM_LINE)
    if end < 0:
        if len(data) - at > MAX_FROM_LINE:
            return False
        end = len(data)
    rest = data[at + 5 : end].strip()
    sender_alone = _ADDRESS_ONLY.fullmatch(rest) is not None
    has_time, has_year = _TIME.search(rest) is not None, _YEAR.search(rest) is not None
    if not after_blank:
        return (sender_alone or (has_time and has_year)) and _KNOWN_FIELD.match(data, end + 1) is not None
    dated = _DATED.fullmatch(rest) if has_time and has_year else None
    if dated is not None:
        return _BEHIND.fullmatch(dated[1]) is not None or _TWO_FIELDS.match(data, end + 1) is not None
    if not rest:  # as current versions of Thunderbird write it
        return _TWO_FIELDS.match(data, end + 1) is not None and _KNOWN_FIELD.match(data, end + 1) is not None
    if not sender_alone and not ((has_time or has_year) and b" " in rest):
        return False
    return _KNOWN_FIELD.match(data, end + 1) is not None or _TWO_FIELDS.match(data, end + 1) is not None


def is_quoted(head: bytes) -> bool:
    """Return whether the first From_ line of a store is quoted: `>From `."""
    first = head[:512].lstrip(b"\xef\xbb\xbf\r\n")
    return first.startswith(b">From ") and starts_message(head, len(head[:512]) - len(first) + 1, after_blank=True)

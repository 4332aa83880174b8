"""The From_ line that starts a message in an mbox (RFC 4155), read as leniently as real mail stores need."""

from __future__ import annotations

import re

_TIME = re.compile(rb"(?<![\d:])\d{1,2}:\d\d(?::\d\d)?(?![\d:])")
_YEAR = re.compile(rb"(?<![\d.])(?:19|20)\d\d(?!\d)")
_ADDRESS_ONLY = re.compile(rb"\S[^\s@]*+@\S+|-|\?\?\?@\?\?\?|MAILER-DAEMON")
_FIELD = re.compile(rb">?[!-9;-~]{1,76}[ \t]*:")
_KNOWN_FIELD = re.compile(
    rb"(?:received|return-path|message-id|mime-version|delivered-to|from|to|date|subject|x-[!-9;-~]+|status|content-type)"
    rb"[ \t]*:",
    re.IGNORECASE,
)
MAX_FROM_LINE = 1024  # a longer line is body text
LOOK_AHEAD = 2 * MAX_FROM_LINE  # bytes after the first of a From_ line that settle what it is


def starts_message(data: bytes, at: int, *, after_blank: bool) -> bool:
    """Whether the line at `at` is a From_ line. `data` holds LOOK_AHEAD bytes more, or all there are.

    After a blank line (or at the start) it must be `From ` and a sender with a time and a year, or only a sender;
    a time or a year alone ("From January 2019 on …") counts if a header field follows. Without a blank line before
    it, which some writers forget, it needs all of it: a sender alone or time and year, and a well-known field next.
    """
    if not data.startswith(b"From ", at):
        return False
    end = data.find(b"\n", at, at + MAX_FROM_LINE)
    if end < 0:
        if len(data) - at > MAX_FROM_LINE:
            return False
        end = len(data)
    rest = data[at + 5 : end].strip()
    has_time, has_year = _TIME.search(rest) is not None, _YEAR.search(rest) is not None
    strong = (has_time and has_year) or _ADDRESS_ONLY.fullmatch(rest) is not None
    if not after_blank:
        return strong and _KNOWN_FIELD.match(data, end + 1) is not None
    if strong:
        return True
    return (has_time or has_year) and b" " in rest and _FIELD.match(data, end + 1) is not None

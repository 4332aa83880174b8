"""Tokens of RTF, and where a group ends."""

from __future__ import annotations

import re

TOKEN = re.compile(rb"\\(?:([a-zA-Z]{1,32})(-?\d{1,10})? ?|'([0-9a-fA-F]{2})|([^a-zA-Z]))|([{}])|([^\\{}\r\n\0]+)")
_BRACE = re.compile(rb"\\bin(\d{1,10}) ?|\\[^a-zA-Z]|[{}]")


def group_end(data: bytes, at: int) -> int:
    """Where the group around `at` closes: the place of its brace, or the end of the data."""
    depth = 1
    while (brace := data.find(b"}", at)) >= 0:
        part = data[at:brace]
        if b"\\{" in part or b"\\bin" in part or part.endswith(b"\\"):
            return _group_end(data, at, depth)
        depth += part.count(b"{") - 1
        if not depth:
            return brace
        at = brace + 1
    return len(data)


def _group_end(data: bytes, at: int, depth: int) -> int:
    """The same from inside so many groups, among braces that are text and \\bin bytes."""
    while True:
        for match in _BRACE.finditer(data, at):
            if match[1] is not None:
                at = match.end() + int(match[1])
                break
            character = data[match.start()]
            if character == 0x7B:
                depth += 1
            elif character == 0x7D:
                depth -= 1
                if not depth:
                    return match.start()
        else:
            return len(data)

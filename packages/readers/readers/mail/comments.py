"""Comments in the values of header fields (RFC 5322, 3.2.2): text in parentheses, one inside another, outside of quoted strings."""

from __future__ import annotations

import re

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[()]|[^"\\()]+|["\\]', re.DOTALL)


def without_comments(value: str) -> str:
    """The value with a blank in place of each comment. A parenthesis that is never closed is no comment."""
    out: list[str] = []
    inside: list[int] = []  # how many pieces there were where each open parenthesis is
    for piece in _PIECE.finditer(value):
        text = piece[0]
        out.append(text)
        if text == "(":
            inside.append(len(out) - 1)
        elif text == ")" and inside:
            del out[inside.pop() :]
            out.append(" ")
    return "".join(out)

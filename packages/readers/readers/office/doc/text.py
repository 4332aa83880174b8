"""What of a Word document's characters is text ([MS-DOC] 2.8): stories, fields, special characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_FIELD = re.compile("([\x13\x14\x15])")
_SHOWN_BY_CODE = re.compile(r"\s*(?:EQ|MACROBUTTON|GOTOBUTTON)\s", re.IGNORECASE)  # such have no results
_TABLE = {
    **dict.fromkeys(range(0x20)),  # pictures, reference marks, drawn objects: no text
    0x07: "\t",
    0x09: "\t",
    0x0A: "\n",
    0x0B: "\n",
    0x0C: "\n",
    0x0D: "\n",
    0x0E: "\n",
    0x1E: "-",
    0x1F: "\xad",  # the index has the word whole and in its parts
    0xFFFE: None,
    0xFFFF: None,
}


def stories(text: str, counts: list[int], labels: Mapping[int, str]) -> Iterator[str]:
    """Main text, footnotes, headers, comments … separately, as people read them; empty ones are omitted. `labels` are
    inserted in front of the text at their positions, in order."""
    at = 0
    for count in [*counts, len(text)]:
        part = _labelled(text, at, at + count, labels) if labels else text[at : at + count]
        at += count
        if part and (readable := plain(part).strip("\n")):
            yield readable


def _labelled(text: str, at: int, end: int, labels: Mapping[int, str]) -> str:
    out: list[str] = []
    for place, label in labels.items():
        if at <= place < end:
            out += (text[at:place], label, "\t")
            at = place
    return "".join((*out, text[at:end]))


def plain(text: str) -> str:
    """Without field codes and special characters; paragraphs as lines, table cells apart by tabs, rows by lines."""
    if "\x13" in text:
        text = _without_codes(text)
    return text.replace("\x07\x07", "\n").translate(_TABLE)


def _without_codes(text: str) -> str:
    """Fields show their results, not their codes (2.8.25), but for those of which the code is what is shown. A field
    without an end hides nothing: a code that is not followed by separator or end is text."""
    out: list[str] = []
    open_fields: list[int] = []  # where the code of each began in `out`, -1 once its result has begun
    for piece in _FIELD.split(text):
        if piece == "\x13":
            open_fields.append(len(out))
        elif piece == "\x14" and open_fields:
            if open_fields[-1] >= 0:
                del out[open_fields[-1] :]
                open_fields[-1] = -1
        elif piece == "\x15" and open_fields:
            began = open_fields.pop()
            if began >= 0 and not (began < len(out) and _SHOWN_BY_CODE.match(out[began])):
                del out[began:]
        else:
            out.append(piece)
    return "".join(out)

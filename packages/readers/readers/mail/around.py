"""The charset that the texts of a message suggest for its eight-bit file names and header fields that declare none."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from readers.charset import decode
from readers.charset_labels import by_label, says_nothing

SAMPLE = 1 << 14  # bytes of a text that are looked at
_MOST_TEXTS = 20
_TELLS_NOTHING = ("", "utf-8", "cp1252")  # of a text in ASCII: what programs declare by habit
MOST_NAMES = 50  # that are looked at together


def charset_around(texts: Iterable[tuple[bytes, str]]) -> str:
    """The charset of the first of these texts (its bytes, and what it declares) that are neither ASCII nor UTF-8, else
    what one in ASCII declares; "" where there is no evidence."""
    declared = ""
    for data, label in islice(texts, _MOST_TEXTS):
        if data.isascii():
            codec = "" if says_nothing(label) else by_label(label)
            declared = declared or ("" if codec in _TELLS_NOTHING else codec)
            continue
        detected = decode(data, label)[1]
        if detected.charset != "utf-8" and not detected.guessed:
            return detected.charset
    return declared


def charset_of_names(fields: Iterable[bytes]) -> str:
    """What fields that hold file names in eight bits are likeliest in, all together; "" where that is no more than a guess."""
    detected = decode(b"\n".join(islice((field for field in fields if not field.isascii()), MOST_NAMES)))[1]
    return "" if detected.guessed else detected.charset

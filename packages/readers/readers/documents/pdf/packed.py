"""Search for a name in a PDF, without having PDFium read its objects and pages.

Most objects are stored directly in the file; the others are packed into object streams (ISO 32000-1, 7.5.7), which are
inflated for the search."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isal import isal_zlib

from readers.inflate import ISAL_ERROR

_TYPE, _BEGIN = b"/ObjStm", b"stream"
_DICTIONARY = 1000  # bytes before and after in which the dictionary of an object stream begins and ends
_DEFLATED = re.compile(rb"/Filter\s*(?:/FlateDecode|\[\s*/FlateDecode\s*\])\s*(?:/|>>)")
_ALSO = re.compile(
    rb"/(?:DecodeParms|DP)\b|#"
)  # entries with which it is more than deflated data; an escaped name may be one
_ESCAPED = re.compile(rb"#[4-7][0-9A-Fa-f]")  # a letter in a name
_MOST = 32_000_000  # bytes inflated of one document
_FIRST_STEP = 1 << 10  # bytes of a stream that are inflated first


def may_mention(data: bytes, name: bytes) -> bool:
    """Return False if this name (with its slash) is in no object; True if it is, or if that cannot be determined."""
    return name in data or any(
        objects is None or name in objects or (b"#" in objects and _ESCAPED.search(objects) is not None)
        for objects in object_streams(data)
    )


def object_streams(data: bytes) -> Iterator[bytes | None]:
    """Yield the content of each stream of packed objects; None for one that cannot be read."""
    left = _MOST
    at = data.find(_TYPE)
    while at >= 0:
        end = data.find(_BEGIN, at, at + _DICTIONARY)
        start = data.rfind(b"obj", max(0, at - _DICTIONARY), at)
        dictionary = data[start:end] if start >= 0 <= end else b"#"
        if b"/F" in dictionary or b"#" in dictionary:  # else it is not packed
            readable = end >= 0 and _DEFLATED.search(dictionary) and not _ALSO.search(dictionary)
            objects, end = inflated(data, end + len(_BEGIN), left) if readable else (None, max(at + 1, end))
            yield objects
            left -= len(objects or b"")
        at = data.find(_TYPE, end)


def inflated(data: bytes, at: int, most: int) -> tuple[bytes | None, int]:
    """Return the stream that begins after this line's end, and its end; None if it is not complete, or longer than
    `most`. As much is fed as was inflated before, so that neither the bytes after it nor many short streams cost
    extra."""
    at += len(data[at : at + 2]) - len(data[at : at + 2].lstrip(b"\r\n"))
    inflater, step = isal_zlib.decompressobj(), _FIRST_STEP
    pieces: list[bytes] = []
    try:
        while at < len(data) and not inflater.eof:
            some = data[at : at + step]
            pieces.append(inflater.decompress(some, max(1, most)))
            most -= len(pieces[-1])
            if most < 0 or inflater.unconsumed_tail:
                return None, at
            at, step = at + len(some), 2 * step
    except ISAL_ERROR:
        return None, at
    return (b"".join(pieces), at - len(inflater.unused_data)) if inflater.eof else (None, at)

"""Whether a name may stand in a PDF, without having PDFium read its objects and pages.

Most objects stand in the file as they are; the others are packed into object streams (ISO 32000-1, 7.5.7), which are
inflated for this.
"""

from __future__ import annotations

import re

from isal import isal_zlib

from worker.formats.inflate import ISAL_ERROR

_TYPE, _BEGIN, _END = b"/ObjStm", b"stream", b"endstream"
_DICTIONARY = 1000  # bytes in which that of an object stream begins, and those in which it ends
_DEFLATED = re.compile(rb"/Filter\s*(?:/FlateDecode|\[\s*/FlateDecode\s*\])\s*(?:/|>>)")
_ALSO = re.compile(rb"/(?:DecodeParms|DP)\b|#")  # what makes more of it than deflated data; an escaped name may
_ESCAPED = re.compile(rb"#[4-7][0-9A-Fa-f]")  # a letter in a name
_MOST = 32_000_000  # bytes inflated of one document


def may_mention(data: bytes, name: bytes) -> bool:
    """False when this name (with its slash) is in no object. True where it is, and where that cannot be told."""
    if name in data:
        return True
    left = _MOST
    at = data.find(_TYPE)
    while at >= 0:
        end = data.find(_BEGIN, at, at + _DICTIONARY)
        start = data.rfind(b"obj", max(0, at - _DICTIONARY), at)
        if end < 0 or start < 0:
            return True
        dictionary = data[start:end]
        if _ALSO.search(dictionary):
            return True
        if b"/F" in dictionary:  # else it stands there as it is
            if not _DEFLATED.search(dictionary):
                return True
            objects = _inflated(data, end + len(_BEGIN), left)
            if objects is None or name in objects or (b"#" in objects and _ESCAPED.search(objects)):
                return True
            left -= len(objects)
        at = data.find(_TYPE, end)
    return False


def _inflated(data: bytes, at: int, most: int) -> bytes | None:
    """The stream that begins behind this line's end; None when it is not whole, or longer than `most`."""
    at += len(data[at : at + 2]) - len(data[at : at + 2].lstrip(b"\r\n"))
    stop = data.find(_END, at)
    inflater = isal_zlib.decompressobj()
    try:
        out: bytes = inflater.decompress(data[at:stop], max(1, most)) if stop >= 0 else b""
    except ISAL_ERROR:
        return None
    return out if inflater.eof else None

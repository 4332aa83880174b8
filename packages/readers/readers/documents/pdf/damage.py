"""Whether a stream of a PDF breaks off in the middle: PDFium shows what precedes the break and reports nothing.

Only deflated streams (ISO 32000-1, 7.4.4) that are no pictures, fonts or objects are examined: mostly the content of
pages. A wrong checksum after a whole stream is no damage.
"""

from __future__ import annotations

import re

from isal import isal_zlib

from readers.inflate import ISAL_ERROR

_BEGIN, _END = b"stream", b"end"
_DICTIONARY = 400  # bytes in front of a stream in which its dictionary begins
_DEFLATED = re.compile(rb"/Filter\s*(?:/FlateDecode|\[\s*/FlateDecode\s*\])\s*(?:/|>>)")
_OTHER = re.compile(rb"/(?:Subtype|Type|Length1|N|FunctionType|DecodeParms|DP|F)\b")
_RAW = -15  # a deflated stream without its header and checksum
_HEADER = 2  # bytes
_STEP = 1 << 14  # bytes of a stream at a time
_PIECE = 1 << 18  # bytes inflated at a time, of which none is kept
_MOST = 64_000_000  # bytes inflated of one document


def broken(data: bytes) -> bool:
    """True where such a stream cannot be inflated to its end. False for an encrypted document, which cannot be
    checked."""
    if b"/Encrypt" in data:
        return False
    left, at = _MOST, data.find(_BEGIN)
    while at >= 0 and left > 0:
        behind = at + len(_BEGIN)
        start = data.rfind(b"<<", max(0, at - _DICTIONARY), at)
        if start >= 0 and data[behind : behind + 1] in (b"\r", b"\n") and data[at - 3 : at] != _END:
            dictionary = data[start:at]
            empty = data[behind : behind + 12].lstrip().startswith(b"endstream")
            if _DEFLATED.search(dictionary) and not _OTHER.search(dictionary) and not empty:
                behind += 2 if data.startswith(b"\r\n", behind) else 1
                size, end = _inflated(data, behind + _HEADER, left)
                if size is None:
                    return True
                left, behind = left - size, end
        at = data.find(_BEGIN, behind)
    return False


def _inflated(data: bytes, at: int, most: int) -> tuple[int | None, int]:
    """How many bytes a stream gives, no more than a piece over `most`, and where it ends; None when it is damaged."""
    inflater, size = isal_zlib.decompressobj(_RAW), 0
    try:
        while not inflater.eof and size <= most:
            if not (waiting := inflater.unconsumed_tail):
                waiting, at = data[at : at + _STEP], at + _STEP
                if not waiting:
                    return None, at
            size += len(inflater.decompress(waiting, _PIECE))
    except ISAL_ERROR:
        return None, at
    return size, min(at, len(data)) - len(inflater.unused_data)

"""Decompression of RTF bodies as Outlook stores them ([MS-OXRTFCP])."""

from __future__ import annotations

import struct
from typing import NamedTuple

from readers.errors import DocumentError, corrupt, too_large, truncated

_HEADER = struct.Struct("<IIII")  # compressed size, size, type, CRC
_COMPRESSED, _UNCOMPRESSED = 0x75465A4C, 0x414C454D
_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_WINDOW = 4096


def _tokens(control: int) -> tuple[tuple[int, ...], int]:
    """Return, for a run with this control byte, the number of bytes before each reference, and after the last."""
    *before, behind = format(control, "08b")[::-1].split("1")
    return tuple(map(len, before)), len(behind)


_TOKENS = tuple(map(_tokens, range(256)))


class Unpacked(NamedTuple):
    """The RTF, as far as it can be read, and the error that ended it."""

    data: bytes
    error: DocumentError | None


def decompress(data: bytes, limit: int) -> Unpacked:
    """Return the RTF, up to `limit` bytes; the CRC is not checked (many writers omit it). Raises DocumentError
    `corrupt` if this is not compressed RTF."""
    if len(data) < _HEADER.size:
        raise corrupt("the compressed RTF ends inside its header")
    _, size, kind, _ = _HEADER.unpack_from(data)
    wanted, ended = min(size, limit), False
    if kind == _UNCOMPRESSED:
        out = data[_HEADER.size : _HEADER.size + wanted]
    elif kind == _COMPRESSED:
        out, ended = _inflate(data, _HEADER.size, wanted)
    else:
        raise corrupt("it is neither compressed nor plain RTF")
    error = None
    if len(out) < wanted and not ended:
        error = truncated(f"the compressed RTF ends after {len(out)} of {size} bytes")
    elif limit < size and len(out) == limit:
        error = too_large(f"{size} bytes of RTF; the limit is {limit}")
    return Unpacked(out, error)


def _inflate(data: bytes, at: int, size: int) -> tuple[bytes, bool]:
    """Inflate runs of eight tokens, each a byte or a reference into the last 4,096 bytes (section 2.1.3); return also
    whether the end mark was found, which some writers omit. A run may exceed the wanted size, and is cut."""
    out = bytearray(_DICTIONARY)
    base = len(_DICTIONARY)
    end, wanted = len(data), base + size
    while at < end and len(out) < wanted:
        literals, behind = _TOKENS[data[at]]
        at += 1
        for count in literals:
            if count:
                out += data[at : at + count]
                at += count
            if at + 1 >= end:
                return bytes(out[base:wanted]), False
            word = data[at] << 8 | data[at + 1]
            at += 2
            written, length = len(out), (word & 15) + 2
            distance = written - (word >> 4) & _WINDOW - 1
            if not distance:
                return bytes(out[base:wanted]), True  # a reference to the write position ends it
            start = written - distance if distance < written else 0
            if length <= written - start:
                out += out[start : start + length]
            else:
                _copy(out, start, length)
        out += data[at : at + behind]
        at += behind
    return bytes(out[base:wanted]), False


def _copy(out: bytearray, start: int, length: int) -> None:
    """Append a copy, which may overlap the bytes that it appends."""
    piece = out[start : start + length]
    while len(piece) < length:
        piece += piece[: length - len(piece)]
    out += piece

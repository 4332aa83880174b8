"""RTF bodies as MAPI keeps them: LZFu-compressed ([MS-OXRTFCP]), marked as made from plain text ([MS-OXRTFEX] 2.1.3).

The bytes follow from the text alone: the compressor is this module.
"""

from __future__ import annotations

import struct

from dataset_gen.formats.outlook.mapi import crc

_PRELOADED = (  # 2.1.2.1: what the dictionary holds before the first byte
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbol"
    rb"ArialTimes New RomanCourier{\colortbl\red0\green0\blue0" + b"\r\n" + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_DICTIONARY = 4096
_LONGEST = 17
_SHORTEST = 3  # two bytes would gain nothing
_PLACES = {_PRELOADED[i : i + _SHORTEST]: i for i in range(len(_PRELOADED) - _SHORTEST + 1)}
_HEAD = (
    r"{\rtf1\ansi\ansicpg1252\fromtext \deff0{\fonttbl{\f0\fswiss Arial;}}"
    "\r\n"
    r"{\colortbl\red0\green0\blue0;\red0\green0\blue255;}"
    "\r\n"
    r"\uc1\pard\plain\deftab360 \f0\fs20 "
)


def from_plain(text: str) -> bytes:
    """A plain text (LF at line ends) as an RTF document."""
    escaped = text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")
    if not escaped.isascii():
        escaped = "".join(c if c.isascii() else _unicode(c) for c in escaped)
    return (_HEAD + escaped.replace("\n", "\\par\r\n") + "}").encode("ascii")


def _unicode(character: str) -> str:
    r"""A character as \uN with a question mark for readers that do not know it; N is signed."""
    raw = character.encode("utf-16-le", "replace")
    return "".join(rf"\u{unit}?" for unit in struct.unpack(f"<{len(raw) // 2}h", raw))


def compress(data: bytes) -> bytes:
    """The compressed stream with its header: sizes, LZFu, CRC (2.1.3.1)."""
    body = _tokens(data)
    return struct.pack("<II4sI", len(body) + 12, len(data), b"LZFu", crc(body)) + body


def _tokens(data: bytes) -> bytes:
    """Literals and references, eight to a run behind a byte that tells which is which; a reference to the place that
    is written next ends it (2.2)."""
    buffer = _PRELOADED + data
    latest = _PLACES.copy()  # where three bytes stood last
    at, end = len(_PRELOADED), len(buffer)
    out = bytearray()
    run, flags, count = bytearray(), 0, 0
    while True:
        start, length = _match(buffer, latest, at, end) if at < end else (at, 0)
        if length or at == end:
            flags |= 1 << count
            run += ((start % _DICTIONARY) << 4 | max(0, length - 2)).to_bytes(2, "big")
        else:
            run.append(buffer[at])
            length = 1
        count += 1
        if count == 8 or at == end:
            out.append(flags)
            out += run
            run, flags, count = bytearray(), 0, 0
            if at == end:
                return bytes(out)
        for i in range(at, at + length):
            latest[buffer[i : i + _SHORTEST]] = i
        at += length


def _match(buffer: bytes, latest: dict[bytes, int], at: int, end: int) -> tuple[int, int]:
    """Where the bytes that come next stood last, and how many of them; no bytes if nowhere in the dictionary."""
    start = latest.get(buffer[at : at + _SHORTEST], -1)
    if start < 0 or at - start > _DICTIONARY - _LONGEST or at + _SHORTEST > end:
        return 0, 0
    length, most = _SHORTEST, min(_LONGEST, end - at)
    while length < most and buffer[start + length] == buffer[at + length]:
        length += 1
    return start, length

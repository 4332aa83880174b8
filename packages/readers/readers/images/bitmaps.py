"""Bitmaps and Macintosh pictures in documents, which lack the header of their files."""

from __future__ import annotations

import struct

PICT_HEADER = bytes(512)  # a QuickDraw file begins with as many unused bytes
_FILE_HEADER = struct.Struct("<2sIHHI")
_INFO = struct.Struct("<IiiHHIIiiII")  # BITMAPINFOHEADER ([MS-WMF] 2.2.2.3) and the beginning of its successors
_CORE, _CORE_SIZE = struct.Struct("<IHHHH"), 12
_BIT_FIELDS = 3
_DEPTHS = frozenset((1, 4, 8, 16, 24, 32))
_LARGEST_HEADER = 124
BEGINNING = _LARGEST_HEADER + 1
_SIDE = 1 << 20  # pixels; no real picture is as wide


def with_header(dib: bytes) -> bytes:
    """Return a device-independent bitmap as a BMP file; b"" if these bytes are none."""
    header = file_header(dib[:BEGINNING], len(dib))
    return header + dib if header else b""


def file_header(dib: bytes, length: int) -> bytes:
    """Return the file header of a bitmap of `length` bytes, by its first bytes (BEGINNING); b"" if it is none."""
    size = int.from_bytes(dib[:4], "little")
    if size == _CORE_SIZE and len(dib) > _CORE.size:
        _, width, height, _, depth = _CORE.unpack_from(dib)
        table = 3 << depth if depth <= 8 else 0
    elif _INFO.size <= size <= _LARGEST_HEADER and len(dib) > size:
        _, width, height, _, depth, compression, _, _, _, colours, _ = _INFO.unpack_from(dib)
        table = 4 * min(colours or (1 << depth if depth <= 8 else 0), 256)
        table += 12 if compression == _BIT_FIELDS and size == _INFO.size else 0
    else:
        return b""
    if depth not in _DEPTHS or not (0 < width < _SIDE and 0 < abs(height) < _SIDE):
        return b""
    begin = _FILE_HEADER.size + size + table
    return _FILE_HEADER.pack(b"BM", _FILE_HEADER.size + length, 0, 0, begin)

"""Width and height from the headers of images, without decoding a pixel. Each reader takes the open file and its size
and returns what it found; DocumentError `truncated` or `corrupt` only where the file clearly is."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import BinaryIO

from msgspec import Struct

from readers.base import Source
from readers.errors import DocumentError, corrupt, truncated

_MAX_SEGMENTS = 2000  # JPEG segments before the picture
_MAX_FRAMES = 100_000  # TIFF directories
_CHUNK = 1 << 20


class Size(Struct):
    """Size from the headers. `error`: the picture itself is incomplete."""

    width: int
    height: int
    frames: int | None = None
    error: DocumentError | None = None


def _take(file: BinaryIO, count: int, what: str) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise truncated(f"the {what} ends inside its header")
    return data


def png(file: BinaryIO, size: int) -> Size:
    """Read PNG (ISO/IEC 15948): IHDR first, IEND last."""
    head = _take(file, 24, "PNG")
    if head[12:16] != b"IHDR":
        raise corrupt("the PNG does not begin with its header chunk")
    width, height = struct.unpack_from(">II", head, 16)
    file.seek(max(0, size - 12))
    whole = file.read(12)[4:8] == b"IEND" or _png_end(file, size)
    return Size(width, height, error=None if whole else truncated("the PNG ends before its IEND chunk"))


def _png_end(file: BinaryIO, size: int) -> bool:
    """Return whether IEND comes before the end of the file, for files with further bytes after it."""
    at = 8
    while at + 12 <= size:
        file.seek(at)
        length, kind = struct.unpack(">I4s", file.read(8))
        if kind == b"IEND":
            return True
        at += 12 + length
    return False


def jpeg(file: BinaryIO, size: int) -> Size:
    """Read JPEG (ITU T.81, annex B): segments up to the scan; then an end-of-image marker somewhere."""
    _take(file, 2, "JPEG")
    picture: Size | None = None
    for _ in range(_MAX_SEGMENTS):
        marker = _take(file, 2, "JPEG")
        while marker[1:] == b"\xff":  # fill bytes
            marker = b"\xff" + _take(file, 1, "JPEG")
        if marker[0] != 0xFF:
            raise corrupt("the JPEG has no marker where one is required")
        kind = marker[1]
        if kind == 0xD9:
            break
        length = struct.unpack(">H", _take(file, 2, "JPEG"))[0]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            _, height, width = struct.unpack(">BHH", _take(file, 5, "JPEG"))
            picture = Size(width, height)
            length -= 5
        if kind == 0xDA:
            break
        if length < 2 or file.tell() + length - 2 > size:
            raise truncated("the JPEG ends inside its header")
        file.seek(length - 2, 1)
    if picture is None:
        raise corrupt("the JPEG has no frame header")
    if not _jpeg_end(file, size):
        picture.error = truncated("the JPEG ends before its end-of-image marker")
    return picture


def _jpeg_end(file: BinaryIO, size: int) -> bool:
    """Return whether the end-of-image marker is at the end, or after the header (cameras append data)."""
    start = file.tell()
    file.seek(max(start, size - 4096))
    if b"\xff\xd9" in file.read(4096):
        return True
    file.seek(start)
    carry = b""
    while data := file.read(_CHUNK):
        if b"\xff\xd9" in carry + data:
            return True
        carry = data[-1:]
    return False


def gif(file: BinaryIO, size: int) -> Size:
    """Read GIF87a and GIF89a: the logical screen. A missing trailer is tolerated; a GIF of its header alone is cut."""
    if size <= 13:
        raise truncated("the GIF ends with its header")
    width, height = struct.unpack_from("<HH", _take(file, 13, "GIF"), 6)
    return Size(width, height)


def bmp(file: BinaryIO, size: int) -> Size:
    """Read BMP with a core or an info header; uncompressed pixels must be complete."""
    head = _take(file, 26, "BMP")
    pixels_at, header = struct.unpack_from("<II", head, 10)
    if header == 12:
        width, height = struct.unpack_from("<HH", head, 18)
        return Size(width, height)
    width, height = struct.unpack_from("<ii", head, 18)
    depth, compression = struct.unpack_from("<HI", _take(file, 8, "BMP"), 2)
    picture = Size(abs(width), abs(height))
    row = (abs(width) * depth + 31) // 32 * 4
    if compression == 0 and depth in (1, 4, 8, 16, 24, 32) and pixels_at + row * abs(height) > size:
        picture.error = truncated("the BMP ends before its last row")
    return picture


def webp(file: BinaryIO, size: int) -> Size:
    """Read WebP: lossy, lossless or extended, in a RIFF whose length gives its end."""
    head = _take(file, 30, "WebP")
    kind = head[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(head[24:27], "little") + 1
        height = int.from_bytes(head[27:30], "little") + 1
    elif kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        width, height = (value & 0x3FFF for value in struct.unpack_from("<HH", head, 26))
    else:
        raise corrupt("the WebP does not begin with a picture chunk")
    cut = struct.unpack_from("<I", head, 4)[0] + 8 > size + 1  # an odd length may lack its padding byte
    return Size(width, height, error=truncated("the WebP ends before its announced end") if cut else None)


def tiff(file: BinaryIO, size: int) -> Size:
    """Read TIFF 6.0 and BigTIFF: the chain of directories, one for each frame; the size is that of the first."""
    head = _take(file, 8, "TIFF")
    order = "<" if head[:2] == b"II" else ">"
    big = struct.unpack_from(order + "H", head, 2)[0] == 43
    if big:
        at = struct.unpack(order + "Q", _take(file, 8, "TIFF"))[0]
    else:
        at = struct.unpack_from(order + "I", head, 4)[0]
    picture = Size(0, 0, frames=0)
    seen: set[int] = set()
    frames = 0
    while at and at not in seen and frames < _MAX_FRAMES:
        seen.add(at)
        following = _tiff_directory(file, size, at, order, big, picture if not frames else None)
        if following is None:
            picture.error = truncated(f"the TIFF ends before its directory {frames + 1}")
            break
        frames += 1
        at = following
    if not frames:
        raise picture.error or corrupt("the TIFF has no directory")
    picture.frames = frames
    return picture


def _tiff_directory(file: BinaryIO, size: int, at: int, order: str, big: bool, into: Size | None) -> int | None:
    """Return the next directory's position; None if this one is outside. Set the size of `into`."""
    count_format, entry, next_format = ("Q", 20, "Q") if big else ("H", 12, "I")
    count_size, next_size = struct.calcsize(order + count_format), struct.calcsize(order + next_format)
    if at + count_size > size:
        return None
    file.seek(at)
    count = struct.unpack(order + count_format, file.read(count_size))[0]
    end = at + count_size + count * entry
    if count > 4096 or end + next_size > size:
        return None
    if into is None:  # only the position of the next one: directories may overlap
        file.seek(end)
        return int(struct.unpack(order + next_format, file.read(next_size))[0])
    raw = file.read(count * entry + next_size)
    for i in range(count):
        tag, kind = struct.unpack_from(order + "HH", raw, i * entry)
        if tag in (256, 257) and kind in (3, 4):
            value = struct.unpack_from(order + ("H" if kind == 3 else "I"), raw, i * entry + entry - next_size)[0]
            if tag == 256:
                into.width = value
            else:
                into.height = value
    return int(struct.unpack_from(order + next_format, raw, count * entry)[0])


# Raster pictures by their first bytes, and their size. Loads no parser: a slot calls it before OCR.

SizeReader = Callable[[BinaryIO, int], Size]
_READERS: tuple[tuple[bytes, str, SizeReader], ...] = (
    (b"\x89PNG", "png", png),
    (b"\xff\xd8", "jpeg", jpeg),
    (b"GIF8", "gif", gif),
    (b"BM", "bmp", bmp),
    (b"RIFF", "webp", webp),
    (b"II", "tiff", tiff),
    (b"MM", "tiff", tiff),
)


def reader_of(head: bytes) -> tuple[str, SizeReader] | None:
    """Return the kind of raster picture that begins so, and its reader; None for anything else."""
    return next(((label, reader) for magic, label, reader in _READERS if head.startswith(magic)), None)


def measured(source: Source) -> tuple[str, Size] | None:
    """Return kind and size of a raster picture; None if it is none. Raises DocumentError as its reader does."""
    raster = reader_of(source.head)
    if raster is None:
        return None
    with source.open() as file:
        return raster[0], raster[1](file, source.size)

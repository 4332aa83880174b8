"""Pictures in the drawings of the older Office formats ([MS-ODRAW] 2.2.23) that are stored as the files they were."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.records import Kind
from worker.formats.base import Child

# The header of a picture's record: instance (the even ones have one identifier before the picture, the odd ones two),
# type. These four bytes and the picture's own first ones do not come together by chance.
_HEADER = re.compile(
    rb"(?P<jpg>[\xa0\xb0]\x46\x1d\xf0|[\x20\x30]\x6e\x1d\xf0|[\xa0\xb0]\x46\x2a\xf0)"
    rb"|(?P<png>[\x00\x10]\x6e\x1e\xf0)|(?P<tif>[\x40\x50]\x6e\x29\xf0)"
)
_BEGINS = {"jpg": (b"\xff\xd8\xff",), "png": (b"\x89PNG",), "tif": (b"II*\0", b"MM\0*")}
_IDENTIFIER, _TAG = 16, 1


def pictures(stream: bytes) -> Iterator[tuple[str, bytes]]:
    """(extension, bytes) of the pictures anywhere in a stream, in order. Metafiles and bitmaps, which are stored
    without their headers, are left out, and so is a picture that ends beyond the stream."""
    at = 0
    while (found := _HEADER.search(stream, at)) is not None:
        at = found.end() + 4
        end = at + int.from_bytes(stream[found.end() : at], "little")
        doubled = stream[found.start()] & 0x10
        begin = at + _TAG + (2 if doubled else 1) * _IDENTIFIER
        extension = str(found.lastgroup)
        if begin < end <= len(stream) and stream.startswith(_BEGINS[extension], begin):
            yield extension, stream[begin:end]
            at = end


def children(streams: Iterator[bytes], first: int) -> Iterator[Child]:
    """The pictures of several streams as children from ordinal `first` on; they have no names of their own."""
    position = 0
    for stream in streams:
        for extension, data in pictures(stream):
            name = f"picture{position + 1}.{extension}".encode()
            yield Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=first + position, data=data)
            position += 1

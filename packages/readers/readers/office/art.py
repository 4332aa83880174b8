"""Pictures in the drawings of the older Office formats ([MS-ODRAW] 2.2.23): those stored as files, and metafiles, which
are compressed; and the text of shapes made of letters."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

from readers.base import Child
from readers.images import bitmaps
from readers.records import Kind

# The header of a picture's record: instance (the even ones have one identifier before the picture, the odd ones two),
# type. These four bytes and the picture's own first ones do not come together by chance.
# It is searched by its last byte, which is the fastest expression.
_HEADER = re.compile(
    rb"\xf0(?<=(?P<jpg>[\xa0\xb0]\x46\x1d\xf0|[\x20\x30]\x6e\x1d\xf0|[\xa0\xb0]\x46\x2a\xf0)"
    rb"|(?P<png>[\x00\x10]\x6e\x1e\xf0)|(?P<tif>[\x40\x50]\x6e\x29\xf0)"
    rb"|(?P<bmp>[\x80\x90]\x7a\x1f\xf0)|(?P<emf>[\x40\x50]\x3d\x1a\xf0)|(?P<wmf>[\x60\x70]\x21\x1b\xf0)"
    rb"|(?P<pict>[\x20\x30]\x54\x1c\xf0))"
)
_HEADER_BYTES = 4
_BEGINS = {"jpg": (b"\xff\xd8\xff",), "png": (b"\x89PNG",), "tif": (b"II*\0", b"MM\0*")}
_IDENTIFIER, _TAG = 16, 1
# Header of a metafile (2.2.31): its size, bounds and extent, its size as stored, whether it is compressed, no filter.
_METAFILE = struct.Struct("<I24xIBB")
_DEFLATED, _STORED, _NO_FILTER = 0, 0xFE, 0xFE
# The header of a shape's properties: version 3, their number, the type. Of a property: its kind, its value or its length.
_PROPERTIES = re.compile(
    rb"\x0b\xf0(?<=[\x03\x13\x23\x33\x43\x53\x63\x73\x83\x93\xa3\xb3\xc3\xd3\xe3\xf3].\x0b\xf0)", re.DOTALL
)
_PROPERTY = struct.Struct("<HI")
_LONG = 0x8000  # flag of a kind: its value follows all properties
_LETTERS = _LONG | 0xC0  # gtextUNICODE (2.3.22.1)
_DESCRIPTION = _LONG | 0x0381  # wzDescription (2.3.4.2)
_LARGEST = 64_000_000  # bytes of a metafile
_FIRST_STEP = 1 << 12  # bytes that are inflated first


def pictures(stream: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield (extension, bytes) of the pictures anywhere in a stream, in order; bitmaps and Macintosh pictures with the
    headers of their files, which are not stored. A picture that ends beyond the stream is omitted, and so is a metafile
    that cannot be inflated."""
    at, tried = 0, _Tried(4 * len(stream) + 1_000_000)
    while tried.left > 0 and (match := _HEADER.search(stream, at + _HEADER_BYTES - 1)) is not None:
        at = match.end() + 4
        end = at + int.from_bytes(stream[match.end() : at], "little")
        begin = at + (2 if stream[match.end() - _HEADER_BYTES] & 0x10 else 1) * _IDENTIFIER
        extension = str(match.lastgroup)
        if not begin < end <= len(stream):
            continue
        if extension in _BEGINS:
            picture = stream[begin + _TAG : end] if stream.startswith(_BEGINS[extension], begin + _TAG) else b""
        elif extension == "bmp":
            begin += _TAG
            header = bitmaps.file_header(stream[begin : min(end, begin + bitmaps.BEGINNING)], end - begin)
            picture = header + stream[begin:end] if header else b""
        else:
            picture = _metafile(stream, begin, end, tried)
        if picture:
            yield extension, (bitmaps.PICT_HEADER if extension == "pict" else b"") + picture
            at = end


def lettering(drawing: bytes) -> Iterator[str]:
    """Yield the text of shapes made of letters (WordArt and watermarks) anywhere in a drawing."""
    return _texts_of_shapes(drawing, _LETTERS)


def descriptions(drawing: bytes) -> Iterator[str]:
    """Yield alternative text of shapes and pictures, anywhere in a drawing."""
    return _texts_of_shapes(drawing, _DESCRIPTION)


def _texts_of_shapes(drawing: bytes, kind: int) -> Iterator[str]:
    if kind.to_bytes(2, "little") not in drawing:  # as in nearly all drawings
        return
    at = 0
    while (match := _PROPERTIES.search(drawing, at + _HEADER_BYTES // 2)) is not None:
        at, begin = match.end(), match.end() + 4
        end = begin + int.from_bytes(drawing[at:begin], "little")
        count = int.from_bytes(drawing[match.start() - 2 : match.start()], "little") >> 4
        if begin + _PROPERTY.size * count <= end <= len(drawing):  # else these bytes are no header
            yield from _texts(drawing[begin:end], count, kind)
            at = end


def letters(properties: bytes, count: int) -> Iterator[str]:
    """Yield the letters in `count` properties of a shape (2.2.9)."""
    return _texts(properties, count, _LETTERS)


def description(properties: bytes, count: int) -> Iterator[str]:
    """Yield the alternative text in `count` properties of a shape."""
    return _texts(properties, count, _DESCRIPTION)


def _texts(properties: bytes, count: int, wanted: int) -> Iterator[str]:
    """Yield the text of a property. Complex values follow the array of properties, in the order of the array."""
    if wanted.to_bytes(2, "little") not in properties:
        return
    behind = _PROPERTY.size * count
    for at in range(0, min(behind, len(properties) - _PROPERTY.size + 1), _PROPERTY.size):
        kind, size = _PROPERTY.unpack_from(properties, at)
        if kind & _LONG == 0:
            continue
        if kind == wanted:
            text = properties[behind : behind + size].decode("utf-16-le", "replace").partition("\0")[0]
            if text.strip():
                yield text.strip()
        behind += size


class _Tried(Struct):
    """Count the bytes that may still be inflated for data that turns out not to be a metafile: a header may be inside
    another one's data."""

    left: int


def _metafile(stream: bytes, begin: int, end: int, tried: _Tried) -> bytes:
    """Return a metafile decompressed; b"" if it is none, or not complete."""
    if end - begin < _METAFILE.size:
        return b""
    size, stored, compression, chosen = _METAFILE.unpack_from(stream, begin)
    begin += _METAFILE.size
    if end - begin < stored or chosen != _NO_FILTER or not 0 < size <= _LARGEST:
        return b""
    if compression == _STORED:
        return stream[begin : begin + stored]
    if compression != _DEFLATED:
        return b""
    return _inflated(stream, begin, begin + stored, size, tried)


def _inflated(stream: bytes, at: int, end: int, size: int, tried: _Tried) -> bytes:
    """Return at most `size` bytes; b"" for damaged data. Input grows with the output, so early damage costs little."""
    inflater, step, left, begin, pieces = zlib.decompressobj(), _FIRST_STEP, size, at, list[bytes]()
    try:
        while at < end and left > 0 and not inflater.eof:
            some = stream[at : min(end, at + step)]
            pieces.append(inflater.decompress(some, left))
            tried.left -= len(some)
            left -= len(pieces[-1])
            at, step = at + len(some), 2 * step
    except zlib.error:
        return b""
    tried.left += at - begin  # these bytes were those of a picture
    return b"".join(pieces)


def children(streams: Iterable[bytes]) -> Iterator[Child]:
    """Yield the pictures of several streams as children; they have no names of their own."""
    for position, (extension, data) in enumerate(chain.from_iterable(map(pictures, streams))):
        name = f"picture{position + 1}.{extension}".encode()
        yield Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=position, data=data)

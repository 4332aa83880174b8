"""Files that columns of an Access database hold: objects of other programs, attachments, and bytes that are a file."""

from __future__ import annotations

import struct
import zlib

from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import UNKNOWN, identify
from readers.office.ole import native as ole_native
from readers.office.ole import objects as ole_objects

_OBJECT = b"\x15\x1c"  # begins what Access puts before an OLE 1.0 object; how long that is follows
_FEWEST = 16  # bytes of what may be a file by itself
_ATTACHED = struct.Struct("<II")  # whether it is deflated, and how long it is
_DEFLATED = 1

Carried = tuple[bytes, bytes]  # name, where it has one, and bytes


def of_object(value: bytes) -> Carried | None:
    """The file in an object's value; None for a link, and for bytes that are no file. DocumentError where it is damaged."""
    if not value.startswith(_OBJECT):
        known = len(value) >= _FEWEST and identify(MemorySource(b"", value)) != UNKNOWN
        return (b"", value) if known else None
    size = int.from_bytes(value[2:4], "little")
    try:
        class_name, native = ole_native.embedded(value[size:])
    except DocumentError as error:
        if error.code is ExceptionCode.UNSUPPORTED:
            return None
        raise
    if class_name == b"Package":
        return ole_objects.packaged(len(native).to_bytes(4, "little") + native)
    return ole_objects.unwrapped(native) or (b"", native)


def of_attachment(value: bytes, most: int) -> bytes:
    """An attachment's bytes, after a head with its length. DocumentError where they are damaged, or more than
    `most`."""
    if len(value) < _ATTACHED.size:
        raise DocumentError(ExceptionCode.TRUNCATED, "the attachment ends in its head")
    packed, content = _ATTACHED.unpack_from(value)[0] == _DEFLATED, value[_ATTACHED.size :]
    if packed:
        try:
            inflater = zlib.decompressobj()
            content = inflater.decompress(content, most + 1)
        except zlib.error as error:
            raise DocumentError(ExceptionCode.CORRUPT, "the attachment cannot be inflated") from error
        if len(content) > most:
            raise DocumentError(ExceptionCode.EXPANSION_LIMIT, f"the attachment has more than {most:,} bytes")
        if not inflater.eof:
            raise DocumentError(ExceptionCode.TRUNCATED, "the attachment breaks off")
    return content[int.from_bytes(content[:4], "little") :]

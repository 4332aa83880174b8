"""Objects as OLE 1.0 stores them ([MS-OLEDS] 2.2), which is how RTF carries them."""

from __future__ import annotations

import struct

from readers.errors import DocumentError, ExceptionCode

_LONGEST_NAME = 4096  # bytes; Windows paths are shorter
_LINKED = 1


def _corrupt(detail: str) -> DocumentError:
    return DocumentError(ExceptionCode.CORRUPT, detail)


def embedded(data: bytes) -> tuple[bytes, bytes]:
    """(class name, native data) of an OLE 1.0 object as RTF holds it ([MS-OLEDS] 2.2.4, 2.2.5). DocumentError
    `unsupported` for a link, which carries nothing; `corrupt` when this is no such object."""
    if len(data) < 8:
        raise _corrupt("the embedded object has no header")
    if struct.unpack_from("<I", data, 4)[0] == _LINKED:
        raise DocumentError(ExceptionCode.UNSUPPORTED, "the object is a link; its content is stored elsewhere")
    at = 8
    names: list[bytes] = []
    for _ in range(3):  # class, topic, item
        length = struct.unpack_from("<I", data.ljust(at + 4, b"\0"), at)[0]
        if length > _LONGEST_NAME or at + 4 + length > len(data):
            raise _corrupt("the embedded object ends inside its header")
        names.append(data[at + 4 : at + 4 + length].rstrip(b"\0"))
        at += 4 + length
    if at + 4 > len(data):
        raise _corrupt("the embedded object ends inside its header")
    size = struct.unpack_from("<I", data, at)[0]
    return names[0], data[at + 4 : at + 4 + size]

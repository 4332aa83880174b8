"""The first block of a Word document ([MS-DOC] 2.5): the kind of the document and the location of its characters."""

from __future__ import annotations

import struct

from readers.errors import DocumentError, ExceptionCode
from readers.office.ole.property_set import codec_of

WORD_97 = 0xA5EC
WORD_6 = (0xA5DC, 0xA5DB, 0xA59B, 0xA59C, 0xA697, 0xA698, 0xA699)
_CCP = 0x4C  # FibRgLw97: characters of main text, footnotes, headers, macros, comments, endnotes, two kinds of box
_MACROS = 3  # which of them means nothing any more
_CLX_97, _CLX_6 = 0x1A2, 0x160
_DRAWINGS, _OWNERS = 0x22A, 0x1BA  # FibRgFcLcb97.fcDggInfo, fcGrpXstAtnOwners
# Windows code pages by primary language, for Word 6 and 95, whose text is in bytes of the writer's code page.
_CODE_PAGES = {
    **dict.fromkeys((0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24), 1250),
    **dict.fromkeys((0x02, 0x19, 0x22, 0x23, 0x2F), 1251),
    0x08: 1253,
    0x1F: 1254,
    0x0D: 1255,
    0x01: 1256,
    0x11: 932,
    0x12: 949,
    0x1E: 874,
    **dict.fromkeys((0x25, 0x26, 0x27), 1257),
}


class Fib:
    """The file information block: the kind of the document and the location of its piece table."""

    def __init__(self, stream: bytes) -> None:
        """Raise DocumentError when the document is encrypted or has no such block. A block of an unknown version is
        read as Word 97's and reported in `error`."""
        if len(stream) < 0x60:
            raise DocumentError(ExceptionCode.TRUNCATED, "the document ends in its first block")
        magic, version, _, language, _, flags = struct.unpack_from("<HHHHHH", stream)
        self.error: DocumentError | None = None
        if magic != WORD_97 and magic not in WORD_6:
            detail = "the document does not begin with a Word file's first block"
            self.error = DocumentError(ExceptionCode.CORRUPT, detail)
        if flags & 0x0100:
            raise DocumentError(ExceptionCode.ENCRYPTED, "a password is needed to open it")
        self.old = magic in WORD_6 or (magic == WORD_97 and version < 105)
        self.complex, self.extended = bool(flags & 0x0004), bool(flags & 0x1000)
        self.tables = ("1Table", "0Table") if flags & 0x0200 else ("0Table", "1Table")  # the one it names first
        self.codec = "cp1252" if not self.old else codec_of(_CODE_PAGES.get(language & 0x3FF, 1252))
        self.first, self.end = struct.unpack_from("<II", stream, 0x18)
        place = _CLX_6 if self.old else _CLX_97
        self.clx = struct.unpack_from("<II", stream, place) if len(stream) >= place + 8 else (0, 0)
        drawn = not self.old and len(stream) >= _DRAWINGS + 8
        self.drawings = struct.unpack_from("<II", stream, _DRAWINGS) if drawn else (0, 0)
        self.owners = struct.unpack_from("<II", stream, _OWNERS) if drawn else (0, 0)  # of comments
        counts = struct.unpack_from("<8I", stream, 0x34 if self.old else _CCP) if len(stream) >= 0x6C else ()
        self.counts = [n for n in counts if n < 0x7FFFFFFF]
        self.announced = sum(n for i, n in enumerate(counts) if i != _MACROS and n < 0x7FFFFFFF)

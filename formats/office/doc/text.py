"""The characters of a Word document ([MS-DOC]): where they lie, and what of them is text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from core.errors import DocumentError, ExceptionCode
from formats.charset import code_page
from formats.office.ole.property_set import codec_of

WORD_97 = 0xA5EC
WORD_6 = (0xA5DC, 0xA5DB, 0xA59B, 0xA59C)
_CCP = 0x4C  # FibRgLw97: characters of main text, footnotes, headers, macros, comments, endnotes, two kinds of box
_MACROS = 3  # which of them means nothing any more
_CLX_97, _CLX_6 = 0x1A2, 0x160
_COMPRESSED = 0x40000000
_PIECES = 1_000_000
_FIELD = re.compile("([\x13\x14\x15])")
_TABLE = {
    **dict.fromkeys(range(0x20)),  # pictures, reference marks, drawn objects: no text
    0x07: "\t",
    0x09: "\t",
    0x0A: "\n",
    0x0B: "\n",
    0x0C: "\n",
    0x0D: "\n",
    0x0E: "\n",
    0x1E: "-",
    0xFFFE: None,
    0xFFFF: None,
}
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
    """The file information block: what kind of document this is, and where its piece table lies."""

    def __init__(self, stream: bytes) -> None:
        """Raises DocumentError when the stream does not begin with one, or what follows is encrypted."""
        if len(stream) < 0x60:
            raise DocumentError(ExceptionCode.TRUNCATED, "the document ends in its first block")
        magic, version, _, language, _, flags = struct.unpack_from("<HHHHHH", stream)
        if magic != WORD_97 and magic not in WORD_6:
            raise DocumentError(ExceptionCode.CORRUPT, "the document does not begin with a Word file's first block")
        if flags & 0x0100:
            raise DocumentError(ExceptionCode.ENCRYPTED, "a password is needed to open it")
        self.old = magic != WORD_97 or version < 105
        self.complex = bool(flags & 0x0004)
        self.table = "1Table" if flags & 0x0200 else "0Table"
        self.codec = "cp1252" if not self.old else codec_of(_CODE_PAGES.get(language & 0x3FF, 1252))
        self.first, self.last = struct.unpack_from("<II", stream, 0x18)
        place = _CLX_6 if self.old else _CLX_97
        self.clx = struct.unpack_from("<II", stream, place) if len(stream) >= place + 8 else (0, 0)
        counts = struct.unpack_from("<8I", stream, 0x34 if self.old else _CCP) if len(stream) >= 0x6C else ()
        self.counts = [n for n in counts if n < 0x7FFFFFFF]
        self.told = sum(n for i, n in enumerate(counts) if i != _MACROS and n < 0x7FFFFFFF)


def pieces(stream: bytes, table: bytes, fib: Fib) -> Iterator[str]:
    """The document's characters in order, piece by piece (2.4.1). DocumentError, after what could be had, when the
    piece table or a piece lies outside the file, or the pieces do not add up to what the document counts."""
    if fib.old:
        fib.codec = code_page(stream[fib.first : max(fib.first, fib.last)], fib.codec)
    if fib.old and not (fib.complex and fib.clx[1]):
        yield stream[fib.first : max(fib.first, fib.last)].decode(fib.codec, "replace")
        if fib.last > len(stream):
            raise DocumentError(ExceptionCode.TRUNCATED, "the text goes on behind the end of the file")
        return
    plc = _piece_table(table[fib.clx[0] : fib.clx[0] + fib.clx[1]])
    count = min((len(plc) - 4) // 12, _PIECES)
    units, backwards = 0, False
    left = len(stream)  # a document's pieces lie side by side: all together they are no longer than the stream
    for i in range(count):
        start, end = struct.unpack_from("<II", plc, 4 * i)
        place = struct.unpack_from("<I", plc, 4 * (count + 1) + 8 * i + 2)[0]
        if end <= start:
            backwards = backwards or end < start
            continue
        units += end - start
        if fib.old or place & _COMPRESSED:
            at, size, codec = (place if fib.old else (place & ~_COMPRESSED) // 2), end - start, fib.codec
        else:
            at, size, codec = place, 2 * (end - start), "utf-16-le"
        data = stream[at : at + min(size, max(left, 0))]
        left -= len(data)
        yield data.decode(codec, "replace")
        if len(data) < size:
            raise DocumentError(ExceptionCode.TRUNCATED, "a piece of the text lies outside the file")
    if backwards or (not fib.old and units < fib.told):
        told = f"its pieces have {units:,} characters, the document {fib.told:,}"
        raise DocumentError(ExceptionCode.CORRUPT, "the pieces of the text are out of order" if backwards else told)


def _piece_table(clx: bytes) -> bytes:
    """The PlcPcd in a Clx, past the property modifiers in front of it (2.9.38)."""
    at = 0
    while at + 5 <= len(clx):
        if clx[at] == 2:
            size = int.from_bytes(clx[at + 1 : at + 5], "little")
            plc = clx[at + 5 : at + 5 + size]
            if len(plc) >= 16:
                return plc
            break
        if clx[at] != 1:
            break
        at += 3 + int.from_bytes(clx[at + 1 : at + 3], "little")
    raise DocumentError(ExceptionCode.CORRUPT, "the document has no piece table")


def stories(text: str, counts: list[int]) -> Iterator[str]:
    """Main text, footnotes, headers, comments … each by itself, as people read them; empty ones left out."""
    at = 0
    for count in [*counts, len(text)]:
        part = text[at : at + count]
        at += count
        if part and (readable := plain(part).strip("\n")):
            yield readable


def plain(text: str) -> str:
    """Without field codes and special characters; paragraphs as lines, table cells apart by tabs, rows by lines."""
    if "\x13" in text:
        text = _without_codes(text)
    return text.replace("\x07\x07", "\n").translate(_TABLE)


def _without_codes(text: str) -> str:
    """Fields show their results, not their codes (2.8.25). A field without an end hides nothing: a code that is not
    followed by separator or end is text."""
    out: list[str] = []
    open_fields: list[int] = []  # where the code of each began in `out`, -1 once its result has begun
    for piece in _FIELD.split(text):
        if piece == "\x13":
            open_fields.append(len(out))
        elif piece == "\x14" and open_fields:
            if open_fields[-1] >= 0:
                del out[open_fields[-1] :]
                open_fields[-1] = -1
        elif piece == "\x15" and open_fields:
            began = open_fields.pop()
            if began >= 0:
                del out[began:]
        else:
            out.append(piece)
    return "".join(out)

"""Small metafiles, put together record by record for tests ([MS-EMF], [MS-EMFPLUS], [MS-WMF])."""

import struct
from collections.abc import Sequence

FONT_BYTES = 92  # LogFont


def emr(kind: int, data: bytes = b"") -> bytes:
    """A record of an enhanced metafile."""
    data += bytes(-len(data) % 4)
    return struct.pack("<II", kind, 8 + len(data)) + data


def emf(*records: bytes) -> bytes:
    """An enhanced metafile of these records, with its header and its end."""
    head = emr(1, struct.pack("<8i4sIIIHH", *[0] * 8, b" EMF", 0x10000, 0, 0, 0, 0) + bytes(40))
    return head + b"".join(records) + emr(14, bytes(12))


def emr_text(
    raw: bytes, count: int, place: tuple[int, int] = (0, 0), kind: int = 84, options: int = 0, far: Sequence[int] = ()
) -> bytes:
    """EMR_EXTTEXTOUTW (84) or A (83): the text, then the distances."""
    padded = raw + bytes(-len(raw) % 4)
    distances = 76 + len(padded) if far else 0
    head = bytes(16) + struct.pack("<Iff", 1, 1.0, 1.0)
    text = struct.pack("<iiIII4iI", *place, count, 76, options, 0, 0, 0, 0, distances)
    return emr(kind, head + text + padded + struct.pack(f"<{len(far)}i", *far))


def wide(text: str, place: tuple[int, int] = (0, 0), **more: int | Sequence[int]) -> bytes:
    """EMR_EXTTEXTOUTW of a text."""
    return emr_text(text.encode("utf-16-le"), len(text), place, **more)  # type: ignore[arg-type]


def small(text: bytes, options: int) -> bytes:
    """EMR_SMALLTEXTOUT."""
    count = len(text) if options & 0x200 else len(text) // 2
    rectangle = b"" if options & 0x100 else bytes(16)
    return emr(108, struct.pack("<iiIIIff", 0, 50, count, options, 1, 1.0, 1.0) + rectangle + text)


def emr_font(number: int, charset: int) -> bytes:
    """EMR_EXTCREATEFONTINDIRECTW."""
    font = bytearray(FONT_BYTES)
    font[23] = charset
    return emr(82, struct.pack("<I", number) + bytes(font))


def plus(*records: bytes) -> bytes:
    """EMR_COMMENT with EMF+ records."""
    data = b"EMF+" + b"".join(records)
    return emr(70, struct.pack("<I", len(data)) + data)


def plus_record(kind: int, data: bytes, flags: int = 0) -> bytes:
    """A record of EMF+."""
    data += bytes(-len(data) % 4)
    return struct.pack("<HHII", kind, flags, 12 + len(data), len(data)) + data


def plus_string(text: str, y: float = 0.0) -> bytes:
    """EmfPlusDrawString."""
    return plus_record(0x401C, struct.pack("<IIIffff", 0, 0, len(text), 0, y, 9, 9) + text.encode("utf-16-le"))


def wmr(function: int, data: bytes = b"") -> bytes:
    """A record of a Windows metafile."""
    data += bytes(len(data) % 2)
    return struct.pack("<IH", 3 + len(data) // 2, function) + data


def wmf(*records: bytes, placeable: bool = False) -> bytes:
    """A Windows metafile of these records."""
    front = b"\xd7\xcd\xc6\x9a" + bytes(18) if placeable else b""
    return front + struct.pack("<HHHIHIH", 1, 9, 0x300, 0, 4, 0, 0) + b"".join(records) + wmr(0)


def wmr_font(charset: int) -> bytes:
    """META_CREATEFONTINDIRECT."""
    return wmr(0x02FB, bytes(13) + bytes((charset,)) + bytes(4) + b"Arial\0")


def wmr_text(raw: bytes, x: int = 0, y: int = 0) -> bytes:
    """META_TEXTOUT."""
    return wmr(0x0521, struct.pack("<H", len(raw)) + raw + bytes(len(raw) % 2) + struct.pack("<hh", y, x))


def wmr_ext_text(raw: bytes, x: int = 0, y: int = 0, options: int = 0, far: Sequence[int] = ()) -> bytes:
    """META_EXTTEXTOUT."""
    rectangle = bytes(8) if options & 6 else b""
    head = struct.pack("<hhHH", y, x, len(raw), options) + rectangle
    return wmr(0x0A32, head + raw + bytes(len(raw) % 2) + struct.pack(f"<{len(far)}h", *far))

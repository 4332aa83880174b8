"""Documents of Hancom's word processor for tests ("HWP Document File Formats 5.0", 3 and 4)."""

import struct
import zlib
from collections.abc import Callable

from readers.cfb import Storage, write

COMPRESSED, ENCRYPTED, FOR_DISTRIBUTION = 1, 2, 4


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def _record(tag: int, data: bytes, level: int = 0) -> bytes:
    return struct.pack("<I", tag | level << 10 | len(data) << 20) + data


def _paragraph(text: str) -> bytes:
    raw = f"{text}\r".encode("utf-16-le")
    return _record(66, struct.pack("<I18x", len(raw) // 2)) + _record(67, raw, 1)


def hwp(*texts: str, flags: int = COMPRESSED, packed: Callable[[bytes], bytes] = deflated, **objects: bytes) -> bytes:
    """One section with a paragraph for each text, and the objects of BinData: `BIN0001_png=…`."""
    packed = packed if flags & COMPRESSED else bytes
    section = b"".join(map(_paragraph, texts))
    streams = {
        "FileHeader": b"HWP Document File".ljust(32, b"\0") + struct.pack("<II216x", 0x05000300, flags),
        "DocInfo": packed(_record(16, struct.pack("<7H12x", *(7 * [1])))),
    }
    stored = [Storage("BodyText", streams={"Section0": packed(section)})]
    if objects:
        stored.append(Storage("BinData", streams={name.replace("_", "."): data for name, data in objects.items()}))
    return write(Storage(streams=streams, storages=stored))

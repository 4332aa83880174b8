"""What older Office documents and OLE objects hold, by olefile and the published layouts: for checking a manifest."""

import io
import struct
import zlib
from collections.abc import Iterator

import olefile

_EXTENSIONS = {0xF01D: b"jpg", 0xF01E: b"png"}
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def _package(stream: bytes) -> tuple[bytes, bytes]:
    """(name in UTF-8, bytes) of a stream Ole10Native that the Packager wrote."""
    assert stream[4:6] == b"\2\0"
    at = stream.index(b"\0", stream.index(b"\0", 6) + 1) + 5
    at += 4 + struct.unpack_from("<I", stream, at)[0]
    size = struct.unpack_from("<I", stream, at)[0]
    data, at = stream[at + 4 : at + 4 + size], at + 4 + size
    names = []
    for _ in range(3):
        count = struct.unpack_from("<I", stream, at)[0]
        names.append(stream[at + 4 : at + 4 + 2 * count].decode("utf-16-le"))
        at += 4 + 2 * count
    return names[1].encode(), data


def packed_file(data: bytes) -> tuple[bytes, bytes]:
    """The same of an OLE object in a compound file of its own."""
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        return _package(file.openstream("\x01Ole10Native").read())


def in_word(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Files in the object pool of a Word document, then pictures in its lines."""
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        for path in sorted(p for p in file.listdir() if p[0] == "ObjectPool" and p[-1] == "\x01Ole10Native"):
            yield _package(file.openstream(path).read())
        data = file.openstream("Data").read() if file.exists("Data") else b""
    at, number = 0, 0
    while at < len(data):
        size, head = struct.unpack_from("<IH", data, at)
        (_, _, shape), (_, _, entry) = _records(data[at + head : at + size])
        ((_, kind, blip),) = _records(entry[36:])
        assert shape
        at, number = at + size, number + 1
        yield b"picture%d.%b" % (number, _EXTENSIONS[kind]), blip[17:]


def in_powerpoint(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Files in the objects of a presentation, then its pictures."""
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        document = file.openstream("PowerPoint Document").read()
        pictures = file.openstream("Pictures").read() if file.exists("Pictures") else b""
    for _, kind, record in _records(document):
        if kind == 0x1011:
            yield packed_file(zlib.decompress(record[4:]))
    for number, (_, kind, record) in enumerate(_records(pictures), start=1):
        yield b"picture%d.%b" % (number, _EXTENSIONS[kind]), record[17:]


def _records(stream: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Instance, type and data of the records at the top."""
    at = 0
    while at < len(stream):
        first, kind, size = struct.unpack_from("<HHI", stream, at)
        yield first >> 4, kind, stream[at + 8 : at + 8 + size]
        at += 8 + size


def bytes_as_text(data: bytes) -> str:
    """Everything that could be text in these formats, in both widths."""
    return " ".join(
        (data.decode("latin-1"), data.decode("utf-16-le", "replace"), data[1:].decode("utf-16-le", "replace"))
    )

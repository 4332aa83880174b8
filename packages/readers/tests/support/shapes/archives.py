"""Archives that are read from front to back, and the images of discs."""

import bz2
import gzip
import io
import lzma
import struct
import zlib

import pycdlib
from archive_files import rar5_block, rar5_number, sevenz_with, written

from shapes.shape import shapes
from traces.blocks import zstd

# tar ---------------------------------------------------------------------------------------------------------------


def _header(kind: bytes, size: int, name: bytes = b"a") -> bytes:
    raw = bytearray(512)
    raw[: len(name)] = name
    raw[100:108], raw[124:136], raw[156:157], raw[257:265] = b"0000644\0", b"%011o\0" % size, kind, b"ustar\x0000"
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def _entry(kind: bytes, data: bytes) -> bytes:
    return _header(kind, len(data)) + data + bytes(-len(data) % 512)


def _record(key: bytes, value: bytes) -> bytes:
    length = len(key) + len(value) + 3
    while len(b"%d" % length) + len(key) + len(value) + 3 != length:
        length = len(b"%d" % length) + len(key) + len(value) + 3
    return b"%d %b=%b\n" % (length, key, value)


def _tar(*entries: bytes) -> bytes:
    return b"".join(entries) + bytes(1024)


def _one_name(n: int) -> bytes:
    """A name that holds for all entries."""
    return _tar(_entry(b"g", _record(b"path", b"a" * 100 * n)), _header(b"0", 0) * n)


# 7z and RAR --------------------------------------------------------------------------------------------------------


def _number(value: int) -> bytes:
    return b"\xf0" + value.to_bytes(4, "little") if value > 127 else bytes((value,))


def _files(count: int, *more: tuple[int, bytes]) -> bytes:
    names = b"\0" + b"a\0\0\0" * count
    given = [(17, names), *more]
    return b"\x05" + _number(count) + b"".join(bytes((k,)) + _number(len(d)) + d for k, d in given) + b"\0"


def _streams(packed: int, size: int, method: bytes, count: int, folders: int = 1) -> bytes:
    """One folder (or more, each empty but the first) with so many files of a byte."""
    coder = b"\x01" + bytes((len(method),)) + method
    pack = b"\x06\0\x01\x09" + _number(packed) + b"\0"
    unpack = b"\x07\x0b\x01\0" + coder + b"\x0c" + _number(size) + b"\0"
    sub = b"\x08\x0d" + _number(count) + b"\x09" + b"\x01" * (count - 1) + b"\0"
    return b"\x04" + pack + unpack + sub + b"\0"


def _tiny_members(n: int) -> bytes:
    return sevenz_with(b"\x01" + _streams(n, n, b"\0", n) + _files(n) + b"\0", b"x" * n)


def _tiny_streams(n: int) -> bytes:
    """One folder of many streams of bzip2."""
    packed = bz2.compress(b"a") * n
    return sevenz_with(b"\x01" + _streams(len(packed), n, b"\x04\x02\x02", n) + _files(n) + b"\0", packed)


def _empty_files(n: int) -> bytes:
    """Properties that say nothing of many empty files."""
    empty = (14, b"\0" * -(-n // 8))
    return sevenz_with(b"\x01" + _files(n, empty, *[(15, b"")] * n) + b"\0")


def _folders_of_ppmd(n: int) -> bytes:
    """Many folders of a method that is left to libarchive, all of them damaged."""
    coder = b"\x01\x23\x03\x04\x01\x05\x06\0\0\x01\0"
    streams = b"\x06\0" + _number(n) + b"\x09" + b"\x05" * n + b"\0"
    streams += b"\x07\x0b" + _number(n) + b"\0" + coder * n + b"\x0c" + b"\x05" * n + b"\0"
    return sevenz_with(b"\x01\x04" + streams + b"\0" + _files(n) + b"\0", b"\xff" * 5 * n)


def _many_crcs(n: int) -> bytes:
    """CRCs of no file, again and again, of many folders."""
    coder = b"\x01\x01\0"
    streams = b"\x06\0" + _number(n) + b"\x09" + b"\0" * n + b"\0"
    streams += b"\x07\x0b" + _number(n) + b"\0" + coder * n + b"\x0c" + b"\0" * n + b"\x0a\x01" + bytes(4 * n) + b"\0"
    streams += b"\x08" + b"\x0a\x01" * n + b"\0"
    return sevenz_with(b"\x01\x04" + streams + b"\0" + _files(n) + b"\0")


def _rar(n: int, extra: bytes = b"") -> bytes:
    body = b"\x04\x01" + rar5_number(0o644) + struct.pack("<L", zlib.crc32(b"x")) + b"\0\x01\x01a"
    return (
        b"Rar!\x1a\x07\x01\0" + rar5_block(1, b"\0", extra=extra) + rar5_block(2, body, b"x") * n + rar5_block(5, b"\0")
    )


# ar, cpio, cab, discs ----------------------------------------------------------------------------------------------


def _ar(n: int, names: bytes = b"") -> bytes:
    table = b"%-48b%-10d`\n" % (b"//", len(names)) + names + b"\n" * (len(names) % 2) if names else b""
    member = b"%-16b%-12d%-6d%-6d%-8d%-10d`\n" % (b"/0" if names else b"a/", 0, 0, 0, 644, 0)
    return b"!<arch>\n" + table + member * n


def _cpio(n: int) -> bytes:
    fields = b"070701" + b"%08X" % 1 + b"%08X" % 0o100644 + b"%08X" * 11 % (0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0) + b"a\0"
    last = b"070701" + b"%08X" * 13 % (0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 0) + b"TRAILER!!!\0\0\0\0"
    return fields * n + last


def _cab(n: int) -> bytes:
    """Stored files without bytes, at most as many as the header can count, of one folder."""
    count = min(n, 65_000)
    file = struct.pack("<LLHHHH", 0, 0, 0, 0, 0, 0x20) + b"a\0"
    head = struct.pack("<4sLLLLLBBHHHHH", b"MSCF", 0, 36 + 8 + len(file) * count, 0, 44, 0, 3, 1, 1, count, 0, 0, 0)
    return head + struct.pack("<LHH", 36 + 8 + len(file) * count, 0, 0) + file * count


def _disc(n: int) -> bytes:
    image = pycdlib.PyCdlib()
    image.new(interchange_level=4)
    for i in range(n):
        image.add_fp(io.BytesIO(b"x"), 1, f"/F{i:06}")
    return written(image)


def _directories(n: int) -> bytes:
    image = pycdlib.PyCdlib()
    image.new(interchange_level=4)
    for i in range(n):
        image.add_directory(f"/D{i:06}")
    return written(image)


def _packed_tar(n: int) -> bytes:
    return _tar(_entry(b"0", b"x") * n)


SHAPES = [
    *shapes(
        "application/x-tar",
        ("tiny members", 1_000, lambda n: _tar(_entry(b"0", b"x") * n)),
        ("no headers", 5_000, lambda n: _tar(_entry(b"0", b"x"), b"not a header".ljust(512, b".") * n)),
        ("records of a header", 5_000, lambda n: _tar(_entry(b"x", _record(b"a", b"b") * n), _entry(b"0", b"x"))),
        (
            "headers for one member",
            500,
            lambda n: _tar(_entry(b"x", _record(b"GNU.sparse.x", b"b")) * n, _entry(b"0", b"x")),
        ),
        ("one name for all", 1_000, _one_name),
        ("links", 1_000, lambda n: _tar(_header(b"2", 0) * n)),
    ),
    *shapes(
        "application/gzip",
        ("tiny members", 4_000, lambda n: gzip.compress(b"", mtime=0) * n),
        ("padding", 4_000, lambda n: (gzip.compress(b"", mtime=0) + bytes(20)) * n),
        ("a tar", 500, lambda n: gzip.compress(_packed_tar(n), 1, mtime=0)),
        ("zeros", 100, lambda n: gzip.compress(bytes(10_000 * n), 1, mtime=0)),
    ),
    *shapes("application/x-bzip2", ("tiny streams", 1_000, lambda n: bz2.compress(b"") * n)),
    *shapes("application/x-xz", ("tiny streams", 300, lambda n: lzma.compress(b"", preset=0) * n)),
    *shapes(
        "application/x-lzma", ("zeros", 100, lambda n: lzma.compress(bytes(10_000 * n), lzma.FORMAT_ALONE, preset=0))
    ),
    *shapes("application/zstd", ("tiny frames", 1_000, lambda n: zstd.compress(b"a") * n)),
    *shapes(
        "application/x-7z-compressed",
        ("tiny members", 4_000, _tiny_members),
        ("tiny streams", 1_000, _tiny_streams),
        ("properties of empty files", 1_500, _empty_files),
        ("CRCs of no file", 1_000, _many_crcs),
        ("folders of PPMd", 1_000, _folders_of_ppmd),
    ),
    *shapes("application/x-archive-part", ("a part", 1_000, lambda n: b"x" * n)),
    *shapes(
        "application/vnd.rar",
        ("tiny members", 200, _rar),
        ("tiny members behind a long header", 200, lambda n: _rar(n, b"\x01\x7f" * 500 * n)),
    ),
    *shapes("application/vnd.ms-cab-compressed", ("empty files", 2_000, _cab)),
    *shapes(
        "application/x-dosexec",
        ("a cabinet behind it", 2_000, lambda n: b"MZ".ljust(64, b"\0") + _cab(n)),
        ("what may begin archives", 20_000, lambda n: b"MZ".ljust(64, b"\0") + b"MSCF\0\0\0\0" * n),
    ),
    *shapes(
        "application/x-archive",
        ("tiny members", 1_000, _ar),
        ("members of one long name", 1_000, lambda n: _ar(n, b"a" * 50 * n + b"/\n")),
    ),
    *shapes("application/x-cpio", ("tiny members", 1_000, _cpio)),
    *shapes("application/x-iso9660-image", ("files", 100, _disc), ("directories", 100, _directories)),
]

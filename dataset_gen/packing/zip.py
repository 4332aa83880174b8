"""A small zip writer (PKWARE APPNOTE 6.3): deflate and stored members, directories, traditional encryption, zip64 for
archives over 4 GB or 65,534 members (a member itself stays below 4 GB)."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import deflate

from dataset_gen.rng import Dice

LEVEL = 1


def deflated(data: bytes) -> bytes:
    """A raw DEFLATE stream (RFC 1951)."""
    return bytes(deflate.deflate_compress(data, LEVEL))


def zlib_stream(data: bytes) -> bytes:
    """A zlib stream (RFC 1950), as PNG holds it."""
    return bytes(deflate.zlib_compress(data, LEVEL))


def crc32(data: bytes) -> int:
    """CRC-32 as zip, gzip and PNG use it."""
    return deflate.crc32(data)


@functools.cache
def deflated_zeros(count: int) -> tuple[bytes, int]:
    """`count` zero bytes compressed, and their CRC-32; made once a process (the zip bomb)."""
    zeros = bytes(count)
    return deflated(zeros), crc32(zeros)


_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<IIQI")
_MASK16, _MASK32 = 0xFFFF, 0xFFFFFFFF  # where a field has these, the zip64 field holds the number
_UTF8, _ENCRYPTED = 0x800, 0x1
_STORED, _DEFLATED = 0, 8


def _crc_table() -> tuple[int, ...]:
    out = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ 0xEDB88320 if n & 1 else n >> 1
        out.append(n)
    return tuple(out)


_TABLE = _crc_table()


def encrypt(data: bytes, password: bytes, crc: int, dice: Dice) -> bytes:
    """Traditional PKWARE encryption, APPNOTE §6.1: a 12-byte header, then the data."""
    a, b, c = 0x12345678, 0x23456789, 0x34567890

    def update(byte: int) -> None:
        nonlocal a, b, c
        a = (a >> 8) ^ _TABLE[(a ^ byte) & 0xFF]
        b = ((b + (a & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        c = (c >> 8) ^ _TABLE[(c ^ (b >> 24)) & 0xFF]

    for byte in password:
        update(byte)
    out = bytearray()
    for byte in dice.noise(11) + bytes((crc >> 24,)) + data:
        t = c | 2
        out.append(byte ^ (((t * (t ^ 1)) >> 8) & 0xFF))
        update(byte)
    return bytes(out)


@dataclass(slots=True)
class ZipWriter:
    """Puts members one after the other; `finish` adds the directory. With a `sink`, bytes go there as they come, so
    that an archive may be larger than memory."""

    dos_time: int = 0x6000
    dos_date: int = 0x5021  # 2020-01-01
    pieces: list[bytes] = field(default_factory=list)
    central: list[bytes] = field(default_factory=list)
    size: int = 0  # bytes put so far
    sink: Callable[[bytes], object] | None = None

    def add(
        self,
        name: bytes,
        data: bytes,
        *,
        store: bool = False,
        utf8: bool | None = None,
        encryption: tuple[bytes, Dice] | None = None,
    ) -> int:
        """Put one member, deflated where that is shorter; returns its packed bytes.

        `utf8` None marks the name as UTF-8 when it is and needs to be; `encryption` is (password, dice).
        """
        packed = data if store else deflated(data)
        if len(packed) >= len(data):
            packed, store = data, True
        return self.put(name, packed, len(data), crc32(data), store=store, utf8=utf8, encryption=encryption)

    def put(
        self,
        name: bytes,
        packed: bytes,
        size: int,
        crc: int,
        *,
        store: bool = False,
        utf8: bool | None = None,
        encryption: tuple[bytes, Dice] | None = None,
    ) -> int:
        """Put a member that is packed already."""
        flags = _UTF8 if (not name.isascii() if utf8 is None else utf8) else 0
        if encryption is not None:
            packed = encrypt(packed, encryption[0], crc, encryption[1])
            flags |= _ENCRYPTED
        method = _STORED if store else _DEFLATED
        common = (flags, method, self.dos_time, self.dos_date, crc, len(packed), size, len(name), 0)
        offset = self.size
        directory = 0x10 if name.endswith(b"/") else 0
        self._write(_LOCAL.pack(0x04034B50, 20, *common))
        self._write(name)
        self._write(packed)
        wide = struct.pack("<HHQ", 1, 8, offset) if offset >= _MASK32 else b""
        fields = (*common[:-1], len(wide), 0, 0, 0, directory, min(offset, _MASK32))
        self.central.append(_CENTRAL.pack(0x02014B50, 20, 45 if wide else 20, *fields) + name + wide)
        return len(packed)

    def add_directory(self, name: bytes) -> None:
        """A directory entry; `name` ends with a slash."""
        self.add(name, b"", store=True)

    def finish(self) -> bytes:
        """All bytes of the archive; with a sink none, they are there."""
        start, count = self.size, len(self.central)
        self._write(b"".join(self.central))
        length, end = self.size - start, self.size
        if count >= _MASK16 or length >= _MASK32 or start >= _MASK32:
            self._write(_END64.pack(0x06064B50, 44, 45, 45, 0, 0, count, count, length, start))
            self._write(_LOCATOR64.pack(0x07064B50, 0, end, 1))
        shown = min(count, _MASK16)
        self._write(_END.pack(0x06054B50, 0, 0, shown, shown, min(length, _MASK32), min(start, _MASK32), 0))
        return b"".join(self.pieces)

    def _write(self, data: bytes) -> None:
        if self.sink is None:
            self.pieces.append(data)
        else:
            self.sink(data)
        self.size += len(data)

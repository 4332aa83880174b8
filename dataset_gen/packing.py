"""Writers of compressed bytes: deflate, zip (PKWARE APPNOTE 6.3) and 7z (7zFormat.txt of the LZMA SDK).

zip: deflate and stored members, directories, traditional encryption, zip64 for archives over 4 GB or 65,534 members (a
member itself stays below 4 GB). 7z: solid blocks under Copy, Deflate or AES-256, a packed header; LZMA is left out on
purpose: xz's output depends on its version, libdeflate's is pinned (see `deflated`)."""

from __future__ import annotations

import functools
import hashlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import deflate
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dataset_gen.rng import Dice

LEVEL = 1


def deflated(data: bytes) -> bytes:
    """Return a raw DEFLATE stream (RFC 1951)."""
    return bytes(deflate.deflate_compress(data, LEVEL))


def zlib_stream(data: bytes) -> bytes:
    """Return a zlib stream (RFC 1950), as PNG holds it."""
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


def _crc_step(crc: int, byte: int) -> int:
    """Return the CRC-32 of APPNOTE §6.1 with one more byte: neither its start nor its end is inverted."""
    return zlib.crc32(bytes((byte,)), crc ^ _MASK32) ^ _MASK32


def pkware_encrypt(data: bytes, password: bytes, crc: int, dice: Dice) -> bytes:
    """Traditional PKWARE encryption, APPNOTE §6.1: a 12-byte header, then the data."""
    a, b, c = 0x12345678, 0x23456789, 0x34567890

    def update(byte: int) -> None:
        nonlocal a, b, c
        a = _crc_step(a, byte)
        b = ((b + (a & 0xFF)) * 134775813 + 1) & _MASK32
        c = _crc_step(c, b >> 24)

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
    """Writer of members, one after the other; `finish` adds the directory.

    With a `sink`, bytes are written there at once, so that an archive may be larger than memory."""

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

        `utf8` None marks the name as UTF-8 when it is and needs to be; `encryption` is (password, dice)."""
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
        """Put a member that is already packed."""
        flags = _UTF8 if (not name.isascii() if utf8 is None else utf8) else 0
        if encryption is not None:
            packed = pkware_encrypt(packed, encryption[0], crc, encryption[1])
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
        """Add a directory entry; `name` ends with a slash."""
        self.add(name, b"", store=True)

    def finish(self) -> bytes:
        """Return all bytes of the archive; none with a sink, which has them."""
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


_END_ID, _HEADER, _MAIN, _FILES, _PACK, _UNPACK, _SUBSTREAMS, _SIZE, _CRC, _FOLDER, _UNPACK_SIZE, _NUMBER = (
    0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
)  # fmt: skip
_EMPTY_STREAM, _EMPTY_FILE, _NAMES, _MTIME, _ATTRIBUTES, _ENCODED = 14, 15, 17, 20, 21, 23
_COPY, _DEFLATE, _AES = b"\x00", b"\x04\x01\x08", b"\x06\xf1\x07\x01"
_ROUNDS_POWER = 12  # 2^12 rounds of key derivation; 7-Zip's own 2^19 would cost 0.2 s a corpus and prove nothing more
_FILE, _DIRECTORY = 0x8020 | 0o100644 << 16, 0x8010 | 0o040755 << 16  # Windows and Unix attributes, as 7-Zip has them
_FILETIME_EPOCH = 11_644_473_600  # seconds from 1601 to 1970


def number(value: int) -> bytes:
    """Encode a number in one to nine bytes; the leading ones of the first byte give the number of those that follow."""
    for extra in range(8):
        if value < 1 << (7 * (extra + 1)):
            first = (0xFF00 >> extra) & 0xFF | value >> (8 * extra)
            return bytes((first,)) + (value & ((1 << 8 * extra) - 1)).to_bytes(extra, "little")
    return b"\xff" + value.to_bytes(8, "little")


def _bits(flags: list[bool]) -> bytes:
    out = bytearray(-(-len(flags) // 8))
    for i, flag in enumerate(flags):
        if flag:
            out[i >> 3] |= 0x80 >> (i & 7)
    return bytes(out)


@functools.cache
def _key(password: str) -> bytes:
    """Return the AES key of a password without salt: SHA-256 over password and counter, 2^power times."""
    raw = password.encode("utf-16-le")
    return hashlib.sha256(b"".join(raw + struct.pack("<Q", i) for i in range(1 << _ROUNDS_POWER))).digest()


@dataclass(frozen=True, slots=True)
class _Block:
    """A folder of the format: files packed together."""

    packed: bytes
    coders: bytes  # as the header has them
    unpacked: tuple[int, ...]  # bytes that each coder gives
    sizes: tuple[int, ...]
    crcs: tuple[int, ...]


@dataclass(slots=True)
class SevenZipWriter:
    """Writer of blocks, one after the other; `finish` adds the header.

    Names of directories end with a slash; entries without bytes are first, as in 7-Zip."""

    mtime: int  # seconds since 1970, of every entry
    password: str | None = None
    iv: bytes = b""  # 16 bytes, with a password
    hide_names: bool = False  # the header is encrypted too
    blocks: list[_Block] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def add(self, names: list[str], pieces: list[bytes], *, store: bool = False) -> int:
        """Add one block of files that are not empty; return its packed bytes."""
        self.names += names
        self.blocks.append(self._block(pieces, store, self.password is not None))
        return len(self.blocks[-1].packed)

    def add_empty(self, name: str) -> None:
        """Add a directory or an empty file."""
        self.empty.append(name)

    def _block(self, pieces: list[bytes], store: bool, encrypted: bool) -> _Block:
        plain = b"".join(pieces)
        coded = plain if store else deflated(plain)
        method = _COPY if store else _DEFLATE
        coder = bytes((len(method),)) + method
        sizes, crcs = tuple(map(len, pieces)), tuple(map(crc32, pieces))
        if not encrypted:
            return _Block(coded, b"\x01" + coder, (len(plain),), sizes, crcs)
        assert self.password is not None
        cipher = Cipher(algorithms.AES256(_key(self.password)), modes.CBC(self.iv)).encryptor()
        packed = cipher.update(coded + bytes(-len(coded) % 16)) + cipher.finalize()
        properties = bytes((0x40 | _ROUNDS_POWER, 0x0F)) + self.iv  # no salt, an IV of 16 bytes
        aes = bytes((0x24,)) + _AES + number(len(properties)) + properties
        # Two coders: AES first, whose stream out (0) feeds the other's stream in (1).
        return _Block(packed, b"\x02" + aes + coder + b"\x01\x00", (len(coded), len(plain)), sizes, crcs)

    def finish(self) -> bytes:
        """All bytes of the archive."""
        streams = bytes((_MAIN,)) + self._streams(self.blocks, 0, files=True) if self.blocks else b""
        header = bytes((_HEADER,)) + streams + self._files() + bytes((_END_ID,))
        pieces = [block.packed for block in self.blocks]
        if self.hide_names or len(header) > 400:
            packed = self._block([header], store=False, encrypted=self.hide_names)
            header = bytes((_ENCODED,)) + self._streams([packed], sum(map(len, pieces)), files=False)
            pieces.append(packed.packed)
        start = struct.pack("<QQL", sum(map(len, pieces)), len(header), crc32(header))
        return b"".join((b"7z\xbc\xaf\x27\x1c\0\4", struct.pack("<L", crc32(start)), start, *pieces, header))

    def _streams(self, blocks: list[_Block], position: int, *, files: bool) -> bytes:
        """StreamsInfo; `files`: blocks are cut into files."""
        out = [bytes((_PACK,)), number(position), number(len(blocks)), bytes((_SIZE,))]
        out += [number(len(block.packed)) for block in blocks]
        out += [bytes((_END_ID, _UNPACK, _FOLDER)), number(len(blocks)), b"\0", *(block.coders for block in blocks)]
        out += [bytes((_UNPACK_SIZE,)), *(number(size) for block in blocks for size in block.unpacked)]
        if not files:
            crcs = [struct.pack("<L", crc) for block in blocks for crc in block.crcs]
            return b"".join((*out, bytes((_CRC, 1)), *crcs, bytes((_END_ID, _END_ID))))
        out += [bytes((_END_ID, _SUBSTREAMS, _NUMBER)), *(number(len(block.sizes)) for block in blocks)]
        out += [bytes((_SIZE,)), *(number(size) for block in blocks for size in block.sizes[:-1])]
        out += [bytes((_CRC, 1)), *(struct.pack("<L", crc) for block in blocks for crc in block.crcs)]
        return b"".join((*out, bytes((_END_ID, _END_ID))))

    def _files(self) -> bytes:
        names = [*self.empty, *self.names]
        count = len(names)
        folders = [name.endswith("/") for name in self.empty]
        out = [bytes((_FILES,)), number(count)]
        if self.empty:
            out.append(_property(_EMPTY_STREAM, _bits([i < len(self.empty) for i in range(count)])))
            out.append(_property(_EMPTY_FILE, _bits([not folder for folder in folders])))
        text = "".join(name.rstrip("/") + "\0" for name in names).encode("utf-16-le")
        out.append(_property(_NAMES, b"\0" + text))
        when = struct.pack("<Q", (self.mtime + _FILETIME_EPOCH) * 10_000_000)
        out.append(_property(_MTIME, b"\1\0" + when * count))
        attributes = [_DIRECTORY if name.endswith("/") else _FILE for name in names]
        out.append(_property(_ATTRIBUTES, b"\1\0" + struct.pack(f"<{count}L", *attributes)))
        return b"".join((*out, bytes((_END_ID,))))


def _property(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + number(len(content)) + content

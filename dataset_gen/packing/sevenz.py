"""A small 7z writer (7zFormat.txt of the LZMA SDK): solid blocks under Copy, Deflate or AES-256, a packed header.

LZMA is left out on purpose: xz's output depends on its version, libdeflate's is pinned (see `compress`).
"""

from __future__ import annotations

import functools
import hashlib
import struct
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dataset_gen.packing.zip import crc32, deflated

_END, _HEADER, _MAIN, _FILES, _PACK, _UNPACK, _SUBSTREAMS, _SIZE, _CRC, _FOLDER, _UNPACK_SIZE, _NUMBER = (
    0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
)  # fmt: skip
_EMPTY_STREAM, _EMPTY_FILE, _NAMES, _MTIME, _ATTRIBUTES, _ENCODED = 14, 15, 17, 20, 21, 23
_COPY, _DEFLATE, _AES = b"\x00", b"\x04\x01\x08", b"\x06\xf1\x07\x01"
_ROUNDS_POWER = 12  # 2^12 rounds of key derivation; 7-Zip's own 2^19 would cost 0.2 s a corpus and prove nothing more
_FILE, _DIRECTORY = 0x8020 | 0o100644 << 16, 0x8010 | 0o040755 << 16  # Windows and Unix attributes, as 7-Zip has them
_FILETIME_EPOCH = 11_644_473_600  # seconds from 1601 to 1970


def number(value: int) -> bytes:
    """One to nine bytes; the ones at the top of the first say how many follow."""
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
    """The AES key of a password without salt: SHA-256 over password and counter, 2^power times."""
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
    """Blocks one after the other; `finish` puts the header behind them. Names end with a slash where they are
    directories; entries without bytes come first, as 7-Zip has them."""

    mtime: int  # seconds since 1970, of every entry
    password: str | None = None
    iv: bytes = b""  # 16 bytes, with a password
    hide_names: bool = False  # the header is encrypted too
    blocks: list[_Block] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def add(self, names: list[str], pieces: list[bytes], *, store: bool = False) -> int:
        """One block of files that are not empty; returns its packed bytes."""
        self.names += names
        self.blocks.append(self._block(pieces, store, self.password is not None))
        return len(self.blocks[-1].packed)

    def add_empty(self, name: str) -> None:
        """A directory or an empty file."""
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
        header = self._header()
        pieces = [block.packed for block in self.blocks]
        if self.hide_names or len(header) > 400:
            packed = self._block([header], store=False, encrypted=self.hide_names)
            header = bytes((_ENCODED,)) + self._streams([packed], sum(map(len, pieces)), files=False)
            pieces.append(packed.packed)
        start = struct.pack("<QQL", sum(map(len, pieces)), len(header), crc32(header))
        return b"".join((b"7z\xbc\xaf\x27\x1c\0\4", struct.pack("<L", crc32(start)), start, *pieces, header))

    def _header(self) -> bytes:
        streams = bytes((_MAIN,)) + self._streams(self.blocks, 0, files=True) if self.blocks else b""
        return bytes((_HEADER,)) + streams + self._files() + bytes((_END,))

    def _streams(self, blocks: list[_Block], position: int, *, files: bool) -> bytes:
        """StreamsInfo; `files`: blocks are cut into files."""
        out = [bytes((_PACK,)), number(position), number(len(blocks)), bytes((_SIZE,))]
        out += [number(len(block.packed)) for block in blocks]
        out += [bytes((_END, _UNPACK, _FOLDER)), number(len(blocks)), b"\0", *(block.coders for block in blocks)]
        out += [bytes((_UNPACK_SIZE,)), *(number(size) for block in blocks for size in block.unpacked)]
        if not files:
            crcs = [struct.pack("<L", crc) for block in blocks for crc in block.crcs]
            return b"".join((*out, bytes((_CRC, 1)), *crcs, bytes((_END, _END))))
        out += [bytes((_END, _SUBSTREAMS, _NUMBER)), *(number(len(block.sizes)) for block in blocks)]
        out += [bytes((_SIZE,)), *(number(size) for block in blocks for size in block.sizes[:-1])]
        out += [bytes((_CRC, 1)), *(struct.pack("<L", crc) for block in blocks for crc in block.crcs)]
        return b"".join((*out, bytes((_END, _END))))

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
        return b"".join((*out, bytes((_END,))))


def _property(kind: int, content: bytes) -> bytes:
    return bytes((kind,)) + number(len(content)) + content

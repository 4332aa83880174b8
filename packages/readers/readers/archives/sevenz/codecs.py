"""The decoders of 7z folders as one chain that is pulled at its end (Methods.txt of the LZMA SDK)."""

from __future__ import annotations

import bz2
import functools
import hashlib
import itertools
import lzma
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

from readers.archives.sevenz.header import AES, Coder, Folder
from readers.ciphers import aes_cbc
from readers.errors import DocumentError, corrupt, encrypted, too_large, unsupported
from readers.inflate import DECODE_ERRORS, Deflate64, raw_inflate, zstd_decompressor
from readers.passwords import needed
from readers.streams import CHUNK

# AES in 7z archives: coder 06F10701 of the LZMA SDK (Methods.txt; its properties as in 7zAes.cpp's description).

_MOST_POWER = 24  # exponent of two: the most rounds that 7-Zip allows
_NO_ROUNDS = 0x3F
BLOCK = 16  # bytes
_ROWS = 1 << 8  # rounds that are hashed at once
_COST_A_ROUND = 0.12  # microseconds


class Properties:
    """Parameters that make a password the key of one coder."""

    def __init__(self, data: bytes) -> None:
        """Parse the properties. Raises DocumentError `unsupported` if 7-Zip does not write such."""
        first, second = (data + b"\0\0")[:2]
        salt = (first >> 7) + (second >> 4) if first & 0xC0 else 0
        vector = (first >> 6 & 1) + (second & 15) if first & 0xC0 else 0
        self.power = first & 0x3F
        self.salt = data[2 : 2 + salt]
        self.vector = data[2 + salt : 2 + salt + vector].ljust(BLOCK, b"\0")
        long_enough = len(data) >= (2 + salt + vector if first & 0xC0 else 1)
        if not long_enough or (self.power > _MOST_POWER and self.power != _NO_ROUNDS):
            raise unsupported("AES with unknown properties")

    @property
    def cost(self) -> float:
        """Microseconds to try one password."""
        return 1_000.0 + (0 if self.power == _NO_ROUNDS else _COST_A_ROUND * (1 << self.power))


# 7-Zip writes no salt, so a password has the same key in every archive: a bank is derived once in a process.
@functools.lru_cache(maxsize=1024)
def _key(password: str, salt: bytes, power: int) -> bytes:
    """Return the SHA-256 over salt, password and round number, for each round. One block of memory holds many rounds
    and its numbers are written in columns, because a step of Python for each would take ten times as long."""
    row = salt + password.encode("utf-16-le", "surrogatepass")
    if power == _NO_ROUNDS:
        return row[:32].ljust(32, b"\0")
    state = hashlib.sha256()
    rows, step = min(_ROWS, 1 << power), len(row) + 8
    block = bytearray((row + bytes(8)) * rows)
    block[len(row) :: step] = bytes(range(rows))
    for high in range((1 << power) // rows):
        for column in (0, 1):  # 2^24 rounds have numbers of three bytes
            block[len(row) + 1 + column :: step] = bytes((high >> 8 * column & 0xFF,)) * rows
        state.update(block)
    return state.digest()


def last_block(properties: bytes, password: str, before: bytes, block: bytes) -> bytes:
    """Decrypt the last block of a stream; `before` is the preceding block, b"" if it is the only one."""
    aes = Properties(properties)
    key = _key(password, aes.salt, aes.power)
    return aes_cbc(key, before or aes.vector).update(block)


class Aes:
    """The stage that decrypts AES."""

    wants_more = True

    def __init__(self, properties: bytes, password: str) -> None:
        aes = Properties(properties)
        key = _key(password, aes.salt, aes.power)
        self._cipher = aes_cbc(key, aes.vector)
        self._held = b""

    def feed(self, data: bytes, last: bool) -> bytes:
        """Return the whole blocks of the bytes so far, decrypted."""
        data = self._held + data
        whole = len(data) // BLOCK * BLOCK
        self._held = data[whole:]
        return self._cipher.update(data[:whole])


_MOST_DICTIONARY = 1 << 28  # bytes that all coders of a folder may keep; at its highest level 7-Zip takes 2^28 for one
_FIRST_STEP, _STEP = 1 << 9, 1 << 12  # bytes of a stream that are decoded at once, so that little before damage is lost
_FILTERS = {  # by method, the class of package `bcj`
    bytes.fromhex("03030103"): "BCJDecoder",
    bytes.fromhex("03030205"): "PPCDecoder",
    bytes.fromhex("03030401"): "IA64Decoder",
    bytes.fromhex("03030501"): "ARMDecoder",
    bytes.fromhex("03030701"): "ARMTDecoder",
    bytes.fromhex("03030805"): "SparcDecoder",
    b"\x04": "BCJDecoder",
    b"\x05": "PPCDecoder",
    b"\x06": "IA64Decoder",
    b"\x07": "ARMDecoder",
    b"\x08": "ARMTDecoder",
    b"\x09": "SparcDecoder",
}


class _Copy:
    wants_more = True

    def feed(self, data: bytes, last: bool) -> bytes:
        return data


class _Bounded:
    """Decoders with the interface of `bz2` and `lzma`; a new one for each of several streams in a row, unless what
    follows the first is no stream (`alone`)."""

    def __init__(self, make: Callable[[], Any], *, alone: bool = False) -> None:
        self._make, self._codec, self._alone = make, make(), alone
        self._fed, self._at, self._step = b"", 0, _FIRST_STEP

    @property
    def wants_more(self) -> bool:
        return self._at >= len(self._fed) and bool(self._codec.eof or self._codec.needs_input)

    def feed(self, data: bytes, last: bool) -> bytes:
        """Decode some bytes. A new stream is fed little first, because many short ones may follow."""
        if data:
            self._fed, self._at = self._fed[self._at :] + data, 0
        if self._codec.eof:
            if self._alone or self._at >= len(self._fed):
                self._fed, self._at = b"", 0
                return b""
            self._codec, self._step = self._make(), _FIRST_STEP
        some = self._fed[self._at : self._at + self._step] if self._codec.needs_input else b""
        self._at, self._step = self._at + len(some), min(_STEP, 2 * self._step)
        out: bytes = self._codec.decompress(some, CHUNK)
        if self._codec.eof:
            self._fed, self._at = self._codec.unused_data + self._fed[self._at :], 0
        return out


class _Branches:
    """The filters that make branch addresses of programs relative."""

    wants_more = True

    def __init__(self, make: Callable[[int], Any], size: int) -> None:
        self._codec, self._left = make(size), size

    def feed(self, data: bytes, last: bool) -> bytes:
        data = data[: self._left]
        self._left -= len(data)
        out: bytes = self._codec.decode(data) if data else b""
        return out


class _Delta:
    """The filter in which each byte is the difference from the one `distance` before it."""

    wants_more = True

    def __init__(self, distance: int) -> None:
        self._distance = distance
        self._before = bytes(distance)
        self._held = b""

    def feed(self, data: bytes, last: bool) -> bytes:
        data = self._held + data
        keep = 0 if last else len(data) % self._distance
        self._held = data[len(data) - keep :]
        out = bytearray(len(data) - keep)
        for lane in range(min(self._distance, len(out))):
            steps = itertools.accumulate(data[lane : len(out) : self._distance], initial=self._before[lane])
            out[lane :: self._distance] = bytes(value & 0xFF for value in itertools.islice(steps, 1, None))
        if len(out) >= self._distance:
            self._before = bytes(out[-self._distance :])
        return bytes(out)


# One decoder. `feed` takes bytes (none unless `wants_more`) and returns some, perhaps none.
_Stage = Aes | _Copy | _Bounded | _Branches | _Delta


class FolderReader:
    """Decoded bytes of one folder, forwards. After an error the rest of the folder cannot be decoded, so every later
    read raises the same error."""

    def __init__(self, file: BinaryIO, folder: Folder, archive_size: int, password: str | None = None) -> None:
        self._file, self._at, self._left = file, folder.position, folder.packed
        self.problem = folder.problem
        self._stages: list[_Stage] = []
        self._rest = [coder.size for coder in folder.chain]
        self._buffer, self._taken = b"", 0
        if self.problem is None and folder.position + folder.packed > archive_size:
            self.problem = corrupt("packed data beyond the end of the archive")
        if self.problem is None:
            try:
                self._stages = _stages(folder.chain, password)
            except DocumentError as error:
                self.problem = error

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes; b"" at the end. Raises `corrupt`, `unsupported` or `too_large`."""
        if self.problem is not None:
            raise self.problem
        if self._taken >= len(self._buffer):
            try:
                self._buffer, self._taken = self._pull(len(self._stages) - 1), 0
            except DocumentError as error:
                self.problem = error
                raise
            except DECODE_ERRORS as error:
                self.problem = corrupt(f"the packed data is damaged: {error}")
                raise self.problem from error
        out = self._buffer[self._taken : self._taken + count]
        self._taken += len(out)
        return out

    def _pull(self, number: int) -> bytes:
        """Return the next bytes of a stage, up to its announced size."""
        if number < 0:
            return self._packed()
        stage = self._stages[number]
        while self._rest[number] > 0:
            data = self._pull(number - 1) if stage.wants_more else b""
            last = stage.wants_more and not data
            out = stage.feed(data, last)[: self._rest[number]]
            self._rest[number] -= len(out)
            if out:
                return out
            if last:
                break
        return b""

    def _packed(self) -> bytes:
        self._file.seek(self._at)
        data = self._file.read(min(CHUNK, self._left))
        self._at += len(data)
        self._left -= len(data)
        return data


def _stages(chain: tuple[Coder, ...], password: str | None) -> list[_Stage]:
    """Return the decoders of a chain. Raises DocumentError `unsupported` for an unknown one, `too_large` for
    dictionaries over the limit, `encrypted` for one that needs a password if there is none."""
    stages: list[_Stage] = []
    dictionaries = 0
    for coder in chain:
        spec = _lzma_filter(coder)
        if spec is not None:
            dictionaries += spec["dict_size"]
            if dictionaries > _MOST_DICTIONARY:
                raise too_large(f"it needs a dictionary of {dictionaries} bytes")
        try:
            stages.append(_stage(coder, spec) if coder.method != AES else _aes(coder, password))
        except DECODE_ERRORS as error:
            raise unsupported(f"settings of {coder.method.hex()}: {error}") from error
    return stages


def _aes(coder: Coder, password: str | None) -> _Stage:
    if password is None:
        raise encrypted(needed(0, 0))
    return Aes(coder.properties, password)


def _lzma_filter(coder: Coder) -> dict[str, int] | None:
    """Return the parameters of liblzma; None for other methods. The dictionary is not larger than the output."""
    given = coder.properties
    if coder.method == b"\x03\x01\x01" and len(given) == 5 and given[0] < 225:
        size = struct.unpack_from("<L", given, 1)[0]
        spec = {"id": lzma.FILTER_LZMA1, "lc": given[0] % 9, "lp": given[0] // 9 % 5, "pb": given[0] // 45}
    elif coder.method == b"\x21" and len(given) == 1 and given[0] <= 40:
        size = (2 | given[0] & 1) << (given[0] // 2 + 11)
        spec = {"id": lzma.FILTER_LZMA2}
    else:
        return None
    return {**spec, "dict_size": max(4096, min(size, coder.size, (1 << 32) - 1))}


def _stage(coder: Coder, spec: dict[str, int] | None) -> _Stage:
    method = coder.method
    if spec is not None:
        return _Bounded(lambda: lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[spec]))
    if method == b"\x00":
        return _Copy()
    if method == b"\x04\x01\x08":
        return _Bounded(raw_inflate, alone=True)
    if method == b"\x04\x01\x09":
        return _Bounded(Deflate64)
    if method == b"\x04\x02\x02":
        return _Bounded(bz2.BZ2Decompressor)
    if method == bytes.fromhex("04f71101"):
        return _Bounded(zstd_decompressor)
    if method == b"\x03" and len(coder.properties) == 1:
        return _Delta(coder.properties[0] + 1)
    if method in _FILTERS:
        import bcj  # it imports importlib.metadata, which takes longer than the readers of 7z

        return _Branches(getattr(bcj, _FILTERS[method]), coder.size)
    raise unsupported(f"7z method {method.hex()} cannot be read")

"""Encrypted members of zip archives: traditional encryption (APPNOTE 6.3.10, 6.1) and WinZip's AES (AE-1 and AE-2, "AES
Encryption Information: Encryption Specification AE-1 and AE-2", version 1.04; APPNOTE 4.5.12 for the extra field).

A password is right when the member decrypts correctly, not when the check bytes fit: they also fit one wrong password
in 256 (in 65,536 with AES). So a fitting one is checked against the CRC, or the authentication code, before it is
used."""

from __future__ import annotations

import functools
import hashlib
import hmac
import io
import struct
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, cast

from isal import isal_zlib
from msgspec import Struct

from readers.archives.zip.directory import LOCAL_EXTRA, LOCAL_TIME, ZipEntry, extra_fields
from readers.archives.zip.member import MemberReader, local_header
from readers.ciphers import aes_ecb
from readers.errors import DocumentError, encrypted, unsupported
from readers.inflate import METHODS
from readers.passwords import Opened, Passwords, TryBudget
from readers.streams import CHUNK, SMALL_MEMBER

_AES, _AES_FIELD, _STRONG = 99, 0x9901, 0x40
_HEADER = 12  # bytes in front of traditionally encrypted data
_CHECK, _CODE, _ROUNDS = 2, 10, 1000  # AES: password check, authentication code (bytes), rounds of PBKDF2
_TEST = 1 << 14  # bytes of one step of a password's test: most wrong passwords fail in the first
_BEGINNING = 1 << 20  # of a large member
_CRC = tuple(isal_zlib.crc32(bytes((i,)), 0xFFFFFFFF) ^ 0xFFFFFFFF for i in range(256))
_COST_OF_AES, _COST_OF_KEYS = 800.0, 60.0  # microseconds of a password that does not fit


class _Traditional:
    """The three keys of 6.1.5, and the key stream that they generate."""

    def __init__(self, password: bytes) -> None:
        self._keys = (0x12345678, 0x23456789, 0x34567890)
        self._run(password, bytes(1 << 16))

    def decrypt(self, data: bytes) -> bytes:
        return self._run(data, _stream_bytes())

    def _run(self, data: bytes, stream: bytes) -> bytes:
        """Process the bytes in plain Python (about 2 MB/s), so the loop is written for speed."""
        a, b, c = self._keys
        table, out = _CRC, bytearray()
        append = out.append
        for byte in data:
            byte ^= stream[c & 0xFFFF]
            append(byte)
            a = a >> 8 ^ table[(a ^ byte) & 0xFF]
            b = ((b + (a & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
            c = c >> 8 ^ table[(c ^ b >> 24) & 0xFF]
        self._keys = (a, b, c)
        return bytes(out)


@functools.cache
def _stream_bytes() -> bytes:
    """Return the byte of the key stream for each lower half of the third key (6.1.7)."""
    halves = (n | 2 for n in range(1 << 16))
    return bytes((t * (t ^ 1) >> 8) & 0xFF for t in halves)


class _Counter:
    """AES in counter mode with a little-endian counter that begins with 1."""

    def __init__(self, key: bytes) -> None:
        self._block = aes_ecb(key).encryptor()
        self._next, self._rest = 1, b""

    def decrypt(self, data: bytes) -> bytes:
        missing = len(data) - len(self._rest)
        if missing > 0:
            count = -(-missing // 16)
            counters = array("Q", bytes(16 * count))
            counters[::2] = array("Q", range(self._next, self._next + count))
            self._next += count
            self._rest += self._block.update(counters.tobytes())
        stream, self._rest = self._rest[: len(data)], self._rest[len(data) :]
        return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")


_Cipher = _Traditional | _Counter


class _Plain:
    """Decrypted bytes of a range of a file, forwards: the input of `MemberReader`. For the test of a password it keeps
    them and returns few at a time."""

    def __init__(self, file: BinaryIO, start: int, length: int, cipher: _Cipher, *, test: bool = False) -> None:
        self._file, self._at, self._left, self._cipher = file, start, length, cipher
        self.kept: list[bytes] | None = [] if test else None

    def seek(self, position: int) -> None:
        """Do nothing: the reader only reads forwards."""

    def read(self, count: int) -> bytes:
        self._file.seek(self._at)
        most = count if self.kept is None else min(count, _TEST)
        data = self._file.read(min(most, self._left))
        self._at += len(data)
        self._left -= len(data)
        plain = self._cipher.decrypt(data)
        if self.kept is not None:
            self.kept.append(plain)
        return plain


class _Locked(Struct, frozen=True):
    """An encrypted member: the position of its bytes, its compression method, and how to check a password."""

    file: BinaryIO
    entry: ZipEntry
    start: int  # of the encrypted data, check bytes left out
    length: int
    method: int
    crc: int | None  # None where the authentication code replaces it
    lock: bytes  # the bytes that differ between members
    cost: float
    cipher: Callable[[bytes], _Cipher | None]  # None when the check bytes do not fit

    def attempt(self, password: str) -> MemberReader | None:
        for encoded in _encoded(password):
            if (cipher := self.cipher(encoded)) is None:
                continue
            if self.crc is None:
                return self._reader(_Plain(self.file, self.start, self.length, cipher))
            test = _Plain(self.file, self.start, self.length, cipher, test=True)
            if self._comes_out(test):
                if self.entry.size < SMALL_MEMBER:
                    return self._reader(io.BytesIO(b"".join(test.kept or ())))
                fresh = self.cipher(encoded)
                assert fresh is not None  # as before
                return self._reader(_Plain(self.file, self.start, self.length, fresh))
        return None

    def _reader(self, plain: _Plain | io.BytesIO) -> MemberReader:
        return MemberReader(cast("BinaryIO", plain), 0, self.length, self.entry.size, self.crc, self.method)

    def _comes_out(self, test: _Plain) -> bool:
        """Return whether a small member has its CRC, or the beginning of a large one can be inflated."""
        reader, made = self._reader(test), 0
        most = SMALL_MEMBER if self.entry.size < SMALL_MEMBER else _BEGINNING
        try:
            while made < most and (piece := reader.piece()):
                made += len(piece)
        except DocumentError:
            return False
        return True


def _encoded(password: str) -> list[bytes]:
    """Return the password as programs write it: in UTF-8, and in code pages of DOS and Windows."""
    encodings = [password.encode("utf-8")]
    if not password.isascii():
        for codec in ("cp437", "cp850", "cp1252"):
            with suppress(UnicodeEncodeError):
                encodings.append(password.encode(codec))
    return list(dict.fromkeys(encodings))


def unlock(
    file: BinaryIO, archive_size: int, entry: ZipEntry, passwords: Passwords, budget: TryBudget
) -> Opened[MemberReader]:
    """Return a reader over an encrypted member's content. Raises DocumentError `encrypted` when no password fits,
    `unsupported` for an unknown encryption or compression, `corrupt` where its bytes are not at the position that the
    directory gives."""
    start, local = local_header(file, archive_size, entry)
    if entry.flags & _STRONG:
        raise encrypted("PKWARE's strong encryption cannot be opened")
    locked = _aes(file, entry, start, local) if entry.method == _AES else _traditional(file, entry, start, local)
    if locked.method not in METHODS:
        raise unsupported(f"compression method {locked.method} cannot be read")
    return passwords.open(locked.lock, locked.attempt, cost=locked.cost, budget=budget)


def _traditional(file: BinaryIO, entry: ZipEntry, start: int, local: tuple[Any, ...]) -> _Locked:
    """Prepare traditional encryption (6.1.6): the last of twelve bytes checks the CRC or the time."""
    file.seek(start)
    header = file.read(min(_HEADER, entry.compressed))
    if len(header) < _HEADER:
        raise encrypted("the encrypted member is shorter than its header")
    wanted = {entry.crc >> 24} | ({local[LOCAL_TIME] >> 8} if entry.flags & 8 else set())

    def cipher(password: bytes) -> _Cipher | None:
        candidate = _Traditional(password)
        return candidate if candidate.decrypt(header)[-1] in wanted else None

    length = entry.compressed - _HEADER
    return _Locked(
        file, entry, start + _HEADER, length, entry.method, entry.crc, header + _number(entry), _COST_OF_KEYS, cipher
    )


def _aes(file: BinaryIO, entry: ZipEntry, start: int, local: tuple[Any, ...]) -> _Locked:
    file.seek(start - local[LOCAL_EXTRA])
    version, strength, method = _aes_field(file.read(local[LOCAL_EXTRA]))
    salt_size, key_size = 4 + 4 * strength, 8 + 8 * strength
    length = entry.compressed - salt_size - _CHECK - _CODE
    file.seek(start)
    salt, check = file.read(salt_size), file.read(_CHECK)
    if length < 0 or len(check) < _CHECK:
        raise encrypted("the encrypted member is shorter than its header")
    begin = start + salt_size + _CHECK

    def cipher(password: bytes) -> _Cipher | None:
        keys = hashlib.pbkdf2_hmac("sha1", password, salt, _ROUNDS, 2 * key_size + _CHECK)
        if keys[2 * key_size :] != check or not _authentic(file, begin, length, keys[key_size : 2 * key_size]):
            return None
        return _Counter(keys[:key_size])

    crc = entry.crc if version == 1 else None  # AE-2 writes 0
    return _Locked(file, entry, begin, length, method, crc, salt + check + _number(entry), _COST_OF_AES, cipher)


def _number(entry: ZipEntry) -> bytes:
    return struct.pack("<QQ", entry.offset, entry.compressed)


def _aes_field(extra: bytes) -> tuple[int, int, int]:
    """Version, strength and compression method of extra field 0x9901."""
    for field in extra_fields(extra, _AES_FIELD):
        if len(field) >= 7:
            version, strength, method = struct.unpack_from("<H2xBH", field)
            if version in (1, 2) and strength in (1, 2, 3):
                return version, strength, method
    raise encrypted("encrypted with AES in an unknown way")


def _authentic(file: BinaryIO, start: int, length: int, key: bytes) -> bool:
    """Return whether the authentication code after the data is right."""
    state, left = hmac.new(key, digestmod="sha1"), length
    file.seek(start)
    while left > 0 and (data := file.read(min(CHUNK, left))):
        state.update(data)
        left -= len(data)
    return hmac.compare_digest(state.digest()[:_CODE], file.read(_CODE))

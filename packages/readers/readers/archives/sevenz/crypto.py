"""AES in 7z archives: coder 06F10701 of the LZMA SDK (Methods.txt; its properties as in 7zAes.cpp's description)."""

from __future__ import annotations

import functools
import hashlib

from readers.ciphers import aes_cbc
from readers.errors import DocumentError, ExceptionCode

_MOST_POWER = 24  # of two: rounds that a writer may ask for, as 7-Zip has it
_NO_ROUNDS = 0x3F
BLOCK = 16  # bytes
_ROWS = 1 << 8  # rounds that are hashed at once
_COST_A_ROUND = 0.12  # microseconds


class Properties:
    """How a password becomes the key of one coder."""

    def __init__(self, data: bytes) -> None:
        """Raises DocumentError `unsupported` where they are none that 7-Zip writes."""
        first, second = (data + b"\0\0")[:2]
        salt = (first >> 7) + (second >> 4) if first & 0xC0 else 0
        vector = (first >> 6 & 1) + (second & 15) if first & 0xC0 else 0
        self.power = first & 0x3F
        self.salt = data[2 : 2 + salt]
        self.vector = data[2 + salt : 2 + salt + vector].ljust(BLOCK, b"\0")
        long_enough = len(data) >= (2 + salt + vector if first & 0xC0 else 1)
        if not long_enough or (self.power > _MOST_POWER and self.power != _NO_ROUNDS):
            raise DocumentError(ExceptionCode.UNSUPPORTED, "AES with properties that are not known")

    @property
    def cost(self) -> float:
        """Microseconds to try one password."""
        return 1_000.0 + (0 if self.power == _NO_ROUNDS else _COST_A_ROUND * (1 << self.power))


# 7-Zip writes no salt, so a password has the same key in every archive: a bank is derived once in a process.
@functools.lru_cache(maxsize=1024)
def _key(password: str, salt: bytes, power: int) -> bytes:
    """SHA-256 over salt, password and round number, for each round. One block of memory holds many rounds and its
    numbers are written in columns, because a step of Python for each would take ten times as long."""
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
    """What the last block of a stream decrypts to; `before` is the block in front of it, b"" when it is the only one."""
    aes = Properties(properties)
    key = _key(password, aes.salt, aes.power)
    return aes_cbc(key, before or aes.vector).update(block)


class Aes:
    """The stage that decrypts; see `sevenz_codecs`."""

    wants_more = True

    def __init__(self, properties: bytes, password: str) -> None:
        aes = Properties(properties)
        key = _key(password, aes.salt, aes.power)
        self._cipher = aes_cbc(key, aes.vector)
        self._held = b""

    def feed(self, data: bytes, last: bool) -> bytes:
        """Whole blocks of what came so far."""
        data = self._held + data
        whole = len(data) // BLOCK * BLOCK
        self._held = data[whole:]
        return self._cipher.update(data[:whole])

"""Passwords of Word, Excel and PowerPoint files of 97 to 2003 ([MS-OFFCRYPTO] 2.3.5 CryptoAPI, 2.3.6 RC4)."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass

from readers.ciphers import rc4
from readers.office.encryption.locks import unknown

COST = 60.0  # microseconds of a try
_RC4 = 0x6801


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that follow from a password that fits: a new one for each block."""

    base: bytes
    bits: int | None  # of CryptoAPI; None: plain RC4

    def decrypt(self, data: bytes, block_size: int, first: int = 0) -> bytes:
        """Bytes that begin with block `first`."""
        return b"".join(
            self.block(first + number, data[at : at + block_size])
            for number, at in enumerate(range(0, len(data), block_size))
        )

    def block(self, number: int, data: bytes) -> bytes:
        """Bytes of one block, from its beginning."""
        numbered = self.base + struct.pack("<I", number & 0xFFFFFFFF)
        if self.bits is None:
            key = hashlib.md5(numbered).digest()
        else:
            key = hashlib.sha1(numbered).digest()[: self.bits // 8]
            key = key.ljust(16, b"\0") if self.bits == 40 else key
        return rc4(key).update(data)


@dataclass(frozen=True, slots=True)
class Lock:
    """The verifier that a password is checked against."""

    salt: bytes
    verifier: bytes
    verifier_hash: bytes
    bits: int | None

    def attempt(self, password: str) -> Keys | None:
        """The keys; None when the password does not fit."""
        raw = password.encode("utf-16-le", "surrogatepass")
        if self.bits is None:
            short = hashlib.md5(raw).digest()[:5]
            keys = Keys(hashlib.md5((short + self.salt) * 16).digest()[:5], None)
            hashed = hashlib.md5
        else:
            keys = Keys(hashlib.sha1(self.salt + raw).digest(), self.bits)
            hashed = hashlib.sha1
        both = keys.block(0, self.verifier + self.verifier_hash)
        return keys if hmac.compare_digest(hashed(both[:16]).digest(), both[16:]) else None


def lock_of(header: bytes) -> Lock:
    """Parse an EncryptionHeader and the version in front of it; DocumentError `encrypted` where the version is
    unknown."""
    try:
        major, minor = struct.unpack_from("<HH", header)
        if (major, minor) == (1, 1):
            salt, verifier, hashed = struct.unpack_from("<16s16s16s", header, 4)
            return Lock(salt, verifier, hashed, None)
        if major in (2, 3, 4) and minor == 2:
            size = struct.unpack_from("<I", header, 8)[0]
            algorithm, _, bits = struct.unpack_from("<III", header, 20)
            _, salt, verifier, _, hashed = struct.unpack_from("<I16s16sI20s", header, 12 + size)
            bits = bits or 40
            if algorithm in (0, _RC4) and 40 <= bits <= 128 and not bits % 8:
                return Lock(salt, verifier, hashed, bits)
    except struct.error as error:
        raise unknown(f"its header breaks off: {error}") from error
    raise unknown(f"version {major}.{minor}")

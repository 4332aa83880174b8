"""Passwords of Office Open XML documents ([MS-OFFCRYPTO] 2.3.4): agile and standard encryption of the whole package.

Own code on `cryptography`: see docs/dev/decisions.md, 28."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from collections.abc import Callable
from typing import Any

from lxml import etree
from msgspec import Struct

from readers.base import MemorySource, Source
from readers.ciphers import aes_cbc, aes_ecb
from readers.errors import DocumentError, corrupt, encrypted
from readers.office.ole.compound import CompoundFile
from readers.passwords import TryBudget
from readers.records import Limits
from readers.text.xml_tree import SAFE

_SEGMENT = 4096  # bytes of the package under one initialisation vector (2.3.4.15)
_MOST_SPINS = 10_000_000  # 2.3.4.10
_STANDARD_SPINS = 50_000
_HASHES: dict[str, Callable[[bytes], hashlib._Hash]] = {
    "SHA1": hashlib.sha1,
    "SHA-1": hashlib.sha1,
    "SHA256": hashlib.sha256,
    "SHA384": hashlib.sha384,
    "SHA512": hashlib.sha512,
}
_INPUT, _VALUE, _KEY = (bytes.fromhex(h) for h in ("fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6"))
_COST_A_SPIN = 1.0  # microseconds


def unknown(why: str) -> DocumentError:
    """Return the error for an encryption that no password of ours opens."""
    return encrypted(f"its encryption is not supported: {why}")


class Agile(Struct, frozen=True):
    """Agile encryption (2.3.4.10): all parameters in the XML of EncryptionInfo."""

    spins: int
    salt: bytes
    hashed: Callable[[bytes], hashlib._Hash]
    key_size: int
    block: int
    verifier: bytes
    verifier_hash: bytes
    key: bytes
    data_salt: bytes
    data_hash: Callable[[bytes], hashlib._Hash]
    data_block: int

    @property
    def cost(self) -> float:
        return 500 + self.spins * _COST_A_SPIN

    def attempt(self, password: str) -> bytes | None:
        """Return the key of the package; None if the password does not fit (2.3.4.13)."""
        state = _spun(self.hashed, self.salt, password, self.spins)

        def opened(purpose: bytes, data: bytes) -> bytes:
            key = _fitted(self.hashed(state + purpose).digest(), self.key_size)
            return _cbc(key, _fitted(self.salt, self.block), data)

        digest = self.hashed(opened(_INPUT, self.verifier)[: len(self.salt)]).digest()
        if not hmac.compare_digest(digest, opened(_VALUE, self.verifier_hash)[: len(digest)]):
            return None
        return opened(_KEY, self.key)[: self.key_size]

    def package(self, key: bytes, data: bytes) -> bytes:
        out = []
        for number, at in enumerate(range(0, len(data), _SEGMENT)):
            vector = _fitted(self.data_hash(self.data_salt + struct.pack("<I", number)).digest(), self.data_block)
            out.append(_cbc(key, vector, data[at : at + _SEGMENT]))
        return b"".join(out)


class Standard(Struct, frozen=True):
    """Standard encryption (2.3.4.5): SHA-1 and AES in independent blocks."""

    salt: bytes
    key_size: int
    verifier: bytes
    verifier_hash: bytes
    cost: float = 500 + _STANDARD_SPINS * _COST_A_SPIN

    def attempt(self, password: str) -> bytes | None:
        """Return the key of the package; None if the password does not fit (2.3.4.7, 2.3.4.9)."""
        state = _spun(hashlib.sha1, self.salt, password, _STANDARD_SPINS)
        state = hashlib.sha1(state + bytes(4)).digest().ljust(64, b"\0")
        halves = (bytes(byte ^ pad for byte in state) for pad in (0x36, 0x5C))
        key = b"".join(hashlib.sha1(half).digest() for half in halves)[: self.key_size]
        digest = hashlib.sha1(self.package(key, self.verifier)).digest()
        return key if hmac.compare_digest(digest, self.package(key, self.verifier_hash)[:20]) else None

    def package(self, key: bytes, data: bytes) -> bytes:
        return aes_ecb(key).decryptor().update(data[: len(data) // 16 * 16])


def lock_of(info: bytes) -> Agile | Standard:
    """Parse the stream EncryptionInfo. Raises DocumentError `encrypted` if that fails."""
    major, minor = struct.unpack("<HH", info[:4].ljust(4, b"\0"))
    try:
        if (major, minor) == (4, 4):
            return _agile(info[8:])
        if major in (2, 3, 4) and minor == 2:
            return _standard(info)
    except (struct.error, ValueError, KeyError, binascii.Error, etree.XMLSyntaxError) as error:
        raise unknown(f"{type(error).__name__}: {error}"[:200]) from error
    raise unknown(f"version {major}.{minor}")


def _agile(xml: bytes) -> Agile:
    root = etree.fromstring(xml, etree.XMLParser(**SAFE))
    data = next(root.iter("{*}keyData"), None)
    key = next(root.iter("{http://schemas.microsoft.com/office/2006/keyEncryptor/password}encryptedKey"), None)
    if data is None or key is None:
        raise ValueError("it has no key that a password opens")
    if {data.get("cipherAlgorithm"), key.get("cipherAlgorithm")} != {"AES"} or {
        data.get("cipherChaining"),
        key.get("cipherChaining"),
    } != {"ChainingModeCBC"}:
        raise ValueError("a cipher other than AES in CBC mode")
    spins = int(key.attrib["spinCount"])
    if not 0 <= spins <= _MOST_SPINS:
        raise ValueError(f"{spins} rounds")
    return Agile(
        spins=spins,
        salt=base64.b64decode(key.attrib["saltValue"]),
        hashed=_HASHES[key.attrib["hashAlgorithm"]],
        key_size=_key_size(int(key.attrib["keyBits"])),
        block=16,
        verifier=_blocks(key.attrib["encryptedVerifierHashInput"]),
        verifier_hash=_blocks(key.attrib["encryptedVerifierHashValue"]),
        key=_blocks(key.attrib["encryptedKeyValue"]),
        data_salt=base64.b64decode(data.attrib["saltValue"]),
        data_hash=_HASHES[data.attrib["hashAlgorithm"]],
        data_block=16,
    )


def _standard(info: bytes) -> Standard:
    size = struct.unpack_from("<I", info, 8)[0]
    algorithm, _, bits = struct.unpack_from("<III", info, 20)
    if algorithm not in (0x660E, 0x660F, 0x6610):
        raise ValueError(f"algorithm {algorithm:#x}")
    salt_size, salt, verifier, _ = struct.unpack_from("<I16s16sI", info, 12 + size)
    hashed = info[12 + size + 40 : 12 + size + 72]
    if salt_size != 16 or len(hashed) != 32:
        raise ValueError("a verifier of another size")
    return Standard(salt, _key_size(bits or 128), verifier, hashed)


def _key_size(bits: int) -> int:
    if bits not in (128, 192, 256):
        raise ValueError(f"a key of {bits} bits")
    return bits // 8


def _blocks(text: str | bytes) -> bytes:
    data = base64.b64decode(text)
    if not data or len(data) % 16:
        raise ValueError("no whole blocks")
    return data


def _spun(hashed: Callable[[bytes], hashlib._Hash], salt: bytes, password: str, spins: int) -> bytes:
    """Return the iterated hash (2.3.4.11): the hash of the hash of the hash …, each with its number before it."""
    state = hashed(salt + password.encode("utf-16-le", "surrogatepass")).digest()
    pack = struct.Struct("<I").pack
    for number in range(spins):
        state = hashed(pack(number) + state).digest()
    return state


def _fitted(data: bytes, size: int) -> bytes:
    return data[:size].ljust(size, b"\x36")


def _cbc(key: bytes, vector: bytes, data: bytes) -> bytes:
    return aes_cbc(key, vector).update(data[: len(data) // 16 * 16])


# Office documents that are encrypted as a whole: opened with a password that fits.

DEFAULT = ("VelvetSweatshop",)  # Excel's default, which it uses without asking the user ([MS-OFFCRYPTO] 2.4.2.3)


def package(source: Source, limits: Limits) -> tuple[Source, dict[str, Any]]:
    """Decrypt the package in a compound file; return it and the metadata about that. Raises DocumentError
    `encrypted`."""
    if source.size > limits.parse_bytes:
        raise unknown(f"{source.size} bytes are too many to decrypt; the limit is {limits.parse_bytes}")
    try:
        compound = CompoundFile(source.whole(limits.parse_bytes))
        info = compound.read(compound.root.stream("EncryptionInfo"))
        data = compound.read(compound.root.stream("EncryptedPackage"))
    except DocumentError as error:
        raise unknown(error.detail) from error
    lock = lock_of(info)
    if len(data) < 8 + 16:
        raise unknown("it has no encrypted package")
    opened = source.passwords.open(
        hashlib.sha256(info).digest(), lock.attempt, cost=lock.cost, budget=TryBudget(limits), known=DEFAULT
    )
    plain = lock.package(opened.value, data[8:])[: struct.unpack_from("<Q", data)[0]]
    if not plain.startswith(b"PK"):
        raise corrupt("the decrypted data is not a document")
    return MemorySource(source.name, plain, source.passwords), opened.metadata

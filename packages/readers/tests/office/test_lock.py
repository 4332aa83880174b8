"""readers.office.encryption.locks: agile encryption under every hash and key size that Office writes.

msoffcrypto-tool, which encrypts elsewhere in the tests, writes SHA-512 alone and does not open the first three of these.
"""

from __future__ import annotations

import base64
import hashlib
import struct

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from readers.office.encryption.locks import lock_of

SALT, DATA_SALT, VERIFIER = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))
SPINS = 20
INPUT, VALUE, KEY = (bytes.fromhex(h) for h in ("fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6"))


def sealed(key: bytes, vector: bytes, data: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor().update(data + bytes(-len(data) % 16))


def fitted(data: bytes, size: int) -> bytes:
    return data[:size].ljust(size, b"\x36")


def locked(name: str, bits: int, password: str, package: bytes) -> tuple[bytes, bytes, bytes]:
    """EncryptionInfo, the encrypted package and its key ([MS-OFFCRYPTO] 2.3.4.10 to 2.3.4.15)."""

    def hashed(data: bytes) -> bytes:
        return hashlib.new(name, data).digest()

    state = hashed(SALT + password.encode("utf-16-le"))
    for number in range(SPINS):
        state = hashed(struct.pack("<I", number) + state)
    key = bytes(range(100, 100 + bits // 8))
    fields = {"saltValue": SALT}
    for field, purpose, data in (
        ("encryptedVerifierHashInput", INPUT, VERIFIER),
        ("encryptedVerifierHashValue", VALUE, hashed(VERIFIER)),
        ("encryptedKeyValue", KEY, key),
    ):
        fields[field] = sealed(fitted(hashed(state + purpose), bits // 8), SALT, data)
    how = f'cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="{name.upper()}" keyBits="{bits}"'
    said = " ".join(f'{field}="{base64.b64encode(data).decode()}"' for field, data in fields.items())
    xml = (
        '<encryption xmlns="http://schemas.microsoft.com/office/2006/encryption">'
        f'<keyData {how} saltValue="{base64.b64encode(DATA_SALT).decode()}"/>'
        '<p:encryptedKey xmlns:p="http://schemas.microsoft.com/office/2006/keyEncryptor/password"'
        f' spinCount="{SPINS}" {how} {said}/></encryption>'
    )
    segments = (package[at : at + 4096] for at in range(0, len(package), 4096))
    vectors = (fitted(hashed(DATA_SALT + struct.pack("<I", n)), 16) for n in range(len(package)))
    data = b"".join(sealed(key, vector, segment) for vector, segment in zip(vectors, segments, strict=False))
    return struct.pack("<HHI", 4, 4, 0x40) + xml.encode(), data, key


@pytest.mark.parametrize(
    ("name", "bits"), [("sha1", 128), ("sha1", 192), ("sha1", 256), ("sha256", 128), ("sha384", 256), ("sha512", 256)]
)
def test_agile_encryption_opens_with_its_password(name: str, bits: int) -> None:
    """Office 2010 writes SHA-1, whose hash does not fill whole blocks; of a package that breaks off, what is there."""
    package = b"PK\x03\x04" + bytes(range(256)) * 40
    info, data, key = locked(name, bits, "hunter2", package)
    lock = lock_of(info)
    assert lock.attempt("hunter3") is None
    assert lock.attempt("hunter2") == key
    assert lock.package(key, data)[: len(package)] == package
    assert lock.package(key, data[:9_005]) == package[:8_992]

"""Excel's XOR obfuscation ([MS-OFFCRYPTO] 2.3.7.2, method 1)."""

from __future__ import annotations

_LONGEST = 15
_PAD = bytes.fromhex("bbffffbaffffb98000be0f00bf0f00")
_INITIAL = tuple(
    int.from_bytes(pair, "big")
    for pair in (
        bytes.fromhex("e1f01d0fcc9c84c0110c0e10f1ce313e1872e139d40f84f9280ca96a4ec3")[i : i + 2]
        for i in range(0, 30, 2)
    )
)
_MATRIX = bytes.fromhex(
    "aefc4dd99bb227454e8a9d142a097b61f6c2fda5eb6bc6f79dcf2bbf45638ac605ad0b5a16b42d685ad0037506ea0dd41ba837506ea0dd40"
    "d849a0b35147a28e553daa7a44d56f45de8aad354a4b9496390d721aeb23c6679cef29ff53fea7fc5fd947d38fa60f6d1eda3db47b68f6d0"
    "b86160e3c1c693ad377b6ef6ddec45a08b4006a10d421a8435086a10aa5144838906022d045a08b4116876b4ed68caf185c31ba7374e6e9c"
    "37306e60dcc0a9a1436386c61dad33316662ccc489a9037306e60dcc10212042408481081231246248c4"
)


def array_of(password: str, key: int, verifier: int) -> bytes | None:
    """The sixteen bytes that the password stands for; None when it fits neither key nor verifier."""
    if not 1 <= len(password) <= _LONGEST:
        return None
    try:
        raw = password.encode("cp1252")
    except UnicodeEncodeError:
        return None
    computed = _key(raw)
    return _array(raw, computed) if computed == key and _verifier(raw) == verifier else None


def _verifier(raw: bytes) -> int:
    value = 0
    for byte in reversed(bytes((len(raw),)) + raw):
        value = (value >> 14 & 1 | value << 1 & 0x7FFF) ^ byte
    return value ^ 0xCE4B


def _key(raw: bytes) -> int:
    key, element = _INITIAL[len(raw) - 1], len(_MATRIX) // 2 - 1
    for byte in reversed(raw):
        for bit in range(7):
            if byte << bit & 0x40:
                key ^= int.from_bytes(_MATRIX[2 * element : 2 * element + 2], "big")
            element -= 1
    return key


def _array(raw: bytes, key: int) -> bytes:
    """The password, filled up to sixteen bytes, under the two bytes of the key in turn."""
    low_high = (key & 0xFF, key >> 8)
    filled = (raw + _PAD)[:16]
    return bytes(_rotated(byte ^ low_high[i & 1], 1) for i, byte in enumerate(filled))


def _rotated(byte: int, right: int) -> int:
    return (byte >> right | byte << 8 - right) & 0xFF


def decrypt(array: bytes, data: bytes, at: int) -> bytes:
    """A record's data, which begin at offset `at` of the stream (2.3.7.3)."""
    start = at + len(data)
    return bytes(_rotated(byte ^ array[(start + i) % 16], 5) for i, byte in enumerate(data))

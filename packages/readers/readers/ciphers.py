"""Ciphers of `cryptography`, which is imported when something encrypted is met: few files are, and it takes as long to come as
a small document to be read."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
    from cryptography.hazmat.primitives.ciphers.modes import ECB


def preload() -> None:
    """Load them now, where nothing can be loaded later."""
    importlib.import_module("cryptography.hazmat.primitives.ciphers")
    importlib.import_module("cryptography.hazmat.decrepit.ciphers.algorithms")
    importlib.import_module("cryptography.hazmat.decrepit.ciphers.modes")


def aes_ecb(key: bytes) -> Cipher[ECB]:
    """AES block by block."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.ECB())


def aes_cbc(key: bytes, vector: bytes) -> CipherContext:
    """Decrypts AES in chained blocks."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()


def rc4(key: bytes) -> CipherContext:
    """Decrypts RC4."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(ARC4(key), None).decryptor()


def blowfish_cfb(key: bytes, vector: bytes) -> CipherContext:
    """Decrypts Blowfish with feedback."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(Blowfish(key), CFB(vector)).decryptor()

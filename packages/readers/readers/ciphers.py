"""Ciphers of `cryptography`, which is imported when the first encrypted file is met: few files are encrypted, and the
import takes as long as reading a small document."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
    from cryptography.hazmat.primitives.ciphers.modes import ECB


def preload() -> None:
    """Import the ciphers now, for a process that cannot import later."""
    importlib.import_module("cryptography.hazmat.primitives.ciphers")
    importlib.import_module("cryptography.hazmat.decrepit.ciphers.algorithms")
    importlib.import_module("cryptography.hazmat.decrepit.ciphers.modes")


def aes_ecb(key: bytes) -> Cipher[ECB]:
    """Return AES in ECB mode."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.ECB())


def aes_cbc(key: bytes, vector: bytes) -> CipherContext:
    """Return a decryptor for AES in CBC mode."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()


def rc4(key: bytes) -> CipherContext:
    """Return a decryptor for RC4."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(ARC4(key), None).decryptor()


def blowfish_cfb(key: bytes, vector: bytes) -> CipherContext:
    """Return a decryptor for Blowfish in CFB mode."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(Blowfish(key), CFB(vector)).decryptor()

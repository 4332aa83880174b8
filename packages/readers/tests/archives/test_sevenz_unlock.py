"""Which password is believed, where the files are so short that their CRCs fit many."""

from __future__ import annotations

import io
import zlib

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from core.records import Limits
from readers.archives.sevenz.folders import AES, Coder, Folder
from readers.archives.sevenz.unlock import unlock
from readers.errors import DocumentError
from readers.passwords import Passwords, TryBudget

NO_ROUNDS = b"\x3f"  # the password itself is the key
SECRET = "geheim"
GUESSES = 2_000  # one in 256 gives a file of one byte its CRC


def locked(*files: bytes) -> tuple[bytes, Folder]:
    """Files stored one behind the other under the secret, filled up with zeros as 7-Zip does it."""
    plain = b"".join(files)
    key = SECRET.encode("utf-16-le").ljust(32, b"\0")
    data = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor().update(plain + bytes(-len(plain) % 16))
    folder = Folder((Coder(AES, NO_ROUNDS, len(plain)),), 0, len(data), len(plain), None)
    folder.sizes, folder.crcs = [len(file) for file in files], [zlib.crc32(file) for file in files]
    return data, folder


@pytest.mark.parametrize(
    "files",
    [
        pytest.param((b"c",), id="alone"),
        pytest.param((b"c", b"d" * 90), id="before a longer one"),
        pytest.param((b"c", b"d", b"e"), id="among short ones"),
        pytest.param((b"c", b"d" * 31), id="to the end of a block"),
    ],
)
def test_the_checksum_of_a_short_file_is_not_enough(files: tuple[bytes, ...]) -> None:
    data, folder = locked(*files)
    bank = Passwords({f"guess {n}": n for n in range(GUESSES)} | {SECRET: GUESSES})
    opened = unlock(io.BytesIO(data), folder, len(data), bank, TryBudget(Limits()))
    assert opened.line == GUESSES
    assert b"".join(iter(lambda: opened.value.read(1 << 20), b"")) == b"".join(files)


def test_a_short_stream_that_breaks_off_opens_with_nothing() -> None:
    data, folder = locked(b"c")
    with pytest.raises(DocumentError):
        unlock(io.BytesIO(data[:7]), folder, 16, Passwords({SECRET: 1}), TryBudget(Limits()))

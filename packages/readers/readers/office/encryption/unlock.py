"""Office documents that are encrypted as a whole: opened with a password that fits."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from readers.base import MemorySource, Source
from readers.errors import DocumentError, ExceptionCode
from readers.office.encryption.locks import lock_of, unknown
from readers.office.ole.compound import CompoundFile
from readers.passwords import TryBudget
from readers.records import Limits

DEFAULT = ("VelvetSweatshop",)  # what Excel encrypts with, unasked, and opens with, unasked ([MS-OFFCRYPTO] 2.4.2.3)


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
        raise unknown("there is no package")
    opened = source.passwords.open(
        hashlib.sha256(info).digest(), lock.attempt, cost=lock.cost, budget=TryBudget(limits), known=DEFAULT
    )
    plain = lock.package(opened.value, data[8:])[: struct.unpack_from("<Q", data)[0]]
    if not plain.startswith(b"PK"):
        raise DocumentError(ExceptionCode.CORRUPT, "what was decrypted is no document")
    return MemorySource(source.name, plain, source.passwords), opened.metadata

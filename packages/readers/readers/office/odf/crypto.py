"""OpenDocument files under a password (OpenDocument 1.3 part 2, 3.4 and 4.8): each part is encrypted by itself, with
AES-256 in CBC mode or, in files of OpenOffice.org and LibreOffice before 3.5, with Blowfish in CFB mode.

An opened document is rebuilt in memory without a password. The encryption of LibreOffice 24.2 and later (the whole
package under Argon2id and AES-GCM, not in the standard) is reported as unknown."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import io
import zipfile
from typing import Any, BinaryIO

from isal import isal_zlib
from lxml import etree
from msgspec import Struct

from readers.archives.zip.directory import ZipEntry, find_directory, iter_entries
from readers.base import MemorySource, Source
from readers.ciphers import aes_cbc, blowfish_cfb
from readers.errors import corrupt, too_large
from readers.inflate import ISAL_ERROR
from readers.office.encryption.locks import unknown
from readers.office.ooxml.package import part_reader
from readers.office.ooxml.xml import local
from readers.passwords import TryBudget
from readers.records import Limits
from readers.text.xml_tree import SAFE

_MOST_ROUNDS = 10_000_000
_COST_A_ROUND = 0.6  # microseconds of PBKDF2
_CHECKED = 1024  # bytes under a checksum
_MANIFEST = "META-INF/manifest.xml"


class Lock(Struct, frozen=True):
    """The manifest's entry for one encrypted part."""

    algorithm: str  # the last word of its name
    vector: bytes
    start: str  # name of the hash that is applied to the password first
    salt: bytes
    rounds: int
    key_size: int
    checksum: bytes | None

    def key(self, password: str) -> bytes:
        """Return the part's key."""
        start = hashlib.new(self.start, password.encode("utf-8", "surrogatepass")).digest()
        return hashlib.pbkdf2_hmac("sha1", start, self.salt, self.rounds, self.key_size)

    def decrypted(self, key: bytes, data: bytes) -> bytes:
        """Return the part, still deflated."""
        if self.algorithm == "blowfish":
            return blowfish_cfb(key, self.vector).update(data)
        plain = aes_cbc(key, self.vector).update(data[: len(data) // 16 * 16])
        return plain[: -plain[-1]] if plain and 0 < plain[-1] <= 16 else plain

    def fits(self, plain: bytes) -> bool:
        """Return whether these deflated bytes are the part's."""
        if self.checksum is None:
            return bool(_inflated(plain, 1 << 20)[0])
        hashed = hashlib.sha1 if len(self.checksum) == 20 else hashlib.sha256
        return hmac.compare_digest(hashed(plain[:_CHECKED]).digest(), self.checksum)


def opened(source: Source, limits: Limits) -> tuple[Source, dict[str, Any]]:
    """Return the document without its password, and the metadata about that. Raises DocumentError `encrypted` if no
    password fits or the encryption is unknown, `corrupt`, `too_large`."""
    with source.open() as file:
        found = (entry for entry in iter_entries(file, find_directory(file, source.size)) if not entry.directory)
        entries = {entry.name.decode("utf-8", "replace"): entry for entry in found}
        if sum(max(entry.size, entry.compressed) for entry in entries.values()) > limits.parse_bytes:
            raise unknown(f"it is too large to decrypt; the limit is {limits.parse_bytes} bytes")
        read = _Parts(file, source.size, entries)
        locks = _locks(read.part(_MANIFEST))
        locked = [name for name in locks if name in entries]
        if not locked:
            raise unknown("its encrypted parts were not found")
        first = min(locked, key=lambda name: entries[name].compressed)
        lock, data = locks[first], read.part(first)

        def attempt(password: str) -> bool | None:
            return lock.fits(lock.decrypted(lock.key(password), data)) or None

        unlocked = source.passwords.open(
            hashlib.sha256(lock.salt + lock.vector + data).digest(),
            attempt,
            cost=500 + lock.rounds * _COST_A_ROUND,
            budget=TryBudget(limits),
            known=(),
        )
        plain = _rebuilt(read, locks, unlocked.password, limits.parse_bytes)
    return MemorySource(source.name, plain, source.passwords), unlocked.metadata


class _Parts(Struct, frozen=True):
    file: BinaryIO
    size: int
    entries: dict[str, ZipEntry]

    def part(self, name: str) -> bytes:
        """Return the bytes of a part, as stored."""
        if name not in self.entries:
            raise corrupt(f"the document has no part {name}")
        return part_reader(self.file, self.size, self.entries[name]).whole()


def _rebuilt(read: _Parts, locks: dict[str, Lock], password: str, limit: int) -> bytes:
    """Rebuild the package with decrypted parts, without the manifest that marks them as encrypted."""
    out, left = io.BytesIO(), limit
    keys: dict[tuple[bytes, int], bytes] = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as package:
        for name in read.entries:
            if name.replace("\\", "/").lstrip("/").lower() == _MANIFEST.lower():
                continue
            data = read.part(name)
            if (lock := locks.get(name)) is not None:
                known = (lock.salt, lock.rounds)
                key = keys[known] if known in keys else lock.key(password)
                keys[known] = key
                data, more = _inflated(lock.decrypted(key, data), left)
                if more:
                    raise too_large(f"more than {limit} bytes without its password")
            left -= len(data)
            package.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def _inflated(data: bytes, limit: int) -> tuple[bytes, bool]:
    """Return at most `limit` bytes of raw deflate data, and whether there are more; b"" for damaged data."""
    inflater = isal_zlib.decompressobj(-15)
    try:
        out: bytes = inflater.decompress(data, max(1, limit))
    except ISAL_ERROR:
        return b"", False
    return out, bool(inflater.unconsumed_tail) and not inflater.eof


def _locks(manifest: bytes) -> dict[str, Lock]:
    """Return the locks of the encrypted parts, by name."""
    try:
        root = etree.fromstring(manifest, etree.XMLParser(**SAFE))
        return {
            _attribute(entry, "full-path").lstrip("/"): _lock(data)
            for entry in root.iter("{*}file-entry")
            if (data := next(entry.iter("{*}encryption-data"), None)) is not None
        }
    except (etree.XMLSyntaxError, ValueError, binascii.Error) as error:
        raise unknown(f"{error}"[:200]) from error


def _lock(data: etree._Element) -> Lock:
    parts = {local(element): element for element in data}
    if not {"algorithm", "key-derivation"} <= parts.keys():
        raise ValueError("it names no algorithm or no key derivation")
    algorithm, derivation = parts["algorithm"], parts["key-derivation"]
    name = _attribute(algorithm, "algorithm-name").lower()
    kind = "blowfish" if "blowfish" in name else name
    if kind != "blowfish" and not kind.endswith(("#aes256-cbc", "#aes192-cbc", "#aes128-cbc")):
        raise ValueError(name.rpartition("#")[2])
    if not _attribute(derivation, "key-derivation-name").lower().endswith("pbkdf2"):
        raise ValueError(_attribute(derivation, "key-derivation-name").rpartition(":")[2])
    start = parts.get("start-key-generation")
    rounds = int(_attribute(derivation, "iteration-count"))
    size = int(_attribute(derivation, "key-size", "16"))
    if not 1 <= rounds <= _MOST_ROUNDS or size not in (16, 24, 32):
        raise ValueError(f"{rounds} rounds for a key of {size} bytes are not supported")
    vector = base64.b64decode(_attribute(algorithm, "initialisation-vector"))
    if len(vector) != (8 if kind == "blowfish" else 16):
        raise ValueError("an initialisation vector of another size")
    checksum = base64.b64decode(_attribute(data, "checksum", ""))
    return Lock(
        algorithm=kind,
        vector=vector,
        start="sha256" if start is not None and "256" in _attribute(start, "start-key-generation-name") else "sha1",
        salt=base64.b64decode(_attribute(derivation, "salt")),
        rounds=rounds,
        key_size=size,
        checksum=checksum if len(checksum) in (20, 32) else None,
    )


def _attribute(element: etree._Element, name: str, default: str | None = None) -> str:
    """Return an attribute by its local name. Raises ValueError if it is missing and there is no default."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    if default is None:
        raise ValueError(f"no {name}")
    return default

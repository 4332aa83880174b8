"""Decryption of doc, xls and ppt: the encrypted bytes of their streams, and their keys.

Decrypted data replaces the streams of the compound file in memory, so the readers find nothing encrypted. Embedded
objects are not encrypted ([MS-DOC] 2.2.6.2, [MS-XLS] 2.2.10)."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import struct
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from readers.base import Source
from readers.ciphers import rc4
from readers.errors import DocumentError, encrypted
from readers.office.encryption.locks import DEFAULT, unknown
from readers.office.ole.compound import CompoundFile, DirectoryEntry
from readers.office.ppt.text import HEADER, PERSIST_DIRECTORY, USER_EDIT, Records, entries
from readers.office.xls import biff
from readers.passwords import TryBudget
from readers.records import Limits

# Passwords of Word, Excel and PowerPoint files of 97 to 2003 ([MS-OFFCRYPTO] 2.3.5 CryptoAPI, 2.3.6 RC4).

COST = 60.0  # microseconds of a try
_RC4 = 0x6801


class Keys(Struct, frozen=True):
    """Keys derived from a password that fits: a new one for each block."""

    base: bytes
    bits: int | None  # of CryptoAPI; None: plain RC4

    def decrypt(self, data: bytes, block_size: int, first: int = 0) -> bytes:
        """Decrypt bytes that begin with block `first`."""
        return b"".join(
            self.block(first + number, data[at : at + block_size])
            for number, at in enumerate(range(0, len(data), block_size))
        )

    def block(self, number: int, data: bytes) -> bytes:
        """Decrypt bytes of one block, from its beginning."""
        numbered = self.base + struct.pack("<I", number & 0xFFFFFFFF)
        if self.bits is None:
            key = hashlib.md5(numbered).digest()
        else:
            key = hashlib.sha1(numbered).digest()[: self.bits // 8]
            key = key.ljust(16, b"\0") if self.bits == 40 else key
        return rc4(key).update(data)


class Lock(Struct, frozen=True):
    """Verifier that a password is checked against."""

    salt: bytes
    verifier: bytes
    verifier_hash: bytes
    bits: int | None

    def attempt(self, password: str) -> Keys | None:
        """Return the keys; None if the password does not fit."""
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
    """Parse an EncryptionHeader and the version before it. Raises DocumentError `encrypted` if the version is
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


# Excel's XOR obfuscation ([MS-OFFCRYPTO] 2.3.7.2, method 1).

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
    """Return the sixteen bytes of the password; None if it does not fit key and verifier."""
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
    """Return the password, padded to sixteen bytes, XORed with the two bytes of the key in turn."""
    low_high = (key & 0xFF, key >> 8)
    filled = (raw + _PAD)[:16]
    return bytes(_rotated(byte ^ low_high[i & 1], 1) for i, byte in enumerate(filled))


def _rotated(byte: int, right: int) -> int:
    return (byte >> right | byte << 8 - right) & 0xFF


def decrypt(array: bytes, data: bytes, at: int) -> bytes:
    """Decrypt a record's data, which begin at offset `at` of the stream (2.3.7.3)."""
    start = at + len(data)
    return bytes(_rotated(byte ^ array[(start + i) % 16], 5) for i, byte in enumerate(data))


# The encrypted bytes of a presentation ([MS-PPT] 2.3.7): each object by itself, with its number.

TOKEN, _PLAIN_TOKEN = struct.pack("<I", 0xF3D1C4DF), struct.pack("<I", 0xE391C05F)  # CurrentUserAtom.headerToken
_TOKEN_AT = 12
_SESSION_REFERENCE = 28  # in the edit: the number of the object with the encryption's header
_SESSION = 0x2F14
PICTURES = encrypted("the pictures of an encrypted presentation are not decrypted")


class Session(Struct, frozen=True):
    """The only edit of an encrypted presentation."""

    edit: int  # start of its data
    places: dict[int, int]  # number of an object → offset
    number: int  # of the object with the header
    header: bytes


def session_of(stream: bytes, user: bytes) -> Session:
    """Return the session of `stream` (PowerPoint Document) and `user` (Current User). Raises `encrypted`."""
    records = Records(stream)
    edit = records.at(int.from_bytes(user[16:20], "little"))
    if edit is None or edit.kind != USER_EDIT:
        raise unknown("its last edit was not found")
    directory = records.at(records.word(edit, 12))
    if directory is None or directory.kind != PERSIST_DIRECTORY:
        raise unknown("its objects were not found")
    places = dict(entries(records.data(directory)))
    number = records.word(edit, _SESSION_REFERENCE)
    session = records.at(places.get(number, -1))
    if session is None or session.kind != _SESSION:
        raise unknown("its header was not found")
    return Session(edit.start, places, number, records.data(session))


def decrypted(stream: bytes, user: bytes, session: Session, keys: Keys) -> tuple[bytes, bytes]:
    """Return the streams Current User and PowerPoint Document decrypted."""
    out = bytearray(stream)
    starts = sorted(set(session.places.values()) | {len(stream)})
    ends = dict(itertools.pairwise(starts))
    for number, at in session.places.items():
        head = stream[at : at + HEADER.size]
        if number == session.number or len(head) < HEADER.size:
            continue
        size = HEADER.unpack(keys.block(number, head))[2]
        end = min(at + HEADER.size + size, ends[at])
        out[at:end] = keys.block(number, stream[at:end])
    at = session.edit + _SESSION_REFERENCE
    out[at : at + 4] = bytes(4)
    return user[:_TOKEN_AT] + _PLAIN_TOKEN + user[_TOKEN_AT + 4 :], bytes(out)


_DOC_ENCRYPTED, _DOC_XOR, _DOC_TABLE = 0x0100, 0x8000, 0x0200  # flags of the first block
_DOC_FLAGS, _DOC_KEY, _DOC_PLAIN, _DOC_BLOCK = 10, 14, 68, 512
_XLS_BLOCK = 1024
_FILE_PASS, _BOUND_SHEET, _FIRST_RECORDS = 0x2F, 0x85, 4096
# BOF, FilePass, UsrExcl, FileLock, InterfaceHdr, RRDInfo, RRDHead ([MS-XLS] 2.2.10)
_XLS_PLAIN = frozenset((0x809, _FILE_PASS, 0x194, 0x195, 0xE1, 0x196, 0x138))
_BEFORE_FILE_PASS = frozenset((biff.BOF, 0x86))


def opened_doc(source: Source, limits: Limits) -> tuple[CompoundFile, dict[str, Any]]:
    """Return a Word file, its streams decrypted if necessary, and the metadata about that. Raises `encrypted`, and the
    errors of `CompoundFile`."""
    compound = CompoundFile(source.whole(limits.parse_bytes))
    main = compound.root.stream("WordDocument")
    first = compound.head(main, _DOC_PLAIN)
    if main is None or len(first) < _DOC_PLAIN:
        return compound, {}
    flags, key = struct.unpack_from("<H2xI", first, _DOC_FLAGS)
    if not flags & _DOC_ENCRYPTED:
        return compound, {}
    if flags & _DOC_XOR:
        raise unknown("Word's XOR obfuscation")
    table = compound.root.stream("1Table" if flags & _DOC_TABLE else "0Table")
    lock = lock_of(compound.head(table, min(key, 4096)))
    opened = source.passwords.open(_digest(lock), lock.attempt, cost=COST, budget=TryBudget(limits), known=DEFAULT)
    for entry in (table, compound.root.stream("Data"), main):
        if entry is not None:
            entry.plain = opened.value.decrypt(compound.read(entry), _DOC_BLOCK)
    clear = struct.pack("<H", flags & ~_DOC_ENCRYPTED)
    main.plain = first[:_DOC_FLAGS] + clear + first[_DOC_FLAGS + 2 :] + (main.plain or b"")[_DOC_PLAIN:]
    return compound, opened.metadata


def opened_xls(source: Source, limits: Limits) -> tuple[CompoundFile, dict[str, Any]]:
    """Return a workbook, as `opened_doc` does."""
    compound = CompoundFile(source.whole(limits.parse_bytes))
    streams = (compound.root.stream(name) for name in ("Workbook", "Book"))
    metadata: dict[str, Any] = {}
    for entry in streams:
        if entry is not None and (header := _file_pass(compound.head(entry, _FIRST_RECORDS))):
            metadata = _open_workbook(compound, entry, header, source, limits)
    return compound, metadata


def _file_pass(beginning: bytes) -> bytes:
    """Return the record with the encryption of the workbook; b"" if it is not encrypted."""
    try:
        for _, kind, pieces in biff.records(beginning):
            if kind == _FILE_PASS:
                return b"".join(pieces)
            if kind not in _BEFORE_FILE_PASS:
                return b""
    except DocumentError:
        pass
    return b""


def _open_workbook(
    compound: CompoundFile, entry: DirectoryEntry, header: bytes, source: Source, limits: Limits
) -> dict[str, Any]:
    budget = TryBudget(limits)
    stream = compound.read(entry)
    lock = hashlib.sha256(header + stream[:_FIRST_RECORDS]).digest()
    if header[:2] != b"\0\0" and len(header) > 6:
        rc4 = lock_of(header[2:])
        keys = source.passwords.open(lock, rc4.attempt, cost=COST, budget=budget, known=DEFAULT)
        plain = keys.value.decrypt(stream, _XLS_BLOCK)
        entry.plain = _records(stream, lambda at, size: plain[at : at + size])
        return keys.metadata
    fields = struct.unpack_from("<HH", (header[-4:]).rjust(4, b"\0"))  # BIFF5 has no type before it
    array = source.passwords.open(lock, lambda p: array_of(p, *fields), cost=COST, budget=budget, known=DEFAULT)
    entry.plain = _records(stream, lambda at, size: decrypt(array.value, stream[at : at + size], at))
    return array.metadata


def _records(stream: bytes, plain: Callable[[int, int], bytes]) -> bytes:
    """Return the stream with its encrypted records' contents replaced by `plain(offset, size)`; FilePass is emptied."""
    out, at = [], 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        head, at = stream[at : at + 4], at + 4
        data = stream[at : at + size]
        if kind == _FILE_PASS:
            out += [struct.pack("<HH", 0, size), bytes(len(data))]
        elif kind in _XLS_PLAIN or not data:
            out += [head, data]
        else:
            kept = 4 if kind == _BOUND_SHEET else 0  # the position of the sheet's stream
            out += [head, data[:kept], plain(at, size)[kept : len(data)]]
        at += size
    return b"".join(out)


def opened_ppt(source: Source, limits: Limits) -> tuple[CompoundFile, dict[str, Any]]:
    """Return a presentation, as `opened_doc` does; its pictures remain encrypted and are removed."""
    compound = CompoundFile(source.whole(limits.parse_bytes))
    both = compound.root.find("PP97_DUALSTORAGE")  # saved for PowerPoint 95 and for 97, whose streams are in a storage
    if both is not None and both.stream("PowerPoint Document") is not None:
        inner = {entry.name.lower() for entry in both.children}
        others = [entry for entry in compound.root.children if entry.name.lower() not in inner]
        compound.root.children = [*both.children, *others]
    user, document = compound.root.stream("Current User"), compound.root.stream("PowerPoint Document")
    if user is None or document is None or compound.head(user, 16)[12:] != TOKEN:
        return compound, {}
    stream = compound.read(document)
    session = session_of(stream, compound.read(user))
    lock = lock_of(session.header)
    opened = source.passwords.open(_digest(lock), lock.attempt, cost=COST, budget=TryBudget(limits), known=DEFAULT)
    user.plain, document.plain = decrypted(stream, compound.read(user), session, opened.value)
    # Properties encrypted with the password, which no program shows without it, are omitted.
    compound.root.children = [entry for entry in compound.root.children if entry.name != "EncryptedSummary"]
    return compound, opened.metadata


def _digest(lock: Lock) -> bytes:
    return lock.salt + lock.verifier + lock.verifier_hash

"""Decrypting doc, xls and ppt: which bytes of their streams are encrypted, and with which keys.

Decrypted data replaces the streams of the compound file in memory, so the readers find nothing encrypted. Embedded
objects are not encrypted ([MS-DOC] 2.2.6.2, [MS-XLS] 2.2.10).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

from readers.base import Source
from readers.errors import DocumentError
from readers.office.encryption import rc4 as office_rc4
from readers.office.encryption import xor as office_xor
from readers.office.encryption.locks import unknown
from readers.office.encryption.unlock import DEFAULT
from readers.office.ole.compound import CompoundFile, DirectoryEntry
from readers.office.ppt import crypto as ppt_crypto
from readers.office.xls import biff
from readers.passwords import TryBudget
from readers.records import Limits

_DOC_ENCRYPTED, _DOC_XOR, _DOC_TABLE = 0x0100, 0x8000, 0x0200  # flags of the first block
_DOC_FLAGS, _DOC_KEY, _DOC_PLAIN, _DOC_BLOCK = 10, 14, 68, 512
_XLS_BLOCK = 1024
_FILE_PASS, _BOUND_SHEET, _FIRST_RECORDS = 0x2F, 0x85, 4096
# BOF, FilePass, UsrExcl, FileLock, InterfaceHdr, RRDInfo, RRDHead ([MS-XLS] 2.2.10)
_XLS_PLAIN = frozenset((0x809, _FILE_PASS, 0x194, 0x195, 0xE1, 0x196, 0x138))
_BEFORE_FILE_PASS = frozenset((biff.BOF, 0x86))


def opened_doc(source: Source, limits: Limits) -> tuple[CompoundFile, dict[str, Any]]:
    """Return a Word file, its streams decrypted if necessary, and the metadata about that. Raises DocumentError
    `encrypted`, and the errors of `CompoundFile`."""
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
    lock = office_rc4.lock_of(compound.head(table, min(key, 4096)))
    opened = source.passwords.open(
        _digest(lock), lock.attempt, cost=office_rc4.COST, budget=TryBudget(limits), known=DEFAULT
    )
    for entry in (table, compound.root.stream("Data"), main):
        if entry is not None:
            entry.plain = opened.value.decrypt(compound.read(entry), _DOC_BLOCK)
    clear = struct.pack("<H", flags & ~_DOC_ENCRYPTED)
    main.plain = first[:_DOC_FLAGS] + clear + first[_DOC_FLAGS + 2 :] + (main.plain or b"")[_DOC_PLAIN:]
    return compound, opened.metadata


def opened_xls(source: Source, limits: Limits) -> tuple[CompoundFile, dict[str, Any]]:
    """A workbook, as `opened_doc`."""
    compound = CompoundFile(source.whole(limits.parse_bytes))
    streams = (compound.root.stream(name) for name in ("Workbook", "Book"))
    metadata: dict[str, Any] = {}
    for entry in streams:
        if entry is not None and (header := _file_pass(compound.head(entry, _FIRST_RECORDS))):
            metadata = _open_workbook(compound, entry, header, source, limits)
    return compound, metadata


def _file_pass(beginning: bytes) -> bytes:
    """The record with the encryption of the workbook; b"" when it is not encrypted."""
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
        rc4 = office_rc4.lock_of(header[2:])
        keys = source.passwords.open(lock, rc4.attempt, cost=office_rc4.COST, budget=budget, known=DEFAULT)
        plain = keys.value.decrypt(stream, _XLS_BLOCK)
        entry.plain = _records(stream, lambda at, size: plain[at : at + size])
        return keys.metadata
    fields = struct.unpack_from("<HH", (header[-4:]).rjust(4, b"\0"))  # BIFF5 has no type in front
    array = source.passwords.open(
        lock, lambda p: office_xor.array_of(p, *fields), cost=office_rc4.COST, budget=budget, known=DEFAULT
    )
    entry.plain = _records(stream, lambda at, size: office_xor.decrypt(array.value, stream[at : at + size], at))
    return array.metadata


def _records(stream: bytes, plain: Callable[[int, int], bytes]) -> bytes:
    """The stream with the contents of its encrypted records replaced by `plain(offset, size)`; FilePass is emptied."""
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
            kept = 4 if kind == _BOUND_SHEET else 0  # where the sheet's stream begins
            out += [head, data[:kept], plain(at, size)[kept : len(data)]]
        at += size
    return b"".join(out)


def opened_ppt(source: Source, limits: Limits) -> tuple[CompoundFile, dict[str, Any]]:
    """A presentation, as `opened_doc`; its pictures stay encrypted and are taken away."""
    compound = CompoundFile(source.whole(limits.parse_bytes))
    both = compound.root.find("PP97_DUALSTORAGE")  # saved for PowerPoint 95 and for 97, whose streams are in a storage
    if both is not None and both.stream("PowerPoint Document") is not None:
        inner = {entry.name.lower() for entry in both.children}
        others = [entry for entry in compound.root.children if entry.name.lower() not in inner]
        compound.root.children = [*both.children, *others]
    user, document = compound.root.stream("Current User"), compound.root.stream("PowerPoint Document")
    if user is None or document is None or compound.head(user, 16)[12:] != ppt_crypto.TOKEN:
        return compound, {}
    stream = compound.read(document)
    session = ppt_crypto.session_of(stream, compound.read(user))
    lock = office_rc4.lock_of(session.header)
    opened = source.passwords.open(
        _digest(lock), lock.attempt, cost=office_rc4.COST, budget=TryBudget(limits), known=DEFAULT
    )
    user.plain, document.plain = ppt_crypto.decrypted(stream, compound.read(user), session, opened.value)
    # No program shows properties under the password without it; here they are omitted.
    compound.root.children = [entry for entry in compound.root.children if entry.name != "EncryptedSummary"]
    return compound, opened.metadata


def _digest(lock: office_rc4.Lock) -> bytes:
    return lock.salt + lock.verifier + lock.verifier_hash

"""The revision store of OneNote ([MS-ONESTORE]): lists of file nodes, and the objects and files that they declare.

Nothing in it is trusted: every list is entered once, and there is a limit to the nodes and bytes that are looked at.
Revisions are walked in order, so that of an object declared again the last one counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from readers.errors import DocumentError, ExceptionCode

REVISION_STORE = bytes.fromhex("3fdd9a101b91f549a5d01791edc8aed8")
_FILE_DATA = bytes.fromhex("e716e3bd65261145a4c48d4d0b7a9eac")  # 2.6.13
_FRAGMENT = struct.pack("<Q", 0xA4567AB1F5F7F4C4)
_HEADER_BYTES = 1024
_MAX_NODES = 2_000_000
_MAX_LIST = 1 << 24  # bytes of one fragment of a list
_MAX_OBJECT = 1 << 24  # bytes of one object's properties
_READ_IN_ALL = 4  # bytes read of a file, in units of its size, and a little more
_STP = ((8, 1), (4, 1), (2, 8), (4, 8))  # 2.2.4.2: bytes of a place and their unit, by StpFormat
_CB = ((4, 1), (8, 1), (1, 8), (2, 8))  # of a length, by CbFormat
_TABLE_STARTS, _TABLE_ENTRY = (0x021, 0x022), 0x024
_OBJECTS = (0x02D, 0x02E, 0x041, 0x042, 0x0A4, 0x0A5, 0x0C4, 0x0C5)
_FILE_OBJECTS = (0x072, 0x073)
_STORED_FILE = 0x094
_END_OF_LIST = 0x0FF
Key = tuple[bytes, int]  # an object's ExtendedGUID (2.2.1)


@dataclass(frozen=True, slots=True)
class Properties:
    """An object's properties as they are stored, and the table that its references are resolved with."""

    raw: bytes
    table: dict[int, bytes]
    owner: bytes = b""  # the object, where several versions of it are kept; b"" where this is the only one

    def key(self, compact: int) -> Key:
        """The object that a CompactID (2.2.2) stands for."""
        return self.table.get(compact >> 8, b""), compact & 0xFF


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the file data store: where its bytes are, as far as they are there."""

    start: int
    size: int  # as announced
    complete: bool


@dataclass(slots=True)
class Store:
    """What a revision store declares, in the order of the walk."""

    objects: dict[Key, Properties] = field(default_factory=dict)
    file_objects: dict[Key, tuple[bytes, str]] = field(default_factory=dict)  # (file's GUID, extension)
    files: dict[bytes, StoredFile] = field(default_factory=dict)  # by GUID
    holders: dict[bytes, Key] = field(
        default_factory=dict
    )  # the object that names a file, where that is known by itself
    error: DocumentError | None = None


def read_store(file: BinaryIO, size: int) -> Store:
    """Everything that can be reached from the root list. DocumentError `truncated` or `corrupt` where there is none;
    `Store.error` for damage further down."""
    file.seek(0)
    header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        raise DocumentError(ExceptionCode.TRUNCATED, "the OneNote file ends in its header")
    start, length = struct.unpack_from("<QL", header, 172)
    walk = _Walk(file, size)
    walk.read(start, length)
    if not walk.nodes:
        raise walk.store.error or DocumentError(ExceptionCode.CORRUPT, "the OneNote file has no list of its contents")
    return walk.store


@dataclass(frozen=True, slots=True)
class _Node:
    """One FileNode (2.4.3) with its reference, if it has one."""

    id: int
    base: int  # 1: refers to data, 2: to another list
    body: bytes  # behind the reference
    start: int = 0
    length: int = 0


class _Walk:
    """One walk over all lists, depth first."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.store = Store()
        self.nodes = 0
        self._file, self._size = file, size
        self._left = _READ_IN_ALL * size + (1 << 20)
        self._entered: set[int] = set()

    def read(self, start: int, length: int) -> None:
        """The list that begins there, and every list that it refers to. One that is damaged ends early."""
        pending = [self._nodes(start, length)]
        tables: list[dict[int, bytes]] = [{}]
        while pending:
            try:
                node = next(pending[-1], None)
            except DocumentError as error:
                self.store.error = self.store.error or error
                node = None
            if node is None:
                pending.pop()
                tables.pop()
            elif node.base == 2:
                pending.append(self._nodes(node.start, node.length))
                tables.append(tables[-1])
            elif node.id in _TABLE_STARTS:
                tables[-1] = {}
            elif node.id == _TABLE_ENTRY and len(node.body) >= 20:
                tables[-1][int.from_bytes(node.body[:4], "little")] = node.body[4:20]
            else:
                self._declared(node, tables[-1])

    def _declared(self, node: _Node, table: dict[int, bytes]) -> None:
        """Keep what the node declares, if it is of use."""
        if len(node.body) < 8 or not (node.id in _OBJECTS or node.id in _FILE_OBJECTS or node.id == _STORED_FILE):
            return
        compact = int.from_bytes(node.body[:4], "little")
        key = table.get(compact >> 8, b""), compact & 0xFF
        try:
            if node.id in _OBJECTS:
                raw = self._bytes(node.start, node.length, _MAX_OBJECT)
                self.store.objects[key] = Properties(raw, table)
            elif node.id in _FILE_OBJECTS:
                self.store.file_objects[key] = _file_object(node.body[12 if node.id == 0x073 else 9 :])
            elif len(node.body) >= 16:
                self.store.files.setdefault(node.body[:16], self._stored(node.start))
        except DocumentError as error:
            self.store.error = self.store.error or error

    def _bytes(self, start: int, length: int, most: int) -> bytes:
        """DocumentError where they are not all there, or too many."""
        if start + length > self._size:
            raise DocumentError(ExceptionCode.TRUNCATED, "the OneNote file ends before what it refers to")
        self._left -= length
        if length > most or self._left < 0:
            raise DocumentError(ExceptionCode.CORRUPT, "the parts of the OneNote file overlap or are too large")
        self._file.seek(start)
        return self._file.read(length)

    def _nodes(self, start: int, length: int) -> Iterator[_Node]:
        """The nodes of a list, fragment by fragment (2.4.1)."""
        while 0 < start < self._size and start not in self._entered:
            self._entered.add(start)
            raw = self._bytes(start, length, _MAX_LIST)
            if not raw.startswith(_FRAGMENT) or len(raw) < 36:
                raise DocumentError(
                    ExceptionCode.CORRUPT, "there is no list at the position that the OneNote file gives"
                )
            at, end = 16, len(raw) - 20
            while at + 4 <= end:
                head = int.from_bytes(raw[at : at + 4], "little")
                size = head >> 10 & 0x1FFF
                if head & 0x3FF in (0, _END_OF_LIST) or size < 4 or at + size > end:
                    break
                self.nodes += 1
                if self.nodes > _MAX_NODES:
                    raise DocumentError(ExceptionCode.EXPANSION_LIMIT, f"more than {_MAX_NODES} nodes in the file")
                yield _node(head, raw[at + 4 : at + size])
                at += size
            start, length = struct.unpack_from("<QL", raw, len(raw) - 20)

    def _stored(self, start: int) -> StoredFile:
        """FileDataStoreObject (2.6.13)."""
        head = self._bytes(start, 36, 36)
        if head[:16] != _FILE_DATA:
            raise DocumentError(
                ExceptionCode.CORRUPT, "there is no embedded file at the position that the OneNote file gives"
            )
        size = int.from_bytes(head[16:24], "little")
        return StoredFile(start + 36, size, start + 36 + size <= self._size)


def _node(head: int, rest: bytes) -> _Node:
    base = head >> 27 & 0xF
    if base not in (1, 2):
        return _Node(head & 0x3FF, base, rest)
    (place, place_unit), (count, count_unit) = _STP[head >> 23 & 3], _CB[head >> 25 & 3]
    start = int.from_bytes(rest[:place], "little") * place_unit
    length = int.from_bytes(rest[place : place + count], "little") * count_unit
    return _Node(head & 0x3FF, base, rest[place + count :], start, length)


def _file_object(body: bytes) -> tuple[bytes, str]:
    """(GUID of the file data, b"" where the data is stored elsewhere; extension) of two counted strings (2.5.27,
    2.3.3)."""
    texts = []
    at = 0
    for _ in range(2):
        count = int.from_bytes(body[at : at + 4], "little")
        texts.append(body[at + 4 : at + 4 + 2 * count].decode("utf-16-le", "replace").rstrip("\0"))
        at += 4 + 2 * count
    digits = texts[0].removeprefix("<ifndf>").strip("{}").replace("-", "")
    try:
        big = bytes.fromhex(digits)
    except ValueError:
        big = b""
    guid = big[3::-1] + big[5:3:-1] + big[7:5:-1] + big[8:] if len(big) == 16 else b""
    return guid, texts[1]

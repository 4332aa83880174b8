"""OneNote sections ([MS-ONE], [MS-ONESTORE]): text of all pages, and the files and pictures on them as children."""

from __future__ import annotations

import re
import struct
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import BinaryIO

from msgspec import Struct, field

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, corrupt, expansion_limit, truncated, unsupported
from readers.records import FixedLimits, Kind, Limits
from readers.streams import SMALL_MEMBER, RangeStream

# The revision store of OneNote ([MS-ONESTORE]): lists of file nodes, and the objects and files that they declare.

REVISION_STORE = bytes.fromhex("3fdd9a101b91f549a5d01791edc8aed8")
_FILE_DATA = bytes.fromhex("e716e3bd65261145a4c48d4d0b7a9eac")  # 2.6.13
_FRAGMENT = struct.pack("<Q", 0xA4567AB1F5F7F4C4)
_HEADER_BYTES = 1024
_MAX_NODES = 2_000_000
_MAX_LIST = 1 << 24  # bytes of one fragment of a list
_MAX_OBJECT = 1 << 24  # bytes of one object's properties
_READ_IN_ALL = 4  # total bytes read, in units of the file's size
_STP = ((8, 1), (4, 1), (2, 8), (4, 8))  # 2.2.4.2: bytes of a place and their unit, by StpFormat
_CB = ((4, 1), (8, 1), (1, 8), (2, 8))  # of a length, by CbFormat
_TABLE_STARTS, _TABLE_ENTRY = (0x021, 0x022), 0x024
_OBJECTS = (0x02D, 0x02E, 0x041, 0x042, 0x0A4, 0x0A5, 0x0C4, 0x0C5)
_FILE_OBJECTS = (0x072, 0x073)
_STORED_FILE = 0x094
_END_OF_LIST = 0x0FF
Key = tuple[bytes, int]  # an object's ExtendedGUID (2.2.1)


class Properties(Struct, frozen=True):
    """Properties of an object as stored, and the table that resolves its references."""

    raw: bytes
    table: dict[int, bytes]
    owner: bytes = b""  # the object, if several versions of it are kept; else b""

    def key(self, compact: int) -> Key:
        """Return the key of the object that a CompactID (2.2.2) refers to."""
        return self.table.get(compact >> 8, b""), compact & 0xFF


class StoredFile(Struct, frozen=True):
    """A file in the file data store: the position of its bytes."""

    start: int
    size: int  # as announced
    complete: bool


class Store(Struct):
    """Declarations of a revision store, in the order of the walk."""

    objects: dict[Key, Properties] = field(default_factory=dict)
    file_objects: dict[Key, tuple[bytes, str]] = field(default_factory=dict)  # (file's GUID, extension)
    files: dict[bytes, StoredFile] = field(default_factory=dict)  # by GUID
    # The object that names a file, if that is known independently
    holders: dict[bytes, Key] = field(default_factory=dict)
    error: DocumentError | None = None


def read_store(file: BinaryIO, size: int) -> Store:
    """Read everything that can be reached from the root list. Raises DocumentError `truncated` or `corrupt` if there is
    none; damage further down is in `Store.error`."""
    file.seek(0)
    header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        raise truncated("the OneNote file ends in its header")
    start, length = struct.unpack_from("<QL", header, 172)
    walk = _Walk(file, size)
    walk.read(start, length)
    if not walk.nodes:
        raise walk.store.error or corrupt("the OneNote file has no list of its contents")
    return walk.store


class _Node(Struct, frozen=True):
    """One FileNode (2.4.3) with its reference, if it has one."""

    id: int
    base: int  # 1: refers to data, 2: to another list
    body: bytes  # after the reference
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
        """Read the list that begins there, and every list that it refers to. A damaged one ends early."""
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
        """Keep the node's declaration, if it is needed."""
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
        """Return bytes of the file. Raises DocumentError if they are not complete, or too many."""
        if start + length > self._size:
            raise truncated("the OneNote file ends before what it refers to")
        self._left -= length
        if length > most or self._left < 0:
            raise corrupt("the parts of the OneNote file overlap or are too large")
        self._file.seek(start)
        return self._file.read(length)

    def _nodes(self, start: int, length: int) -> Iterator[_Node]:
        """Yield the nodes of a list, fragment by fragment (2.4.1)."""
        while 0 < start < self._size and start not in self._entered:
            self._entered.add(start)
            raw = self._bytes(start, length, _MAX_LIST)
            if not raw.startswith(_FRAGMENT) or len(raw) < 36:
                raise corrupt("there is no list at the position given in the OneNote file")
            at, end = 16, len(raw) - 20
            while at + 4 <= end:
                head = int.from_bytes(raw[at : at + 4], "little")
                size = head >> 10 & 0x1FFF
                if head & 0x3FF in (0, _END_OF_LIST) or size < 4 or at + size > end:
                    break
                self.nodes += 1
                if self.nodes > _MAX_NODES:
                    raise expansion_limit(f"more than {_MAX_NODES} nodes in the file")
                yield _node(head, raw[at + 4 : at + size])
                at += size
            start, length = struct.unpack_from("<QL", raw, len(raw) - 20)

    def _stored(self, start: int) -> StoredFile:
        """Read a FileDataStoreObject (2.6.13)."""
        head = self._bytes(start, 36, 36)
        if head[:16] != _FILE_DATA:
            raise corrupt("there is no embedded file at the position given in the OneNote file")
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
    """Return (GUID of the file data, b"" if the data is stored elsewhere; extension) of two counted strings (2.5.27,
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


# The properties of OneNote's objects ([MS-ONESTORE] 2.6.1, 2.6.6 to 2.6.9).

_MAX_DEPTH = 8  # property sets inside one another
_MAX_PROPERTIES = 100_000
_FIXED = {1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8}  # bytes of a value in the data, by type
_COUNTED, _REFERENCE, _REFERENCES = 7, 8, 9
_OTHER_REFERENCE, _OTHER_REFERENCES = (10, 12), (11, 13)  # to object spaces and contexts
_SETS, _SET = 16, 17
Value = bytes | int  # the bytes of a value; the CompactID of a referenced object


class _Reader:
    """Position in the data, and the references that the properties use one after another."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0
        self.left = _MAX_PROPERTIES
        self.references: Iterator[int] = iter(self._streams())

    def number(self, size: int) -> int:
        """Return the next bytes as a number. Raises LookupError at the end."""
        return int.from_bytes(self.bytes(size), "little")

    def bytes(self, size: int) -> bytes:
        """Return the next bytes. Raises LookupError at the end."""
        if self.at + size > len(self.raw):
            raise IndexError("the properties end too early")
        self.at += size
        return self.raw[self.at - size : self.at]

    def _streams(self) -> list[int]:
        """Read the references to objects; skip those to object spaces and contexts after them."""
        head = self.number(4)
        references = [int.from_bytes(self.bytes(4), "little") for _ in range(min(head & 0xFFFFFF, len(self.raw) // 4))]
        more = not head >> 31
        while more:
            head = self.number(4)
            self.bytes(4 * (head & 0xFFFFFF))
            more = bool(head >> 30 & 1)
            if self.at >= len(self.raw):
                break
        return references


def properties(raw: bytes) -> Iterator[tuple[int, Value]]:
    """Yield (number with type, value) of an object's properties, with those of sets, while readable."""
    try:
        reader = _Reader(raw)
        yield from _set(reader, 0)
    except (IndexError, StopIteration, RuntimeError):
        return


def _set(reader: _Reader, depth: int) -> Iterator[tuple[int, Value]]:
    numbers = [reader.number(4) for _ in range(reader.number(2))]
    reader.left -= len(numbers)
    if depth > _MAX_DEPTH or reader.left < 0:
        raise IndexError("too many properties")
    for number in numbers:
        kind = number >> 26 & 0x1F
        if kind in _FIXED:
            yield number, reader.bytes(_FIXED[kind])
        elif kind == _COUNTED:
            yield number, reader.bytes(reader.number(4))
        elif kind == _REFERENCE:
            yield number, next(reader.references, 0)
        elif kind == _REFERENCES:
            deque(islice(reader.references, min(reader.number(4), len(reader.raw))), maxlen=0)  # skip them
        elif kind in _OTHER_REFERENCES:
            reader.bytes(4)
        elif kind == _SETS:
            count = reader.number(4)
            if count:
                reader.bytes(4)
            for _ in range(min(count, len(reader.raw))):
                yield from _set(reader, depth + 1)
        elif kind == _SET:
            yield from _set(reader, depth + 1)
        elif kind not in _OTHER_REFERENCE:
            raise IndexError("an unknown type of property")


# OneNote sections in the packaging that servers deliver ([MS-ONESTORE] 2.8 over [MS-FSSHTTPB] 2.2): one flat walk
# over its stream objects finds the objects' properties and the files.

PACKAGING = bytes.fromhex("2fe98d63d4a6c14b9a36b3fc2511a5b7")  # guidFileFormat
_START = 68  # after the header
_PACKAGING, _ELEMENT, _BLOB, _BLOB_DECLARED = 0x7A, 0x01, 0x02, 0x05
_OBJECT_DATA, _OBJECT_DECLARED, _DECLARATIONS = 0x16, 0x18, 0x1D
_LARGE = 0x7FFF
_MAX_OBJECTS = 2_000_000
_GUID_FORMS = ((0x07, 0x04, 1), (0x3F, 0x20, 2), (0x7F, 0x40, 3), (0xFF, 0x80, 5))  # mask, bits, bytes before the GUID


def read_packaged(data: bytes) -> Store:
    """Read all objects of the package, in all versions: the order of the elements does not identify the last one.
    `Store.error` is set if it breaks off."""
    store = Store()
    walk = _PackageWalk(data, store)
    try:
        for kind, start, end in _stream_objects(data):
            walk.take(kind, start, end)
    except DocumentError as error:
        store.error = error
    return store


class _PackageWalk:
    """State of the walk on which later elements depend."""

    def __init__(self, data: bytes, store: Store) -> None:
        self._data, self._store = data, store
        self._element = b""  # the data element that the walk is in
        self._declared: deque[bytes] = deque()  # objects of the group whose data has not come yet
        self._blobs: dict[bytes, bytes] = {}  # object → data element with its file

    def take(self, kind: int, start: int, end: int) -> None:
        """Use one stream object, if it is needed; skip a damaged one."""
        try:
            if kind == _ELEMENT:
                self._element = _guid(self._data, start)
            elif kind == _DECLARATIONS:
                self._declared.clear()
            elif kind == _OBJECT_DECLARED:
                behind = start + len(_guid(self._data, start))
                self._declared.append(self._data[start : _compact(self._data, behind)[1]])
            elif kind == _BLOB_DECLARED:
                owner = _guid(self._data, start)
                self._blobs[owner] = _guid(self._data, start + len(owner))
            elif kind == _OBJECT_DATA:
                self._properties(start, end)
            elif kind == _BLOB:
                size, at = _compact(self._data, start)
                self._store.files[self._element] = StoredFile(at, size, at + size <= end)
        except IndexError:
            return

    def _properties(self, at: int, end: int) -> None:
        """Read object data (2.2.1.12.6.4): two lists of references, then the properties ([MS-ONESTORE] 2.6.1)."""
        key = self._declared.popleft() if self._declared else b"#%d" % len(self._store.objects)
        references = []
        for each in (1, 2):  # objects; cells, of which each takes two
            count, at = _compact(self._data, at)
            for _ in range(each * min(count, len(self._data))):
                reference = _guid(self._data, at)
                at += len(reference)
                if at > end:
                    raise IndexError("more references than the object has room for")
                references.append(reference)
        size, at = _compact(self._data, at)
        # Tables resolve the references of the other packaging; here references are complete.
        place = key, len(self._store.objects)
        self._store.objects[place] = Properties(self._data[at : min(end, at + size)], {}, key)
        for reference in references:
            if reference in self._blobs:
                self._store.holders.setdefault(self._blobs[reference], place)


def _stream_objects(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (type, start, end) of the stream objects (2.2.1.5) in order, including those inside others. Raises
    DocumentError `truncated` if one reaches beyond the end."""
    at = _START
    for _ in range(_MAX_OBJECTS):
        head = int.from_bytes(data[at : at + 4], "little")
        form = head & 3
        if form in (1, 3):  # the end of one that has others inside, of one byte or two
            if form == 3 and head >> 2 & 0x3FFF == _PACKAGING:
                return
            at += 1 if form == 1 else 2
            continue
        if form == 0:
            kind, length, at = head >> 3 & 0x3F, head >> 9 & 0x7F, at + 2
        else:
            kind, length, at = head >> 3 & 0x3FFF, head >> 17, at + 4
        try:
            if form == 2 and length == _LARGE:
                length, at = _compact(data, at)
        except IndexError:
            length = len(data)
        if at + length > len(data):
            break
        yield kind, at, at + length
        at += length
    raise truncated("the OneNote file ends in the middle of its package")


def _compact(data: bytes, at: int) -> tuple[int, int]:
    """Return a compact unsigned 64-bit integer (2.2.1.1) and the position after it. Raises IndexError if it is cut."""
    first = data[at]
    if first == 0:
        return 0, at + 1
    width = (first & -first).bit_length()  # the lowest set bit gives the number of bytes
    if width == 8:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    return int.from_bytes(data[at : at + width], "little") >> width, at + width


def _guid(data: bytes, at: int) -> bytes:
    """Return an extended GUID (2.2.1.7) as stored. Raises IndexError if there is none."""
    first = data[at]
    if first == 0:
        return data[at : at + 1]
    for mask, bits, before in _GUID_FORMS:
        if first & mask == bits:
            return data[at : at + before + 16]
    raise IndexError("no extended GUID")


# Numbers of properties with their types, [MS-ONE] 2.1.12.
_TEXT, _TEXT_8BIT, _TITLE, _ALT_TEXT = 0x1C001C22, 0x1C003498, 0x1C001CF3, 0x1C001E58
_AUTHOR, _FILE_NAME, _PICTURE_NAME = 0x1C001D75, 0x1C001D9C, 0x1C001DD7
_FILE_CONTAINER, _PICTURE_CONTAINER, _WEB_PICTURE = 0x20001D9B, 0x20001C3F, 0x200034C8
_CONTAINERS = (_FILE_CONTAINER, _PICTURE_CONTAINER, _WEB_PICTURE)
_LINK = 0x1C001E20
_CREATED, _MODIFIED = 0x14001D09, 0x14001D7A  # seconds since 1980
_FIELD = re.compile('\ufddfHYPERLINK "([^"]*)"')
_EPOCH = datetime(1980, 1, 1)


class OneNoteHandler(LeafHandler):
    """A section, or the table of contents of a notebook."""

    name = "onenote"
    whole = False
    declared = Declared(
        title="OneNote sections",
        extensions=("one", "onetoc2"),
        text="the text of all pages in the order of the file, link targets, descriptions of pictures; the last "
        "version of each piece of text, or all versions if a server packaged the file",
        metadata=("title", "author", "created", "modified", "application"),
        children="attached files under their names, pictures and printouts, in the order of the file data store",
        announces="the file data store",
        leaves_out=(
            "sections of more than 64 MB that a server packaged: the exception is `too_large`",
            "ink, positions of recordings in the text, earlier versions unless a server packaged the file",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Return the number of files in the file data store; None if it cannot be read completely."""
        try:
            with source.open() as file:
                store = _store(file, source, FixedLimits())
        except DocumentError:
            return None
        return None if store.error else len(store.files)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield embedded files with their position in the store as ordinal; cut ones with their available bytes. A
        damaged section yields the readable ones, then raises its error."""
        with source.open() as file:
            store = _store(file, source, limits)
            names = _names(store)
            for position, (guid, stored) in enumerate(store.files.items()):
                yield _child(file, source.size, position, names.get(guid) or f"object-{position}", stored)
        if store.error is not None:
            raise store.error

    def text(self, source: Source, limits: Limits) -> Text:
        """Return text and properties of all objects. Raises the errors of `_store`."""
        with source.open() as file:
            store = _store(file, source, limits)
        collector = clean.Collector(limits.text_characters)
        by_number: dict[int, list[bytes]] = {}
        written: set[tuple[bytes, str]] = set()
        for held in store.objects.values():
            for number, value in properties(held.raw):
                if isinstance(value, int):
                    continue
                if number in (_TEXT, _TEXT_8BIT, _LINK, _ALT_TEXT) and (line := _decoded(number, value)):
                    if (held.owner, line) not in written:
                        collector.add(line + "\n")
                    if held.owner:
                        written.add((held.owner, line))
                elif number in (_TITLE, _AUTHOR, _CREATED, _MODIFIED):
                    by_number.setdefault(number, []).append(value)
        out = collector.result(metadata=_metadata(by_number))
        out.error = out.error or store.error
        return out


def _store(file: BinaryIO, source: Source, limits: Limits) -> Store:
    """Return the declarations of the section, in either packaging. Raises DocumentError if nothing can be read."""
    file_type = source.head[48:64]
    if file_type == PACKAGING:
        return read_packaged(source.whole(limits.parse_bytes))
    if file_type != REVISION_STORE and len(file_type) == 16:
        raise unsupported("a OneNote file with an unknown packaging")
    return read_store(file, source.size)


def _decoded(number: int, value: bytes) -> str:
    """Decode a line of text; a link in it becomes its address and then the shown text."""
    text = value.decode("cp1252" if number == _TEXT_8BIT else "utf-16-le", "replace")
    return _FIELD.sub(r"\1 ", text).replace("\0", "").replace("\v", "\n").strip()


def _metadata(by_number: dict[int, list[bytes]]) -> dict[str, object]:
    """Return the first page's title, the first author, the earliest and the latest date."""
    pairs: list[tuple[str, str | None]] = [
        (key, next((text for raw in by_number.get(number, ()) if (text := _decoded(number, raw))), None))
        for key, number in (("title", _TITLE), ("author", _AUTHOR))
    ]
    for key, number, pick in (("created", _CREATED, min), ("modified", _MODIFIED, max)):
        seconds = [s for raw in by_number.get(number, ()) if (s := int.from_bytes(raw, "little"))]
        pairs.append((key, (_EPOCH + timedelta(seconds=pick(seconds))).isoformat() + "Z" if seconds else None))
    pairs.append(("application", "Microsoft OneNote"))
    return dict(clean.values(pairs))


def _names(store: Store) -> dict[bytes, str]:
    """Return file names by the GUID of the data: that of the attachment or picture, else one with its extension."""
    names: dict[bytes, str] = {}
    for held in store.objects.values():
        values: dict[int, Value] = dict(properties(held.raw))
        name = next((values[n] for n in (_FILE_NAME, _PICTURE_NAME) if n in values), None)
        for number in _CONTAINERS if held.table else ():
            compact = values.get(number)
            if isinstance(compact, int) and isinstance(name, bytes):
                guid, _ = store.file_objects.get(held.key(compact), (b"", ""))
                names.setdefault(guid, _decoded(_FILE_NAME, name))
    for guid, key in store.holders.items():
        named: dict[int, Value] = dict(properties(store.objects[key].raw)) if key in store.objects else {}
        name = next((named[n] for n in (_FILE_NAME, _PICTURE_NAME) if n in named), None)
        if isinstance(name, bytes):
            names[guid] = _decoded(_FILE_NAME, name)
    extensions = dict(store.file_objects.values())
    for position, guid in enumerate(store.files):
        if guid not in names and extensions.get(guid):
            names[guid] = f"object-{position}{extensions[guid]}"
    return names


def _child(file: BinaryIO, size: int, position: int, name: str, stored: StoredFile) -> Child:
    length = max(0, min(stored.size, size - stored.start))
    child = Child(name=name.encode("utf-8", "backslashreplace"), kind=Kind.EMBEDDED_OBJECT, ordinal=position)
    if not stored.complete:
        child.error = truncated(f"the OneNote file ends after {length} of the embedded file's {stored.size} bytes")
    if length > SMALL_MEMBER:
        child.stream, child.size_hint = RangeStream.buffered(file, stored.start, length), length
    else:
        file.seek(stored.start)
        child.data = file.read(length)
    return child

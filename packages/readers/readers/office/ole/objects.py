"""Objects in documents as OLE storages ([MS-OLEDS]): packaged files, and documents of other programs."""

from __future__ import annotations

import ntpath
import struct
from collections.abc import Iterable, Iterator
from itertools import chain

from readers import cfb
from readers.base import Child, Source
from readers.errors import DocumentError, corrupt, truncated, unsupported
from readers.office.ole.compound import MAGIC, CompoundFile, DirectoryEntry
from readers.records import Kind
from readers.rest import AFTER_CONTENT, rest

# Objects as OLE 1.0 stores them ([MS-OLEDS] 2.2), also in RTF.

_LONGEST_NAME = 4096  # bytes; Windows paths are shorter
_LINKED = 1


def embedded(data: bytes) -> tuple[bytes, bytes]:
    """Return (class name, native data) of an OLE 1.0 object in RTF ([MS-OLEDS] 2.2.4, 2.2.5). Raises DocumentError
    `unsupported` for a link, which has no data; `corrupt` if this is no such object."""
    if len(data) < 8:
        raise corrupt("the embedded object has no header")
    if struct.unpack_from("<I", data, 4)[0] == _LINKED:
        raise unsupported("the object is a link; its content is stored elsewhere")
    at = 8
    names: list[bytes] = []
    for _ in range(3):  # class, topic, item
        length = struct.unpack_from("<I", data.ljust(at + 4, b"\0"), at)[0]
        if length > _LONGEST_NAME or at + 4 + length > len(data):
            raise corrupt("the embedded object ends inside its header")
        names.append(data[at + 4 : at + 4 + length].rstrip(b"\0"))
        at += 4 + length
    if at + 4 > len(data):
        raise corrupt("the embedded object ends inside its header")
    size = struct.unpack_from("<I", data, at)[0]
    return names[0], data[at + 4 : at + 4 + size]


NATIVE = "\x01Ole10Native"
_WHOLE = ("Package", "CONTENTS")  # streams that are a file unchanged: Office Open XML, PDF and others
# Streams that only describe an object, in any storage ([MS-OLEDS] 2.3, [MS-DOC] 2.7).
_ABOUT = frozenset(
    name.lower()
    for name in (
        *("\x01Ole", "\x01CompObj", "\x03ObjInfo", "\x03LinkInfo", "\x03PRINT", "\x03ACCESSOBJSITEDATA"),
        *("\x05SummaryInformation", "\x05DocumentSummaryInformation"),
        *(f"\x02OlePres{n:03}" for n in range(10)),
        *("\x03META", "\x03EPRINT"),
    )
)


_CONTROL = "\x03OCXNAME"  # a button or list on a form, not an object


def children(compound: CompoundFile, storages: Iterable[DirectoryEntry]) -> Iterator[Child]:
    """Yield the objects in these storages in order, without storages that only link to something elsewhere, and
    controls of forms."""
    position = 0
    for storage in storages:
        holds = storage.storage and any(e.name.lower() not in _ABOUT for e in storage.children)
        if holds and storage.find(_CONTROL) is None:
            yield _child(compound, storage, position)
            position += 1


def carried_by(source: Source, compound: CompoundFile, *lists: Iterable[Child]) -> Iterator[Child]:
    """Yield the children of a document that is a compound file, numbered over all of these lists; then what follows its
    sectors."""
    for position, child in enumerate(chain.from_iterable(lists)):
        child.ordinal = position
        yield child
    with source.open() as file:
        yield from rest(file, compound.end, source.size, AFTER_CONTENT, "compound file", kind=Kind.EMBEDDED_OBJECT)


def _child(compound: CompoundFile, storage: DirectoryEntry, position: int) -> Child:
    name = storage.name.encode("utf-8", "backslashreplace") or b"object-%d" % position
    error: DocumentError | None = None
    data: bytes | None = None
    try:
        inner = carried(compound, storage)
        name, data = (inner[0] or name, inner[1]) if inner else (name, rewritten(compound, storage))
    except DocumentError as failed:
        error = failed
    return Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=position, data=data, error=error)


def carried(compound: CompoundFile, storage: DirectoryEntry) -> tuple[bytes, bytes] | None:
    """Return (name, bytes) of the file in an object's storage, with the name b"" if it has none; None if the object is
    a document that consists of several streams. Raises DocumentError if the announced file cannot be read."""
    native = storage.stream(NATIVE)
    if native is not None:
        return packaged(compound.read(native))
    for name in _WHOLE:
        entry = storage.stream(name)
        if entry is not None and storage.stream("Quill", "QuillSub", "CONTENTS") is None:
            return b"", compound.read(entry)
    return None


def rewritten(compound: CompoundFile, storage: DirectoryEntry) -> bytes:
    """Copy the document in a storage to a compound file of its own. Raises DocumentError if its names cannot be
    written, or its streams overlap."""
    try:
        return cfb.write(_copied(compound, storage))
    except ValueError as failed:
        raise corrupt(f"an embedded document cannot be extracted: {failed}") from failed


def _copied(compound: CompoundFile, storage: DirectoryEntry) -> cfb.Storage:
    streams = {entry.name: compound.read(entry) for entry in storage.children if not entry.storage}
    storages = [_copied(compound, entry) for entry in storage.children if entry.storage]
    return cfb.Storage(storage.name, storage.class_id, streams, storages)


def unwrapped(data: bytes) -> tuple[bytes, bytes] | None:
    """Return (name, bytes) of the file in an OLE object that is a compound file of its own; None if it is no compound
    file, a document by itself, or damaged: then it is kept unchanged."""
    if not data.startswith(MAGIC):
        return None
    try:
        compound = CompoundFile(data)
        return carried(compound, compound.root)
    except DocumentError:
        return None


def packaged(stream: bytes) -> tuple[bytes, bytes]:
    """Return (name, bytes) of the file in an OLE package: a size, then the Packager's own structure, or, if that does
    not fit, the native data of any other program (2.3.6). Raises DocumentError if it is cut short."""
    if len(stream) < 4:
        raise truncated("an embedded package ends in its first bytes")
    size = struct.unpack_from("<I", stream)[0]
    native = stream[4 : 4 + size]
    return _from_packager(native) or (b"", native)


def _from_packager(native: bytes) -> tuple[bytes, bytes] | None:
    """Read label, original path, temporary path, the file; then, since Windows XP, the three names again in UTF-16."""
    if native[:2] != b"\x02\0":
        return None
    label, at = _terminated(native, 2)
    path, at = _terminated(native, at)
    if at < 0 or native[at + 2 : at + 4] != b"\x03\0":
        return None  # 1 stands for a link, 3 for an embedded file
    temporary = int.from_bytes(native[at + 4 : at + 8], "little")
    at += 8 + temporary
    if at + 4 > len(native):
        return None
    size = int.from_bytes(native[at : at + 4], "little")
    data = native[at + 4 : at + 4 + size]
    if len(data) < size:
        raise truncated(f"an embedded package ends after {len(data)} of {size} bytes")
    return ntpath.basename(_wide_label(native, at + 4 + size) or label or path), data


def _terminated(data: bytes, at: int) -> tuple[bytes, int]:
    """Return a string up to its NUL, and the start of the next; -1 if there is no NUL."""
    end = data.find(b"\0", at) if at >= 0 else -1
    return (data[at:end], end + 1) if end >= 0 else (b"", -1)


def _wide_label(native: bytes, at: int) -> bytes:
    """Return the label among the names in UTF-16 (temporary path, label, original path), as UTF-8; b"" without them."""
    for index in range(2):
        size = 2 * int.from_bytes(native[at : at + 4], "little")
        text = native[at + 4 : at + 4 + size]
        if len(text) < size:
            return b""
        if index == 1:
            return text.decode("utf-16-le", "replace").split("\0", 1)[0].encode("utf-8")
        at += 4 + size
    return b""

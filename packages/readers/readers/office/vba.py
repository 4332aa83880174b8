"""Macros of Office documents ([MS-OVBA]): the source of each module with code that a user wrote, as a text.

A project is a storage of streams: `dir` lists the modules and the start of the source in their streams; both are
compressed (2.4.1)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from msgspec import Struct

from readers.base import Child
from readers.charset import decode
from readers.errors import DocumentError, corrupt, too_large
from readers.office.ole.compound import CompoundFile
from readers.records import Kind, Limits

# Location of the project: in Word, in Excel, and in a file of its own (PowerPoint, Office Open XML).
_PLACES = (("Macros", "VBA"), ("_VBA_PROJECT_CUR", "VBA"), ("VBA",))
_CODE_PAGE, _VERSION, _NAME, _STREAM, _OFFSET, _END = 0x03, 0x09, 0x19, 0x1A, 0x31, 0x2B  # 2.3.4.2
_CHUNK = 4096  # bytes of a decompressed chunk
_BITS = (1, 2, 4, 8, 16, 32, 64, 128)
_MOST_MODULES = 10_000
_MOST = 16_000_000  # bytes of source of one document; real macros have thousands of lines
# Lines that a program writes into each module, even into unused ones.
_UNWRITTEN = re.compile(
    rb"(?:Attribute [^\n]*|VERSION [^\n]*|Option [^\n]*|BEGIN\r?\n(?:[^\n]*\n)*?END|\s*)(?:\r?\n|\Z)"
)


class _Module(Struct, frozen=True):
    name: bytes
    stream: bytes
    offset: int


def children(compound: CompoundFile, limits: Limits) -> Iterator[Child]:
    """Yield the modules of a file's project in order; none if it has no macros. Raises DocumentError `corrupt` or
    `too_large` if the list of modules cannot be read."""
    places = (compound.root.find(*place) for place in _PLACES)
    storage = next((place for place in places if place is not None and place.stream("dir") is not None), None)
    if storage is None:
        return
    try:
        listed = decompressed(compound.read(storage.stream("dir")), _MOST)
    except DocumentError as failed:
        raise DocumentError(failed.code, f"the macros cannot be read: {failed.detail}") from failed
    page, modules = _project(listed)
    position = 0
    left = min(_MOST, limits.parse_bytes)
    for module in modules:
        source: bytes | None = None
        error: DocumentError | None = None
        try:
            packed = compound.read(storage.stream(decode(module.stream, f"cp{page}")[0]))
            source = decompressed(packed[module.offset :], left)
            left -= len(source)
        except DocumentError as failed:
            error = failed
        if source is None or _written(source):
            yield _child(module, source, error, f"cp{page}", position)
            position += 1


def _child(module: _Module, source: bytes | None, error: DocumentError | None, charset: str, position: int) -> Child:
    """Return a module as a text in UTF-8; without its source a failed child."""
    return Child(
        name=decode(module.name, charset)[0].encode("utf-8", "replace") + b".bas",
        kind=Kind.EMBEDDED_OBJECT,
        ordinal=position,
        data=decode(source, charset)[0].replace("\r\n", "\n").encode("utf-8", "replace")
        if source is not None
        else None,
        error=error,
        emit=error is None,
    )


def _written(source: bytes) -> bool:
    """Return whether a module contains more than programs write by themselves."""
    at = 0
    while at < len(source) and (match := _UNWRITTEN.match(source, at)) is not None:
        at = max(match.end(), at + 1)
    return at < len(source)


def _project(data: bytes) -> tuple[int, list[_Module]]:
    """Return code page and modules of a `dir` stream, up to its damage; each has a stream of its own."""
    page, modules = 1252, dict[bytes, _Module]()
    name = stream = b""
    offset = at = 0
    while at + 6 <= len(data) and len(modules) < _MOST_MODULES:
        kind, size = struct.unpack_from("<HI", data, at)
        size += 2 if kind == _VERSION else 0  # its size field omits two bytes (2.3.4.2.1.11)
        value = data[at + 6 : at + 6 + size]
        at += 6 + size
        if kind == _CODE_PAGE:
            page = int.from_bytes(value[:2], "little")
        elif kind == _NAME:
            name, stream, offset = value, value, 0
        elif kind == _STREAM:
            stream = value
        elif kind == _OFFSET:
            offset = int.from_bytes(value[:4], "little")
        elif kind == _END and name:
            modules.setdefault(stream, _Module(name, stream, offset))
            name = b""
    return page, list(modules.values())


def decompressed(data: bytes, most: int) -> bytes:
    """Decompress a container (2.4.1) of at most `most` bytes. Raises DocumentError `corrupt`, `too_large`."""
    if data[:1] != b"\x01":
        raise corrupt("a compressed container has no signature")
    out = bytearray()
    at = 1
    while at + 2 <= len(data):
        head = int.from_bytes(data[at : at + 2], "little")
        stop = min(at + (head & 0xFFF) + 3, len(data))
        if head & 0x8000:
            out += _chunk(data, at + 2, stop)
        else:
            out += data[at + 2 : stop]
        if len(out) > most:
            raise too_large(f"more than {most} bytes")
        at = stop
    return bytes(out)


def _chunk(data: bytes, at: int, stop: int) -> bytearray:
    """Decompress a chunk: literal bytes and copies of earlier ones, by the bits before each eight (2.4.1.3.5)."""
    out = bytearray()
    while at < stop:
        flags = data[at]
        at += 1
        if not flags:  # eight literals
            out += data[at : min(at + 8, stop)]
            at += 8
            continue
        for bit in _BITS:
            if at >= stop:
                break
            if not flags & bit:
                out.append(data[at])
                at += 1
                continue
            _copy(out, int.from_bytes(data[at : at + 2], "little"))
            at += 2
    return out


def _copy(out: bytearray, token: int) -> None:
    size = len(out)
    bits = max(4, (size - 1).bit_length())  # bits of the distance, which grow with the output
    length, distance = (token & (0xFFFF >> bits)) + 3, (token >> (16 - bits)) + 1
    if distance > size or size + length > _CHUNK:
        raise corrupt("a copy in compressed source refers to data outside it")
    start = size - distance
    if length <= distance:
        out += out[start : start + length]
    else:
        out += (out[start:] * (length // distance + 1))[:length]

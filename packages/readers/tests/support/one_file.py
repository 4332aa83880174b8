"""OneNote sections for tests, written by [MS-ONESTORE] and [MS-FSSHTTPB] without the reader's help: one root list and one
list of objects, or a package with a data element for each group of objects."""

import struct
import uuid

SECTION = uuid.UUID("7B5C52E4-D88C-4DA7-AEB1-5378D02996D3")
_FORMAT = uuid.UUID("109ADD3F-911B-49F5-A5D0-1791EDC8AED8")
_FILE_HEAD = uuid.UUID("BDE316E7-2665-4511-A4C4-8D4D0B7A9EAC")
_FILE_END = uuid.UUID("71FBA722-0F79-4A0B-BB13-899256426B24")
_OBJECTS_OF = uuid.UUID(int=42)  # the GUID that all objects here share
TEXT, ASCII, TITLE, FILE_NAME, CONTAINER = 0x1C001C22, 0x1C003498, 0x1C001CF3, 0x1C001D9C, 0x20001D9B


def _node(kind: int, body: bytes, *, place: tuple[int, int] | None = None, lists: bool = False) -> bytes:
    """A FileNode; with `place` a reference of 4 bytes for where and 4 for how long comes first."""
    base = 0
    if place is not None:
        body, base = struct.pack("<LL", *place) + body, 2 if lists else 1
    head = kind | (4 + len(body)) << 10 | 1 << 23 | 0 << 25 | base << 27 | 1 << 31
    return struct.pack("<L", head) + body


def _fragment(number: int, *nodes: bytes, following: tuple[int, int] = (0xFFFFFFFFFFFFFFFF, 0)) -> bytes:
    body = b"".join(nodes) + _node(0x0FF, b"")
    head = struct.pack("<QLL", 0xA4567AB1F5F7F4C4, number, 0)
    return head + body + struct.pack("<QLQ", *following, 0x8BC215C38233BA4B)


def _properties(values: dict[int, bytes | int]) -> bytes:
    """An object's properties: a number refers to the object of that number."""
    references = [value for value in values.values() if isinstance(value, int)]
    head = struct.pack("<L", len(references) | 1 << 31) + b"".join(struct.pack("<L", n) for n in references)
    data = b"".join(struct.pack("<L", len(v)) + v for v in values.values() if isinstance(v, bytes))
    return head + struct.pack("<H", len(values)) + b"".join(struct.pack("<L", n) for n in values) + data


def section(*objects: tuple[int, dict[int, bytes | int]], files: dict[str, bytes] | None = None) -> bytes:
    """A section with these objects (number, properties by number), and these embedded files by name: for each an object
    that names it and one that holds it."""
    out = bytearray(1024)
    out[0:16], out[48:64] = SECTION.bytes_le, _FORMAT.bytes_le
    stored, all_objects = [], list(objects)
    nodes = [_node(0x022, b""), _node(0x024, struct.pack("<L", 1) + _OBJECTS_OF.bytes_le)]
    for position, (name, data) in enumerate((files or {}).items()):
        guid, holder = uuid.uuid5(_OBJECTS_OF, str(position)), 200 + position
        stored.append(_node(0x094, guid.bytes_le, place=(len(out), 52 + len(data))))
        out += _FILE_HEAD.bytes_le + struct.pack("<QLQ", len(data), 0, 0) + data + _FILE_END.bytes_le
        texts = f"<ifndf>{{{guid}}}", ".bin"
        counted = b"".join(struct.pack("<L", len(t)) + t.encode("utf-16-le") for t in texts)
        nodes.append(_node(0x072, struct.pack("<LLB", 0x100 | holder, 0, 1) + counted))
        all_objects.append((100 + position, {FILE_NAME: name.encode("utf-16-le"), CONTAINER: 0x100 | holder}))
    for number, values in all_objects:
        raw = _properties(values)
        nodes.append(_node(0x0A4, struct.pack("<LLBB", 0x100 | number, 0, 0, 1), place=(len(out), len(raw))))
        out += raw
    lists = []
    for number, fragment in ((0x0B0, _fragment(17, *nodes)), (0x090, _fragment(18, *stored))):
        lists.append(_node(number, bytes(20), place=(len(out), len(fragment)), lists=True))
        out += fragment
    root = _fragment(16, *lists)
    out[172:184] = struct.pack("<QL", len(out), len(root))
    return bytes(out + root)


def _stream(kind: int, content: bytes, *inner: bytes) -> bytes:
    """A stream object with the long header, and what is inside it."""
    head = 2 | bool(inner) << 2 | kind << 3 | min(len(content), 0x7FFF) << 17
    large = _number(len(content)) if len(content) >= 0x7FFF else b""
    end = struct.pack("<H", 3 | kind << 2) if inner else b""
    return struct.pack("<L", head) + large + content + b"".join(inner) + end


def _number(value: int) -> bytes:
    """A compact integer in its longest form."""
    return b"\x80" + struct.pack("<Q", value)


def _reference(number: int) -> bytes:
    """An extended GUID with a small value."""
    return (
        bytes((4 | number << 3,)) + _OBJECTS_OF.bytes_le
        if number < 32
        else b"\x80" + struct.pack("<L", number) + _OBJECTS_OF.bytes_le
    )


def packaged(*groups: list[tuple[int, dict[int, bytes | int]]], files: dict[str, bytes] | None = None) -> bytes:
    """A section as servers package it: each group of objects in a data element, each file in one."""
    elements = []
    all_groups = list(groups)
    blobs = []
    for position, (name, data) in enumerate((files or {}).items()):
        blob, holder = _reference(1000 + position), _reference(200 + position)
        elements.append(_stream(0x01, blob + b"\0" + _number(0), _stream(0x02, _number(len(data)) + data)))
        blobs.append(_stream(0x05, holder + blob + b"\x03\x03\x03"))
        all_groups.append([(100 + position, {FILE_NAME: name.encode("utf-16-le"), CONTAINER: 200 + position})])
    for group in all_groups:
        declared = [_stream(0x18, _reference(n) + b"\x03" + _number(0) + b"\0\0") for n, _ in group]
        held = []
        for _, values in group:
            references = [_reference(v) for v in values.values() if isinstance(v, int)]
            raw = _properties(values)
            lists = _number(len(references)) + b"".join(references) + b"\0"
            held.append(_stream(0x16, lists + _number(len(raw)) + raw))
        body = _stream(0x1D, b"", *blobs, *declared) + _stream(0x1E, b"", *held)
        elements.append(_stream(0x01, _reference(5) + b"\0" + _number(5), body))
    head = SECTION.bytes_le + bytes(32) + uuid.UUID("638DE92F-A6D4-4BC1-9A36-B3FC2511A5B7").bytes_le + bytes(4)
    return head + _stream(0x7A, bytes(33), _stream(0x15, b"\0", *elements))

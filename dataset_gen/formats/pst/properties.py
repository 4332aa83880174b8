"""Property contexts: what is known of an object, by property id ([MS-PST] 2.3.3)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dataset_gen.formats.pst.blocks import Blocks, SubNode
from dataset_gen.formats.pst.heap import MOST_ITEM, PROPERTIES, Heap

INT16, INT32, BOOLEAN, OBJECT, INT64 = 0x02, 0x03, 0x0B, 0x0D, 0x14
STRING, TIME, GUID, BINARY, STRINGS = 0x1F, 0x40, 0x48, 0x102, 0x101F  # property types ([MS-OXCDATA] 2.11.1)
_INLINE = frozenset((INT16, INT32, BOOLEAN))
_FIRST_LARGE = 0x401 << 5 | 0x1F  # number of the first subnode that holds a value (NID_TYPE_LTP)
_STEP = 1 << 5
_RECORD = struct.Struct("<HHI")


class Stored(NamedTuple):
    """A binary value that lies in blocks already."""

    bid: int
    size: int


class Nested(NamedTuple):
    """An object that lies in a subnode of the same object."""

    nid: int
    size: int


Value = int | bool | str | bytes | Stored | Nested | tuple[str, ...]
Properties = Mapping[int, Value]  # by tag: id in the upper 16 bits, type in the lower


def raw_value(kind: int, value: Value) -> bytes:
    """A value of the rarer types, as bytes."""
    if isinstance(value, Nested):
        return struct.pack("<II", *value)
    if isinstance(value, tuple) and kind == STRINGS:
        return _several([text.encode("utf-16-le", "replace") for text in value if isinstance(text, str)])
    if isinstance(value, int):
        return (value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little")
    raise TypeError(f"{value!r} is no value of type {kind:#x}")


def _several(values: list[bytes]) -> bytes:
    """A multi-valued property (2.3.3.4.2): how many, where each begins, the values."""
    at = 4 + 4 * len(values)
    out = struct.pack("<I", len(values))
    for value in values:
        out += struct.pack("<I", at)
        at += len(value)
    return out + b"".join(values)


class Larges:
    """The values of one object that are too large for its heap: each is a subnode."""

    __slots__ = ("_blocks", "_next", "nodes")

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._next = _FIRST_LARGE
        self.nodes: list[SubNode] = []

    def add(self, value: bytes | Stored) -> int:
        """The number of the new subnode."""
        bid = value.bid if isinstance(value, Stored) else self._blocks.data_tree((value,))[0]
        nid = self._next
        self._next += _STEP
        self.nodes.append(SubNode(nid, bid, 0))
        return nid


def pointer(heap: Heap, larges: Larges, kind: int, value: Value) -> int:
    """The 32 bits that stand for a value: itself, a heap id or a subnode's number; 0 for an empty one."""
    if isinstance(value, str):
        raw = value.encode("utf-16-le", "replace")
    elif isinstance(value, bytes):
        raw = value
    elif isinstance(value, int) and kind in _INLINE:
        return value & 0xFFFF_FFFF
    elif isinstance(value, Stored):
        return larges.add(value) if value.size else 0
    else:
        raw = raw_value(kind, value)
    return heap.add(raw) if len(raw) <= MOST_ITEM else larges.add(raw)


def write_properties(blocks: Blocks, values: Properties, nodes: Iterable[SubNode] = ()) -> tuple[int, int]:
    """Write an object's properties; `nodes` are its other subnodes. Returns block ids of data and of subnodes."""
    heap = Heap(blocks, PROPERTIES)
    larges = Larges(blocks)
    records = b"".join(
        [
            _RECORD.pack(tag >> 16, tag & 0xFFFF, pointer(heap, larges, tag & 0xFFFF, values[tag]))
            for tag in sorted(values)
        ]
    )
    data = heap.finish(heap.tree(2, 6, records))
    return data, blocks.subnodes([*nodes, *larges.nodes])

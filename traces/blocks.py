"""The blocks of a trace file: columns of numbers, packed and checked (docs/dev/trace-format.md).

A column is stored with the fewest bytes a value that fit all its values; columns make runs of equal and small numbers,
which compress well, and they are packed and unpacked at the speed of C."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from operator import add, sub
from struct import Struct
from typing import Final

from core.operations import Op
from traces.model import Call, Node, NodeKind

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

MAGIC: Final = b"edbench-trace/1\n"
MAGIC_ANY: Final = b"edbench-trace/"
END_MARK: Final = b"edbench-traceend"
BLOCK_CALLS: Final = 16_384  # in a full block
BLOCK_NODES: Final = 65_536
MOST_RAW_BYTES: Final = 1 << 26  # of a block or the directory, unpacked

BLOCK_HEAD: Final = Struct("<4sIII")  # tag, packed bytes, raw bytes, CRC-32 of the packed bytes
TRAILER: Final = Struct("<QQQI16s")  # start of the directory, calls, nodes, CRC-32 of these three, END_MARK
TRAILER_COUNTS: Final = Struct("<QQQ")
CALLS, NODES, DIRECTORY = b"CALL", b"NODE", b"HEAD"

_COLUMN_HEAD = Struct("<cI")  # type, values
_TYPES = (("b", 1), ("h", 2), ("i", 4), ("q", 8))  # signed, of this many bytes, little endian
_WIDTHS = dict(_TYPES)
_LEVEL = 3
_OPS = tuple(Op)
_KINDS = tuple(NodeKind)


class Damaged(Exception):
    """The bytes violate the format; the text describes how."""


def packed(tag: bytes, raw: bytes, level: int = _LEVEL) -> bytes:
    """Return a block of these bytes; `level` is Zstandard's."""
    body = zstd.compress(raw, level)
    return BLOCK_HEAD.pack(tag, len(body), len(raw), zlib.crc32(body)) + body


def unpacked(block: bytes, tag: bytes) -> bytes:
    """Return the bytes that `packed` was given. Raises Damaged."""
    if len(block) < BLOCK_HEAD.size:
        raise Damaged("a block is cut short")
    stored_tag, length, raw_length, check = BLOCK_HEAD.unpack_from(block)
    body = memoryview(block)[BLOCK_HEAD.size :]
    if stored_tag != tag or length != len(body) or raw_length > MOST_RAW_BYTES or zlib.crc32(body) != check:
        raise Damaged("a block is damaged")
    try:
        raw = zstd.ZstdDecompressor().decompress(body, raw_length + 1)
    except zstd.ZstdError as e:
        raise Damaged("a block is damaged") from e
    if len(raw) != raw_length:
        raise Damaged("a block is damaged")
    return raw


def columns_block(columns: Sequence[Sequence[int]], level: int = _LEVEL) -> bytes:
    """Return a block of calls of one stream, in order, at least one, given as columns, one for each field of Call."""
    ops, starts, durations, nbytes, arguments, nodes, others, errors, phases = columns
    ends = map(add, starts, durations)
    gaps = chain(starts[:1], map(sub, starts[1:], ends))  # think times; the first is since the start of the trace
    steps = chain(nodes[:1], (b - a for a, b in pairwise(nodes)))
    stored = (ops, gaps, durations, nbytes, arguments, steps, others, errors, phases)
    return packed(CALLS, b"".join(map(pack_column, stored)), level)


def calls_of(block: bytes, nodes: int, phases: int) -> Iterator[Call]:
    """Yield the calls of a `columns_block`. Raises Damaged, also if a node or phase is beyond these counts."""
    ops, gaps, durations, nbytes, arguments, steps, others, errors, phase = _whole(unpacked(block, CALLS), 9)
    starts = list(accumulate(chain(gaps[:1], map(add, durations, gaps[1:]))))
    touched = list(accumulate(steps))
    _within("operation", ops, 0, len(_OPS) - 1)
    _within("node", touched, 0, nodes - 1)
    _within("node", others, -1, nodes - 1)
    _within("phase", phase, 0, phases - 1)
    _within("duration", durations, 0, None)
    _within("start", starts, 0, None)
    rows = zip(
        map(_OPS.__getitem__, ops), starts, durations, nbytes, arguments, touched, others, errors, phase, strict=True
    )
    return map(Call._make, rows)


def node_block(nodes: Sequence[Node], first: int) -> bytes:
    """Return a block of nodes, whose first node has the number `first`."""
    parents, kinds, existed, sizes, ratios, names = zip(*nodes, strict=True)
    above = map(sub, range(first, first + len(nodes)), parents)  # small, because a parent is usually near its children
    flags = [kind << 1 | was for kind, was in zip(kinds, existed, strict=True)]
    return packed(NODES, b"".join(map(pack_column, (above, flags, sizes, ratios, names))))


class NodeTable(Sequence[Node]):
    """Nodes in 19 bytes each, converted to a Node on access."""

    def __init__(self) -> None:
        self._parents = array("i")
        self._flags = array("b")
        self._sizes = array("q")
        self._ratios = array("h")
        self._names = array("i")

    def extend(self, block: bytes) -> None:
        """Add the nodes of one more block. Raises Damaged."""
        first = len(self._flags)
        above, flags, sizes, ratios, names = _whole(unpacked(block, NODES), 5)
        parents = list(map(sub, range(first, first + len(above)), above))
        if any(parent >= number for number, parent in enumerate(parents, first)):
            raise Damaged("a parent comes after its child")
        _within("parent", parents, -1, None)
        _within("kind of node", flags, 0, 2 * len(_KINDS) - 1)
        _within("size", sizes, 0, None)
        _within("ratio", ratios, 0, 1000)
        _within("length of a name", names, 0, (1 << 16) - 1)
        for column, values in (
            (self._parents, parents),
            (self._flags, flags),
            (self._sizes, sizes),
            (self._ratios, ratios),
            (self._names, names),
        ):
            column.extend(array(column.typecode, values))

    def __len__(self) -> int:
        return len(self._flags)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        flags = self._flags[at]
        return Node(
            self._parents[at], _KINDS[flags >> 1], bool(flags & 1), self._sizes[at], self._ratios[at], self._names[at]
        )


def pack_column(values: Iterable[int]) -> bytes:
    """Return at least one number, packed."""
    held = values if isinstance(values, (list, tuple)) else list(values)
    least, most = min(held), max(held)
    kind = next((t for t, width in _TYPES if -(1 << 8 * width - 1) <= least and most < 1 << 8 * width - 1), "q")
    return _COLUMN_HEAD.pack(kind.encode(), len(held)) + _little(array(kind, held)).tobytes()


def unpack_columns(raw: bytes, count: int) -> tuple[list[array[int]], int]:
    """Return `count` columns of one length from the beginning, and the position of their end. Raises Damaged."""
    out: list[array[int]] = []
    at = 0
    for _ in range(count):
        if at + _COLUMN_HEAD.size > len(raw):
            raise Damaged("a block has too few columns")
        kind, values = _COLUMN_HEAD.unpack_from(raw, at)
        width = _WIDTHS.get(kind.decode("latin-1"), 0)
        at += _COLUMN_HEAD.size
        if not width or not values or at + width * values > len(raw) or (out and len(out[0]) != values):
            raise Damaged("a column does not have the format")
        numbers = array(kind.decode())
        numbers.frombytes(raw[at : at + width * values])
        out.append(_little(numbers))
        at += width * values
    return out, at


def _whole(raw: bytes, count: int) -> list[array[int]]:
    columns, end = unpack_columns(raw, count)
    if end != len(raw):
        raise Damaged("a block has bytes after its columns")
    return columns


def _little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _within(what: str, values: Sequence[int], least: int, most: int | None) -> None:
    if min(values) < least or (most is not None and max(values) > most):
        raise Damaged(f"a {what} is out of range")

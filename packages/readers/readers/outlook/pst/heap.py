"""The middle layer of a PST ([MS-PST] 2.3): heaps on nodes, and the property lists and tables stored on them."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from readers.errors import DocumentError, too_large
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.properties import Properties
from readers.outlook.pst.file import Node, PstFile

_MAP = struct.Struct("<HH")
_PROPERTY = struct.Struct("<HHI")
_COLUMN = struct.Struct("<IHBB")  # tag, offset, width, bit
_INLINE = frozenset((mapi.INTEGER_16, mapi.INTEGER_32, mapi.BOOLEAN, 0x0004, 0x000A))
_TREE, _TABLE, _LIST = 0xB5, 0x7C, 0xBC  # bClientSig and bType
_MAX_LEVELS = 6
_CACHED_BLOCKS = 64


class Heap:
    """The heap on a node (2.3.1); blocks are read when they are needed."""

    def __init__(self, file: PstFile, node: Node, limit: int) -> None:
        self.file, self.limit = file, limit
        self._ids = file.data_blocks(node.data, limit)
        self._sub = node.sub
        self._left = limit  # bytes that its values may have together: references may repeat
        self._inside: dict[int, Node] | None = None
        self._blocks: dict[int, tuple[bytes, tuple[int, ...]]] = {}
        first = self._block(0)[0]
        if len(first) < 12 or first[2] != 0xEC:
            raise file.fail("an object of the store is not a heap")
        self.kind = first[3]
        self.root = int.from_bytes(first[4:8], "little")

    @property
    def subnodes(self) -> dict[int, Node]:
        """Nodes inside the node."""
        if self._inside is None:
            self._inside = self.file.subnodes(self._sub)
        return self._inside

    def _block(self, number: int) -> tuple[bytes, tuple[int, ...]]:
        """Return one block and the bounds of its allocations (2.3.1.5)."""
        block = self._blocks.get(number)
        if block is None:
            if number >= len(self._ids):
                raise self.file.fail("a heap of the store ends too early")
            data = self.file.block(self._ids[number])
            at = int.from_bytes(data[:2], "little")
            count = _MAP.unpack_from(data, at)[0] if at + 4 <= len(data) else 0
            count = min(count + 1, max(0, len(data) - at - 4) // 2)
            block = data, struct.unpack_from(f"<{count}H", data, at + 4) if count > 0 else ()
            if len(self._blocks) >= _CACHED_BLOCKS:
                self._blocks.clear()
            self._blocks[number] = block
        return block

    def item(self, hid: int) -> bytes:
        """Return one allocation; b"" for the empty id."""
        if not hid:
            return b""
        data, starts = self._block(hid >> 16)
        index = (hid >> 5 & 0x7FF) - 1
        if hid & 0x1F or not 0 <= index < len(starts) - 1:
            raise self.file.fail("a heap of the store has no such allocation")
        return data[starts[index] : starts[index + 1]]

    def value(self, hnid: int) -> bytes:
        """Return a value on the heap, or in a node of its own."""
        if self._left < 0:
            raise too_large(f"its values have more than {self.limit} bytes in all")
        value = self._value(hnid)
        self._left -= len(value)
        return value

    def _value(self, hnid: int) -> bytes:
        if not hnid & 0x1F:
            return self.item(hnid)
        node = self.subnodes.get(hnid)
        if node is None:
            raise self.file.fail("a value of an object is missing")
        return self.file.data(node.data, self.limit)

    def records(self, hid: int, key: int, width: int) -> Iterator[bytes]:
        """Yield the records of a B-tree on the heap (2.3.2), in pieces with many of them: `key` bytes of key and
        `width` bytes of value each."""
        head = self.item(hid)
        if len(head) < 8 or head[0] != _TREE or head[1:3] != bytes((key, width)) or head[3] > _MAX_LEVELS:
            raise self.file.fail("a tree on a heap of the store is damaged")
        waiting, seen = [(int.from_bytes(head[4:8], "little"), head[3])], set[int]()
        left = self.file.size  # allocations may overlap in a damaged heap
        while waiting:
            at, level = waiting.pop()
            if not at or at in seen:
                continue
            seen.add(at)
            piece = self.item(at)
            left -= len(piece)
            if left < 0:
                raise self.file.fail("a tree on a heap of the store is larger than the store")
            if level == 0:
                yield piece
            else:
                step = key + 4
                below = [int.from_bytes(piece[i + key : i + step], "little") for i in range(0, len(piece), step)]
                waiting.extend((hid, level - 1) for hid in reversed(below))


def properties(heap: Heap, wanted: Collection[int]) -> tuple[Properties, dict[int, tuple[int, int]]]:
    """Return the wanted properties of a list (2.3.3), and (type, reference) of attachment data, which is not read. An
    unreadable value is recorded as damage."""
    if heap.kind != _LIST:
        raise heap.file.fail("an object of the store is not a list of properties")
    out = Properties()
    left: dict[int, tuple[int, int]] = {}
    for piece in heap.records(heap.root, 2, 6):
        for ident, kind, value in _PROPERTY.iter_unpack(piece[: len(piece) // 8 * 8]):
            if ident == mapi.ATTACH_DATA:
                left[ident] = (kind, value)
            elif ident in wanted:
                _take(out, heap, ident, kind, value.to_bytes(4, "little"), inline=kind in _INLINE)
    return out, left


def _take(out: Properties, heap: Heap, ident: int, kind: int, cell: bytes, *, inline: bool) -> None:
    if not inline:
        try:
            cell = heap.value(int.from_bytes(cell, "little"))
        except DocumentError as e:
            heap.file.damage = e
            return
    out.values[ident] = (kind, cell)


class TableContext:
    """A table on a heap (2.3.4)."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        head = heap.item(heap.root)
        if heap.kind != _TABLE or len(head) < 22 or head[0] != _TABLE:
            raise heap.file.fail("an object of the store is not a table")
        self._bits, self._width = struct.unpack_from("<HH", head, 6)
        self._index, self._rows = struct.unpack_from("<II", head, 10)
        columns = head[22 : 22 + 8 * head[1]]
        self._columns = list(_COLUMN.iter_unpack(columns[: len(columns) // 8 * 8]))

    def ids(self) -> Iterator[int]:
        """Yield the ids of the rows in their order, without reading the rows."""
        for piece in self._heap.records(self._index, 4, 4):
            yield from (ident for ident, _ in struct.iter_unpack("<II", piece[: len(piece) // 8 * 8]))

    def rows(self, wanted: Collection[int], most: int) -> list[Properties]:
        """Return the wanted columns of up to `most` rows, in order."""
        return [self._row(raw, wanted) for raw in self._raw_rows(most)]

    def _raw_rows(self, most: int) -> Iterator[bytes]:
        """Yield raw rows, which do not cross blocks."""
        if not self._rows or not self._width:
            return
        if not self._rows & 0x1F:
            pieces = [self._heap.item(self._rows)]
        else:
            node = self._heap.subnodes.get(self._rows)
            if node is None:
                raise self._heap.file.fail("the rows of a table are missing")
            file = self._heap.file
            pieces = [file.block(bid) for bid in file.data_blocks(node.data, self._heap.limit)]
        count = sum(len(piece) // 8 for piece in self._heap.records(self._index, 4, 4))
        for piece in pieces:
            for at in range(0, len(piece) - self._width + 1, self._width):
                if count <= 0 or most <= 0:
                    return
                count, most = count - 1, most - 1
                yield piece[at : at + self._width]

    def _row(self, raw: bytes, wanted: Collection[int]) -> Properties:
        out = Properties()
        for tag, offset, width, bit in self._columns:
            ident, kind = tag >> 16, tag & 0xFFFF
            at = self._bits + (bit >> 3)
            if ident not in wanted or at >= len(raw) or not raw[at] >> (7 - (bit & 7)) & 1:
                continue
            cell = raw[offset : offset + width]
            _take(out, self._heap, ident, kind, cell, inline=kind not in (mapi.STRING, mapi.STRING_8, mapi.BINARY))
        return out

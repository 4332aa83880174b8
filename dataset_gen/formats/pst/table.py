"""Table contexts: rows over fixed columns, written row by row ([MS-PST] 2.3.4)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from dataset_gen.formats.pst.blocks import BLOCK_DATA, Blocks
from dataset_gen.formats.pst.heap import MOST_ITEM, TABLE, Heap
from dataset_gen.formats.pst.properties import BOOLEAN, INT64, TIME, Larges, Properties, Stored, pointer

_IDS_THERE = 0xC0 << 56  # in a row's bitmap, as 64 bits
_EIGHT = frozenset((INT64, TIME))


class Column(NamedTuple):
    """Where a cell lies in its row."""

    tag: int
    offset: int
    bit: int  # in the row's bitmap of cells that are there

    @property
    def size(self) -> int:
        """Bytes of the cell: a value or a pointer."""
        kind = self.tag & 0xFFFF
        return 8 if kind in _EIGHT else 1 if kind == BOOLEAN else 4


class Columns:
    """The columns of one kind of table."""

    def __init__(self, columns: Iterable[Column]) -> None:
        ordered = sorted(columns)
        wide = max(c.offset + c.size for c in ordered if c.size > 1)
        self.bitmap = max(c.offset + c.size for c in ordered)  # where in a row it begins
        self.width = self.bitmap + -(-len(ordered) // 8)
        self.cells = {c.tag: (c.offset, 1 << (63 - c.bit)) for c in ordered}
        self._ends = (len(ordered), wide, wide, self.bitmap, self.width)
        self._described = b"".join(struct.pack("<IHBB", c.tag, c.offset, c.size, c.bit) for c in ordered)

    def info(self, index: int, rows: int) -> bytes:
        """TCINFO: the ends of the groups of columns, the index of rows, the rows, the columns."""
        return struct.pack("<BB4HIII", TABLE, *self._ends, index, rows, 0) + self._described


class TableContext:
    """One table; rows must come with rising ids. Memory: a page of heap, a block of rows, 8 bytes a row."""

    def __init__(self, blocks: Blocks, columns: Columns) -> None:
        self._blocks = blocks
        self._columns = columns
        self._heap = Heap(blocks, TABLE)
        self._larges = Larges(blocks)
        self._index = bytearray()
        self._rows = bytearray()  # of the block that is open
        self._ids: list[int] = []  # blocks of rows before it
        self._per_block = BLOCK_DATA // columns.width
        self.count = 0

    def row(self, row_id: int, values: Properties) -> None:
        """One row; values without a column are left out."""
        own = self._columns
        cells = bytearray(own.width)
        struct.pack_into("<II", cells, 0, row_id, self.count + 1)
        there = _IDS_THERE
        for tag, (at, mask) in own.cells.items():
            value = values.get(tag)
            if value is None or value in ("", b""):  # an empty cell that were "there" would point to nothing
                continue
            there |= mask
            kind = tag & 0xFFFF
            if kind == BOOLEAN:
                cells[at] = bool(value)
            elif kind in _EIGHT and isinstance(value, int):
                struct.pack_into("<Q", cells, at, value & 0xFFFF_FFFF_FFFF_FFFF)
            else:
                struct.pack_into("<I", cells, at, pointer(self._heap, self._larges, kind, value))
        cells[own.bitmap :] = there.to_bytes(8, "big")[: own.width - own.bitmap]
        self._index += struct.pack("<II", row_id, self.count)
        self._rows += cells
        self.count += 1
        if self.count % self._per_block == 0:
            self._ids.append(self._blocks.data(self._rows.ljust(BLOCK_DATA, b"\0")))
            self._rows.clear()

    def finish(self) -> tuple[int, int]:
        """Write what is left; returns block ids of data and of subnodes."""
        rows = 0
        if self._ids or len(self._rows) > MOST_ITEM:
            size = len(self._ids) * BLOCK_DATA
            if self._rows:
                size += len(self._rows)
                self._ids.append(self._blocks.data(self._rows))
            rows = self._larges.add(Stored(self._blocks.join(self._ids, size), size))
        index = self._heap.tree(4, 4, bytes(self._index))
        if not rows:
            rows = self._heap.add(bytes(self._rows))
        root = self._heap.add(self._columns.info(index, rows))
        return self._heap.finish(root), self._blocks.subnodes(self._larges.nodes)

"""Table contexts: rows over fixed columns, written row by row ([MS-PST] 2.3.4)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from dataset_gen.formats.pst.heap import (
    BLOCK_DATA,
    BOOLEAN,
    INT64,
    MOST_ITEM,
    TABLE,
    TIME,
    Blocks,
    Heap,
    Larges,
    Properties,
    Stored,
    pointer,
)

_IDS_THERE = 0xC0 << 56  # in a row's bitmap, as 64 bits
_EIGHT = frozenset((INT64, TIME))


class Column(NamedTuple):
    """The location of a cell in its row."""

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


def _columns(*columns: tuple[int, int, int]) -> Columns:
    return Columns(Column(*c) for c in ((0x67F20003, 0, 0), (0x67F30003, 4, 1), *columns))


HIERARCHY = _columns(
    (0x3001001F, 8, 2), (0x36020003, 12, 3), (0x36030003, 16, 4), (0x360A000B, 52, 5), (0x0E300102, 20, 6),
    (0x0E330014, 24, 7), (0x0E340102, 32, 8), (0x0E380003, 36, 9), (0x3613001F, 40, 10), (0x66350003, 44, 11),
    (0x66360003, 48, 12),
)  # fmt: skip
CONTENTS = _columns(
    (0x0E170003, 8, 2), (0x001A001F, 12, 3), (0x0E070003, 16, 4), (0x00170003, 20, 5), (0x0042001F, 24, 6),
    (0x0037001F, 28, 7), (0x0E060040, 32, 8), (0x00390040, 40, 9), (0x0E080003, 48, 10), (0x0E04001F, 52, 11),
    (0x0E03001F, 56, 12), (0x0057000B, 120, 13), (0x0058000B, 121, 14), (0x00360003, 60, 15), (0x10970003, 64, 16),
    (0x0070001F, 68, 17), (0x00710102, 72, 18), (0x30130102, 76, 19), (0x65C60003, 80, 20), (0x30080040, 84, 21),
    (0x0E300102, 92, 22), (0x0E330014, 96, 23), (0x0E340102, 104, 24), (0x0E3D0102, 108, 25), (0x0E3C0102, 112, 26),
    (0x0E380003, 116, 27),
)  # fmt: skip
ASSOCIATED = _columns(
    (0x0E170003, 8, 2), (0x001A001F, 12, 3), (0x0E070003, 16, 4), (0x3001001F, 20, 5), (0x70030003, 24, 6),
    (0x70040102, 28, 7), (0x70050102, 32, 8), (0x7006001F, 36, 9), (0x70070003, 40, 10), (0x6800001F, 44, 11),
    (0x6803000B, 56, 12), (0x68051003, 48, 13), (0x682F001F, 52, 14),
)  # fmt: skip
SEARCH = _columns(
    (0x67F10003, 8, 2), (0x0E05001F, 12, 3), (0x0E170003, 16, 4), (0x001A001F, 20, 5), (0x0E070003, 24, 6),
    (0x00170003, 28, 7), (0x0042001F, 32, 8), (0x0037001F, 36, 9), (0x0E060040, 40, 10), (0x0E080003, 48, 11),
    (0x0E04001F, 52, 12), (0x0E03001F, 56, 13), (0x0057000B, 72, 14), (0x0058000B, 73, 15), (0x00360003, 60, 16),
    (0x0E2A000B, 74, 17), (0x30080040, 64, 18),
)  # fmt: skip
ATTACHMENTS = _columns((0x370B0003, 8, 2), (0x0E200003, 12, 3), (0x37050003, 16, 4), (0x3704001F, 20, 5))
RECIPIENTS = _columns(
    (0x0E0F000B, 48, 2), (0x3002001F, 8, 3), (0x3003001F, 12, 4), (0x0FFF0102, 16, 5), (0x3001001F, 20, 6),
    (0x0C150003, 24, 7), (0x300B0102, 28, 8), (0x0FF90102, 32, 9), (0x0FFE0003, 36, 10), (0x39000003, 40, 11),
    (0x3A40000B, 49, 12), (0x39FF001F, 44, 13),
)  # fmt: skip

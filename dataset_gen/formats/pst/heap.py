"""Heaps on nodes, B-trees on heaps, and table contexts, written row by row ([MS-PST] 2.3.1, 2.3.2, 2.3.4)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

from dataset_gen.formats import mapi_mail as mapi
from dataset_gen.formats.pst.space import SLOT, Space, signature

BLOCK_DATA = 8176  # bytes of data in a block at most: 8,192 less the trailer
MOST_BYTES = 0x7FFF_FFFF  # of one data tree: properties say their size in a signed 32-bit number
_TRAILER = 16
_INTERNAL = 2  # bit of a block id: distinguishes trees from data
_DATA_ENTRIES = (BLOCK_DATA - 8) // 8
_SUB_ENTRIES = (BLOCK_DATA - 8) // 24
_SUB_BRANCHES = (BLOCK_DATA - 8) // 16
_ENTRY = struct.Struct("<QQHHI")
_CLOSE = struct.Struct("<HHIQ")
# From stored to plain, as the specification prints it (5.1, mpbbI); the way back is this one turned.
_PLAIN = bytes.fromhex(
    "47f1b4e60b6a7248854e9eebe2f89453e0bba002e85a09abdbe3bac67cc310dd39059630f53760828cc9134a6b1df3fb"
    "8f2697ca911701c4322d6e3195ffd923d1005e79dc443b1a28c5615720903d83b943be67d2464276c06d5b7eb20f1629"
    "3ca903540dda5ddff6b7c762cd8d06d3695c86d614f7a56675acb1e94521700c879f74a4224c6fbf1f56aa2eb3783350"
    "b0a392bccf191ca763cb1e4d3e4b1b9b4fe7f0eead3ab55904ea40552551e57a893868527bfc27aed7bdfa07f4cc8e5f"
    "ef359c842b15d5773449b6120a7f7188fd9d18417d93d8582ccefe24afdeb836c8a180a69998a82f0e816573e4c2a28a"
    "d4e111d0088b2af2ed9a643fc16cf9ec"
)
_PERMUTE = bytes(_PLAIN.index(value) for value in range(256))


class Crypt(IntEnum):
    """Encoding of data blocks. None of them keeps anything secret: there is no key."""

    NONE = 0
    PERMUTE = 1  # "compressible encryption", the default of Outlook


class SubNode(NamedTuple):
    """A node inside a node."""

    nid: int
    data: int  # block id; 0 for no data
    sub: int  # block id of its own subnodes; 0 for none


class Blocks:
    """Writer of blocks; it keeps the entries of the block B-tree: 24 bytes a block."""

    def __init__(self, space: Space, crypt: Crypt) -> None:
        self.space = space
        self.crypt = crypt
        self.entries = bytearray()
        self.next_id = 4

    def data(self, plain: bytes | bytearray | memoryview) -> int:
        """Add a data block of 1 to `BLOCK_DATA` bytes; return its id."""
        if self.crypt == Crypt.PERMUTE:
            plain = bytes(plain).translate(_PERMUTE)
        return self._write(plain, 0)

    def data_tree(self, data: bytes) -> int:
        """Any number of bytes; returns the id, 0 for none."""
        if len(data) > MOST_BYTES:
            raise ValueError(f"one property or attachment may not be over {MOST_BYTES} bytes")
        view = memoryview(data)
        return self.join([self.data(view[at : at + BLOCK_DATA]) for at in range(0, len(data), BLOCK_DATA)], len(data))

    def join(self, ids: Sequence[int], size: int) -> int:
        """Return one id for data blocks of `size` bytes together; all but the last have to be full."""
        if len(ids) < 2:
            return ids[0] if ids else 0
        parts = [ids[i : i + _DATA_ENTRIES] for i in range(0, len(ids), _DATA_ENTRIES)]
        if len(parts) == 1:
            return self._internal(struct.pack(f"<BBHI{len(ids)}Q", 1, 1, len(ids), size, *ids))
        full = _DATA_ENTRIES * BLOCK_DATA
        sizes = [full] * (len(parts) - 1) + [size - full * (len(parts) - 1)]
        above = [
            self._internal(struct.pack(f"<BBHI{len(part)}Q", 1, 1, len(part), length, *part))
            for part, length in zip(parts, sizes, strict=True)
        ]
        return self._internal(struct.pack(f"<BBHI{len(above)}Q", 1, 2, len(above), size, *above))

    def subnodes(self, nodes: Sequence[SubNode]) -> int:
        """Return one id for the nodes inside a node; 0 for none."""
        if not nodes:
            return 0
        nodes = sorted(nodes)
        parts = [nodes[i : i + _SUB_ENTRIES] for i in range(0, len(nodes), _SUB_ENTRIES)]
        if len(parts) > _SUB_BRANCHES:
            raise ValueError(f"{len(nodes)} nodes do not go into one")
        leaves = [
            self._internal(struct.pack("<BBHI", 2, 0, len(part), 0) + b"".join(struct.pack("<QQQ", *n) for n in part))
            for part in parts
        ]
        if len(leaves) == 1:
            return leaves[0]
        above = b"".join(struct.pack("<QQ", part[0].nid, leaf) for part, leaf in zip(parts, leaves, strict=True))
        return self._internal(struct.pack("<BBHI", 2, 1, len(leaves), 0) + above)

    def share(self, bid: int) -> int:
        """Count one more node that uses the block; return its id."""
        if bid:
            at = (bid >> 2) * _ENTRY.size - _ENTRY.size + 18
            count = int.from_bytes(self.entries[at : at + 2], "little") + 1
            self.entries[at : at + 2] = count.to_bytes(2, "little")
        return bid

    def _internal(self, body: bytes) -> int:
        """Add a block of a tree: never encrypted."""
        return self._write(body, _INTERNAL)

    def _write(self, body: bytes | bytearray | memoryview, flag: int) -> int:
        bid = self.next_id | flag
        self.next_id += 4
        size = len(body)
        whole = -(-(size + _TRAILER) // SLOT) * SLOT
        data, at, offset = self.space.take(whole)
        data[at : at + size] = body
        _CLOSE.pack_into(data, at + whole - _TRAILER, size, signature(offset, bid), mapi.crc(body), bid)
        self.entries += _ENTRY.pack(bid, offset, size, 2, 0)  # references are counted from 1
        return bid


PROPERTIES, TABLE = 0xBC, 0x7C  # types of heaps
MOST_ITEM = 3580  # bytes of one allocation; larger values are subnodes
_MOST_ITEMS = 2047  # in one page: 11 bits of a heap id
_FIRST_HEAD, _HEAD, _MAP_HEAD = 12, 2, 66
_MAPPED_FIRST, _MAPPED = 8, 128  # pages whose fill level is in the first page and in each later map
# The fill level of a page (2.3.1.2): 0 for 3,584 bytes free or more … 15 for fewer than 8.
_LEVELS = (8, 16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3584)


class Heap:
    """Allocations in pages of one block each.

    Full pages are written at once, except the few that hold the fill levels of others: these and the first wait until
    the end."""

    __slots__ = ("_blocks", "_client", "_held", "_ids", "_items", "_last", "_levels", "_size")

    def __init__(self, blocks: Blocks, client: int) -> None:
        self._blocks = blocks
        self._client = client
        self._items: list[bytes] = []  # of the open page
        self._size = _FIRST_HEAD  # its head and items
        self._ids: list[int] = []  # blocks of the pages before it; 0 for those held
        self._held: dict[int, tuple[bytes, int]] = {}  # by number: bytes without the head, offset of the map
        self._last = 0  # size of the last page written
        self._levels: list[int] = []

    def add(self, data: bytes) -> int:
        """Store a copy of `data`; return its heap id, 0 for nothing."""
        if not data:
            return 0
        if len(data) > MOST_ITEM:
            raise ValueError(f"an allocation has at most {MOST_ITEM} bytes")
        count = len(self._items) + 1
        # Bytes behind the items: one to make it even, the number of items and of freed ones, where each begins.
        if self._size + len(data) + 1 + 4 + 2 * (count + 1) > BLOCK_DATA or count > _MOST_ITEMS:
            self._close_page()
            count = 1
        self._items.append(data)
        self._size += len(data)
        return len(self._ids) << 16 | count << 5

    def tree(self, key: int, value: int, records: bytes) -> int:
        """Add a B-tree over sorted records of `key` and `value` bytes; return the id of its header."""
        width, levels = key + value, 0
        while True:
            step = MOST_ITEM // width * width
            root = 0
            above = bytearray()
            for at in range(0, len(records), step):
                root = self.add(records[at : at + step])
                above += records[at : at + key] + root.to_bytes(4, "little")
            if len(records) <= step:
                return self.add(struct.pack("<BBBBI", 0xB5, key, value, levels, root))
            records, width, levels = bytes(above), key + 4, levels + 1

    def finish(self, root: int) -> int:
        """Write what is left; `root` is the id of what the heap is about. Returns the data's block id."""
        if not self._ids:  # as nearly all are
            body, at = self._body()
            levels = [_level(BLOCK_DATA - _FIRST_HEAD - len(body))]
            return self._blocks.data(self._first_head(at, levels, root) + body)
        self._close_page(last=True)
        count, size = len(self._ids), 0
        for number, (body, place) in self._held.items():
            levels = self._levels[number : number + (_MAPPED if number else _MAPPED_FIRST)]
            head = struct.pack("<H64s", place, _nibbles(levels)) if number else self._first_head(place, levels, root)
            page = head + body
            size = len(page)
            self._ids[number] = self._blocks.data(page if number == count - 1 else page.ljust(BLOCK_DATA, b"\0"))
        if count - 1 not in self._held:
            size = self._last
        return self._blocks.join(self._ids, (count - 1) * BLOCK_DATA + size)

    def _first_head(self, at: int, levels: list[int], root: int) -> bytes:
        return struct.pack("<HBBI4s", at, 0xEC, self._client, root, _nibbles(levels))

    def _close_page(self, *, last: bool = False) -> None:
        body, at = self._body()
        number = len(self._ids)
        head = _head_of(number)
        self._levels.append(_level(BLOCK_DATA - head - len(body)))
        if head != _HEAD:
            self._held[number] = body, at
            self._ids.append(0)
        else:
            page = at.to_bytes(2, "little") + body
            self._last = len(page)
            self._ids.append(self._blocks.data(page if last else page.ljust(BLOCK_DATA, b"\0")))
        self._items = []
        self._size = _head_of(number + 1)

    def _body(self) -> tuple[bytes, int]:
        """Return the open page without its head, and the offset of the map of its items."""
        places = list(accumulate(map(len, self._items), initial=_head_of(len(self._ids))))
        at = places[-1] + (places[-1] & 1)
        tail = struct.pack(f"<HH{len(places)}H", len(self._items), 0, *places)
        return b"".join(self._items) + bytes(at - places[-1]) + tail, at


def _head_of(number: int) -> int:
    """Size of a page's head."""
    if number == 0:
        return _FIRST_HEAD
    return _MAP_HEAD if number >= _MAPPED_FIRST and (number - _MAPPED_FIRST) % _MAPPED == 0 else _HEAD


def _level(free: int) -> int:
    return len(_LEVELS) - bisect_right(_LEVELS, free)


def _nibbles(levels: list[int]) -> bytes:
    """Two to a byte, the first one in the lower half."""
    even = [*levels, 0] if len(levels) & 1 else levels
    return bytes([low | high << 4 for low, high in zip(even[::2], even[1::2], strict=True)])


INT16, INT32, BOOLEAN, INT64, TIME = 0x02, 0x03, 0x0B, 0x14, 0x40  # property types ([MS-OXCDATA] 2.11.1)
_INLINE = frozenset((INT16, INT32, BOOLEAN))
_FIRST_LARGE = 0x401 << 5 | 0x1F  # number of the first subnode that holds a value (NID_TYPE_LTP)
_STEP = 1 << 5
_RECORD = struct.Struct("<HHI")


class Nested(NamedTuple):
    """An object in a subnode of the same object."""

    nid: int
    size: int


Value = mapi.Value | Nested
Properties = Mapping[int, Value]  # by tag: id in the upper 16 bits, type in the lower


class Larges:
    """Values of one object that are too large for its heap: each is a subnode."""

    __slots__ = ("_blocks", "_next", "nodes")

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._next = _FIRST_LARGE
        self.nodes: list[SubNode] = []

    def add(self, value: bytes) -> int:
        """Add a value; return the number of its subnode."""
        return self.place(self._blocks.data_tree(value))

    def place(self, bid: int) -> int:
        """Add a value that is in blocks already; return the number of its subnode."""
        nid = self._next
        self._next += _STEP
        self.nodes.append(SubNode(nid, bid, 0))
        return nid


def pointer(heap: Heap, larges: Larges, kind: int, value: Value) -> int:
    """Return the 32 bits that represent a value: the value, a heap id or a subnode's number; 0 for an empty one. Raises
    ValueError for multiple values."""
    if isinstance(value, str):
        raw = value.encode("utf-16-le", "replace")
    elif isinstance(value, bytes):
        raw = value
    elif isinstance(value, int):
        if kind in _INLINE:
            return value & 0xFFFF_FFFF
        raw = (value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little")
    elif isinstance(value, Nested):
        raw = struct.pack("<II", *value)
    else:
        raise ValueError(f"a store cannot hold a property of type {kind:#06x} here")
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
        """Add one row; values without a column are left out."""
        own = self._columns
        cells = bytearray(own.width)
        struct.pack_into("<II", cells, 0, row_id, self.count + 1)
        there = _IDS_THERE
        for tag, (at, mask) in own.cells.items():
            value = values.get(tag)
            if not value and value in (None, "", b""):  # an empty cell that were "there" would point to nothing
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
            rows = self._larges.place(self._blocks.join(self._ids, size))
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

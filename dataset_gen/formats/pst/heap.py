"""Heaps on nodes and B-trees on heaps ([MS-PST] 2.3.1, 2.3.2)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import accumulate

from dataset_gen.formats.pst.blocks import BLOCK_DATA, Blocks

PROPERTIES, TABLE = 0xBC, 0x7C  # what a heap holds
MOST_ITEM = 3580  # bytes of one allocation; larger values are subnodes
_MOST_ITEMS = 2047  # in one page: 11 bits of a heap id
_FIRST_HEAD, _HEAD, _MAP_HEAD = 12, 2, 66
_MAPPED_FIRST, _MAPPED = 8, 128  # pages whose fill level the first page and each later map tells
# The fill level of a page (2.3.1.2): 0 for 3,584 bytes free or more … 15 for fewer than 8.
_LEVELS = (8, 16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3584)


class Heap:
    """Allocations in pages of one block each.

    Full pages are written at once, but for the few that tell the fill levels of others: these and the first wait
    until the end.
    """

    __slots__ = ("_blocks", "_client", "_held", "_ids", "_items", "_last", "_levels", "_size")

    def __init__(self, blocks: Blocks, client: int) -> None:
        self._blocks = blocks
        self._client = client
        self._items: list[bytes] = []  # of the page that is open
        self._size = _FIRST_HEAD  # its head and items
        self._ids: list[int] = []  # blocks of the pages before it; 0 for those held
        self._held: dict[int, tuple[bytes, int]] = {}  # by number: their bytes behind the head, where the map is
        self._last = 0  # size of the last page written
        self._levels: list[int] = []

    def add(self, data: bytes) -> int:
        """The heap id of a copy of `data`; 0 for nothing."""
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
        """A B-tree over sorted records of `key` and `value` bytes; returns the id of its header."""
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
        """The open page behind its head, and where in the page the map of its items is."""
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

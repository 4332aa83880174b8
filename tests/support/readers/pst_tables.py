"""A strict reader of the upper half of PST files ([MS-PST] 2.3): heaps, B-trees on heaps, property and table contexts."""

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pst_layout import Layout, Node

PERMUTED = bytes.fromhex(
    "47f1b4e60b6a7248854e9eebe2f89453e0bba002e85a09abdbe3bac67cc310dd39059630f53760828cc9134a6b1df3fb"
    "8f2697ca911701c4322d6e3195ffd923d1005e79dc443b1a28c5615720903d83b943be67d2464276c06d5b7eb20f1629"
    "3ca903540dda5ddff6b7c762cd8d06d3695c86d614f7a56675acb1e94521700c879f74a4224c6fbf1f56aa2eb3783350"
    "b0a392bccf191ca763cb1e4d3e4b1b9b4fe7f0eead3ab55904ea40552551e57a893868527bfc27aed7bdfa07f4cc8e5f"
    "ef359c842b15d5773449b6120a7f7188fd9d18417d93d8582ccefe24afdeb836c8a180a69998a82f0e816573e4c2a28a"
    "d4e111d0088b2af2ed9a643fc16cf9ec"
)  # section 5.1, from stored to plain
FIXED = {0x02: 2, 0x03: 4, 0x04: 4, 0x05: 8, 0x06: 8, 0x07: 8, 0x0A: 4, 0x0B: 1, 0x14: 8, 0x40: 8, 0x48: 16}


class Table(NamedTuple):
    """A table context: its columns (tag: offset, width, bit) and its rows by number."""

    columns: dict[int, tuple[int, int, int]]
    rows: list[dict[int, Any]]


@dataclass
class Tree:
    """A node's data and subnodes, wherever the node lies."""

    layout: Layout
    node: Node

    def blocks(self) -> list[bytes]:
        """The data blocks, plain (2.2.2.8.3.2)."""
        return list(self._data(self.node.data, None)) if self.node.data else []

    def data(self) -> bytes:
        """All of them."""
        return b"".join(self.blocks())

    def _data(self, bid: int, level: int | None) -> Iterator[bytes]:
        raw = self.layout.raw(bid)
        if not bid & 2:
            assert level in (None, 0)
            yield raw.translate(PERMUTED) if self.layout.crypt == 1 else raw
            return
        kind, found, count, total = struct.unpack_from("<BBHI", raw)
        assert (kind, len(raw)) == (1, 8 + 8 * count)
        assert found in (1, 2)
        assert level in (None, found)
        before = 0
        for position, child in enumerate(struct.unpack_from(f"<{count}Q", raw, 8)):
            for piece in self._data(child, found - 1):
                before += len(piece)
                yield piece
            assert found == 2 or len(piece) == 8176 or position == count - 1, "only the last block may be short"
        assert before == total, "lcbTotal"

    def subnodes(self) -> dict[int, Node]:
        """By number (2.2.2.8.3.3)."""

        def below(bid: int, level: int | None, first: int | None) -> Iterator[Node]:
            raw = self.layout.raw(bid)
            kind, found, count, padding = struct.unpack_from("<BBHI", raw)
            width = 16 if found else 24
            assert (kind, padding, len(raw)) == (2, 0, 8 + width * count)
            assert level in (None, found)
            assert found < 2
            for i in range(count):
                entry = struct.unpack_from("<QQ" if found else "<QQQ", raw, 8 + width * i)
                assert i or first in (None, entry[0])
                if found:
                    yield from below(entry[1], 0, entry[0])
                else:
                    yield Node(entry[0] & 0xFFFFFFFF, entry[1], entry[2], 0)  # Outlook leaves the upper half as it was

        found = list(below(self.node.sub, None, None)) if self.node.sub else []
        assert [n.nid for n in found] == sorted({n.nid for n in found})
        return {n.nid: n for n in found}

    def sub(self, nid: int) -> "Tree":
        """One of them."""
        return Tree(self.layout, self.subnodes()[nid])


class Heap:
    """A heap on a node (2.3.1)."""

    def __init__(self, tree: Tree, client: int) -> None:
        self.tree = tree
        self.pages = tree.blocks()
        self.items: list[list[bytes]] = []
        magic, kind, self.root = struct.unpack_from("<BBI", self.pages[0], 2)
        assert (magic, kind) == (0xEC, client)
        levels = self._levels()
        for number, page in enumerate(self.pages):
            (at,) = struct.unpack_from("<H", page)
            count, freed, *places = struct.unpack_from(f"<HH{(len(page) - at - 4) // 2}H", page, at)
            assert at % 2 == 0
            assert len(places) >= count + 1
            places = places[: count + 1]
            head = 12 if number == 0 else 66 if number >= 8 and (number - 8) % 128 == 0 else 2
            assert places[0] == head
            assert places == sorted(places)
            assert places[-1] <= at
            items = [page[a:b] for a, b in itertools.pairwise(places)]
            assert all(len(item) <= 3580 for item in items)
            assert freed <= len([item for item in items if not item])
            self.items.append(items)
            assert levels[number] in range(16)

    def _levels(self) -> list[int]:
        maps = [self.pages[0][8:12]]
        maps += [self.pages[i][2:66] for i in range(8, len(self.pages), 128)]
        return [n for data in maps for byte in data for n in (byte & 15, byte >> 4)]

    def item(self, hid: int) -> bytes:
        """An allocation."""
        assert hid & 31 == 0
        return self.items[hid >> 16][(hid >> 5 & 0x7FF) - 1]

    def value(self, hnid: int) -> bytes:
        """What a HNID stands for: nothing, an allocation, a subnode's data."""
        if hnid == 0:
            return b""
        return self.item(hnid) if hnid & 31 == 0 else self.tree.sub(hnid).data()

    def records(self, hid: int, key: int, value: int) -> Iterator[tuple[int, bytes]]:
        """The records of a B-tree on this heap (2.3.2)."""
        magic, key_size, value_size, levels, root = struct.unpack("<BBBBI", self.item(hid))
        assert (magic, key_size, value_size) == (0xB5, key, value)

        def below(hid: int, level: int, first: int | None) -> Iterator[tuple[int, bytes]]:
            data = self.item(hid)
            width = key + (4 if level else value)
            assert data
            assert len(data) % width == 0
            for at in range(0, len(data), width):
                number = int.from_bytes(data[at : at + key], "little")
                rest = data[at + key : at + width]
                assert at or first in (None, number)
                if level:
                    yield from below(int.from_bytes(rest, "little"), level - 1, number)
                else:
                    yield number, rest

        found = list(below(root, levels, None)) if root else []
        keys = [number for number, _ in found]
        assert keys == sorted(set(keys))
        yield from found


def properties(tree: Tree) -> dict[int, Any]:
    """A property context (2.3.3): values by tag, id in the upper and type in the lower half."""
    heap = Heap(tree, 0xBC)
    out: dict[int, Any] = {}
    for number, rest in heap.records(heap.root, 2, 6):
        kind, hnid = struct.unpack("<HI", rest)
        size = FIXED.get(kind)
        raw = rest[2:][:size] if size is not None and size <= 4 else heap.value(hnid)
        out[number << 16 | kind] = plain(kind, raw)
    return out


def plain(kind: int, raw: bytes) -> Any:
    """A value as Python has it."""
    if kind in FIXED:
        assert len(raw) == FIXED[kind], f"type {kind:#x}: {raw!r}"
        return bool(raw[0]) if kind == 0x0B else raw if kind == 0x48 else int.from_bytes(raw, "little", signed=True)
    if kind == 0x1F:
        return raw.decode("utf-16-le", "surrogatepass")
    if kind == 0x0D:
        return struct.unpack("<II", raw)
    return raw


def table(tree: Tree) -> Table:
    """A table context (2.3.4)."""
    heap = Heap(tree, 0x7C)
    info = heap.item(heap.root)
    magic, count, *ends = struct.unpack_from("<BB4H", info)
    index, rows, _ = struct.unpack_from("<3I", info, 10)
    assert (magic, len(info)) == (0x7C, 22 + 8 * count)
    columns: dict[int, tuple[int, int, int]] = {}
    for at in range(22, len(info), 8):
        tag, offset, size, bit = struct.unpack_from("<IHBB", info, at)
        columns[tag] = (offset, size, bit)
    assert list(columns) == sorted(columns)
    assert columns[0x67F20003] == (0, 4, 0)
    assert columns[0x67F30003] == (4, 4, 1)
    assert sorted(bit for _, _, bit in columns.values()) == list(range(count))
    assert ends[3] == ends[2] + -(-count // 8)
    numbers = {key: int.from_bytes(rest, "little") for key, rest in heap.records(index, 4, 4)}
    matrix = [] if not rows else [heap.item(rows)] if rows & 31 == 0 else tree.sub(rows).blocks()
    per = 8176 // ends[3]
    found = [block[i : i + ends[3]] for block in matrix for i in range(0, min(len(block), per * ends[3]), ends[3])]
    assert sorted(numbers.values()) == list(range(len(numbers)))
    out = []
    for number, row in enumerate(found[: len(numbers)]):
        values: dict[int, Any] = {}
        for tag, (offset, size, bit) in columns.items():
            if not row[ends[2] + bit // 8] & 0x80 >> bit % 8:
                continue
            kind, raw = tag & 0xFFFF, row[offset : offset + size]
            if kind not in FIXED or FIXED[kind] > size:
                raw = heap.value(int.from_bytes(raw, "little"))
            values[tag] = plain(kind, raw)
        assert numbers[values[0x67F20003] & 0xFFFFFFFF] == number
        out.append(values)
    return Table(columns, out)

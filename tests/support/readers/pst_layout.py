"""A strict reader of the lower half of PST files ([MS-PST] 2.2): what is not exactly as specified is an AssertionError.

It is written from the specification apart from the writer and holds for files that Outlook wrote; that is what makes it
worth something. It knows header, pages, both B-trees, blocks, allocation maps."""

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

PAGE, AMAP_SPAN, FIRST_AMAP = 512, 253_952, 0x4400
BBT, NBT, FMAP, PMAP, AMAP, FPMAP, DLIST = range(0x80, 0x87)


class Block(NamedTuple):
    """An entry of the block B-tree."""

    bid: int
    offset: int
    size: int
    references: int


class Node(NamedTuple):
    """An entry of the node B-tree, or of a node's subnodes."""

    nid: int
    data: int
    sub: int
    parent: int


def crc(data: bytes) -> int:
    """The specification's own way, section 5.3: a CRC-32 that begins at 0 and is not inverted."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def signature(offset: int, bid: int) -> int:
    """Section 5.5."""
    mixed = (offset ^ bid) & 0xFFFFFFFF
    return (mixed >> 16) ^ (mixed & 0xFFFF)


class Layout:
    """One file; everything is read when it is asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        head = self.at(0, 564)
        assert head[:4] == b"!BDN", "magic"
        assert head[8:10] == b"SM", "client magic"
        assert crc(head[8:479]) == struct.unpack_from("<I", head, 4)[0], "partial CRC"
        assert crc(head[8:524]) == struct.unpack_from("<I", head, 524)[0], "full CRC"
        self.version, self.client_version = struct.unpack_from("<HH", head, 10)
        assert self.version == 23
        (self.next_page,) = struct.unpack_from("<Q", head, 32)
        self.high_nids = struct.unpack_from("<32I", head, 44)
        self.eof, self.last_amap, self.free, self.pmap_free = struct.unpack_from("<4Q", head, 184)
        self.nbt_root = struct.unpack_from("<QQ", head, 216)
        self.bbt_root = struct.unpack_from("<QQ", head, 232)
        self.amap_valid = head[248]
        assert head[512] == 0x80, "sentinel"
        self.crypt = head[513]
        (self.next_block,) = struct.unpack_from("<Q", head, 516)
        self.pages: list[int] = []  # offsets of B-tree pages
        self.blocks = {b.bid: b for b in self._leaves(self.bbt_root, BBT)}
        self.nodes = {n.nid: n for n in self._leaves(self.nbt_root, NBT)}

    def at(self, offset: int, size: int) -> bytes:
        """That many bytes."""
        self.file.seek(offset)
        data = self.file.read(size)
        assert len(data) == size, f"the file ends before {offset + size:#x}"
        return data

    def page(self, offset: int, kind: int) -> bytes:
        """A page, its trailer checked."""
        data = self.at(offset, PAGE)
        first, again, found, checksum, bid = struct.unpack_from("<BBHIQ", data, 496)
        assert first == again == kind, f"page at {offset:#x} is {first:#x}, not {kind:#x}"
        assert crc(data[:496]) == checksum, f"CRC of the page at {offset:#x}"
        if kind in (FMAP, PMAP, AMAP, FPMAP):
            assert (found, bid) == (0, offset)
        else:
            assert found == signature(offset, bid), f"signature of the page at {offset:#x}"
            assert bid < self.next_page or kind == DLIST, f"page {bid:#x} is not under bidNextP"
        return data

    def _leaves(self, root: tuple[int, int], kind: int) -> Iterator[Block | Node]:
        def below(bid: int, offset: int, level: int | None, key: int | None) -> Iterator[Block | Node]:
            data = self.page(offset, kind)
            self.pages.append(offset)
            assert struct.unpack_from("<Q", data, 504)[0] == bid
            count, most, size, found = struct.unpack_from("<4B", data, 488)
            width = 24 if found or kind == BBT else 32
            assert (most, size) == (488 // width, width)
            assert 0 < count <= most
            assert level in (None, found), f"level of the page at {offset:#x}"
            keys = [struct.unpack_from("<Q", data, width * i)[0] for i in range(count)]
            assert keys == sorted(set(keys)), f"order in the page at {offset:#x}"
            assert key in (None, keys[0]), f"first key of the page at {offset:#x}"
            for i in range(count):
                entry = data[width * i : width * (i + 1)]
                if found:
                    yield from below(*struct.unpack_from("<QQ", entry, 8), found - 1, keys[i])
                elif kind == BBT:
                    yield Block(*struct.unpack_from("<QQHH", entry))
                else:
                    yield Node(*struct.unpack_from("<QQQI", entry))

        previous = -1
        for leaf in below(*root, None, None):
            assert leaf[0] > previous
            previous = leaf[0]
            yield leaf

    def raw(self, bid: int) -> bytes:
        """A block's bytes as stored, its trailer checked."""
        block = self.blocks[bid & ~1]
        whole = -(-(block.size + 16) // 64) * 64
        assert block.offset % 64 == 0
        assert 0 < block.size <= 8176
        data = self.at(block.offset, whole)
        size, found, checksum, own = struct.unpack_from("<HHIQ", data, whole - 16)
        assert (size, own) == (block.size, block.bid), f"trailer of block {bid:#x}"
        assert found == signature(block.offset, block.bid), f"signature of block {bid:#x}"
        assert crc(data[:size]) == checksum, f"CRC of block {bid:#x}"
        return data[:size]

    def map_pages(self) -> Iterator[tuple[int, int]]:
        """Offset and kind of every map page that a file of this size has to have (1.3.2, 2.2.2.7)."""
        for index in range((self.last_amap - FIRST_AMAP) // AMAP_SPAN + 1):
            kinds = [AMAP]
            if index % 8 == 0:
                kinds.append(PMAP)
            if index >= 128 and (index - 128) % 496 == 0:
                kinds.append(FMAP)
            if index >= 8192 and (index - 8192) % (496 * 64) == 0:
                kinds.append(FPMAP)
            for position, kind in enumerate(kinds):
                yield FIRST_AMAP + index * AMAP_SPAN + position * PAGE, kind

    def check_allocation(self) -> None:
        """Every byte of the file is one block's, one page's or marked free, and the sums are right."""
        assert (self.eof - FIRST_AMAP) % AMAP_SPAN == 0
        assert self.last_amap + AMAP_SPAN == self.eof == self.file.seek(0, 2)
        used: dict[int, bytearray] = {}

        def take(offset: int, size: int) -> None:
            slot, count = (offset - FIRST_AMAP) // 64, -(-size // 64)
            bits = used.setdefault(slot // 3968, bytearray(3968))
            slot %= 3968
            assert bits[slot : slot + count] == bytes(count), f"{offset:#x} is taken twice, or goes over a map"
            bits[slot : slot + count] = b"\1" * count

        for offset, kind in self.map_pages():
            self.page(offset, kind)
            take(offset, PAGE)
        for offset in self.pages:
            assert offset % PAGE == 0
            take(offset, PAGE)
        for block in self.blocks.values():
            take(block.offset, block.size + 16)
        free = 0
        for index in range((self.eof - FIRST_AMAP) // AMAP_SPAN):
            data = self.page(FIRST_AMAP + index * AMAP_SPAN, AMAP)[:496]
            bits = bytes((byte >> (7 - bit)) & 1 for byte in data for bit in range(8))
            assert bits == used.get(index, bytes(3968)), f"allocation map {index}"
            free += bits.count(0) * 64
        assert free == self.free, "cbAMapFree"

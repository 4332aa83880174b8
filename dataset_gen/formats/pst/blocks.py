"""Blocks of a PST and what is made of them: data trees and subnode trees ([MS-PST] 2.2.2.8, 5.1)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from dataset_gen.formats.pst.pages import checksum
from dataset_gen.formats.pst.space import SLOT, Space

BLOCK_DATA = 8176  # bytes of data in a block at most: 8,192 less the trailer
MOST_BYTES = 0x7FFF_FFFF  # of one data tree: properties say their size in a signed 32-bit number
_TRAILER = 16
_INTERNAL = 2  # bit of a block id: tells trees from data
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
    """How data blocks are stored. None of them keeps anything secret: there is no key."""

    NONE = 0
    PERMUTE = 1  # "compressible encryption", what Outlook does unless told otherwise


class SubNode(NamedTuple):
    """A node inside a node."""

    nid: int
    data: int  # block id; 0 for no data
    sub: int  # block id of its own subnodes; 0 for none


class Blocks:
    """Writes blocks and keeps what the block B-tree has to say of them: 24 bytes a block."""

    def __init__(self, space: Space, crypt: Crypt) -> None:
        self.space = space
        self.crypt = crypt
        self.entries = bytearray()
        self.next_id = 4

    def data(self, plain: bytes | bytearray | memoryview) -> int:
        """A data block of 1 to `BLOCK_DATA` bytes; returns its id."""
        if self.crypt == Crypt.PERMUTE:
            plain = bytes(plain).translate(_PERMUTE)
        return self._write(plain, 0)

    def data_tree(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        """Any number of bytes as they come; returns the id and the size: (0, 0) for none."""
        ids: list[int] = []
        size = 0
        for block in _cut(pieces):
            ids.append(self.data(block))
            size += len(block)
            if size > MOST_BYTES:
                raise ValueError(f"one property or attachment may not be over {MOST_BYTES} bytes")
        return self.join(ids, size), size

    def join(self, ids: Sequence[int], size: int) -> int:
        """One id for data blocks of `size` bytes together; all but the last have to be full."""
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
        """One id for the nodes inside a node; 0 for none."""
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
        """The same block for one more node."""
        if bid:
            at = (bid >> 2) * _ENTRY.size - _ENTRY.size + 18
            count = int.from_bytes(self.entries[at : at + 2], "little") + 1
            self.entries[at : at + 2] = count.to_bytes(2, "little")
        return bid

    def _internal(self, body: bytes) -> int:
        """A block of a tree: never encrypted."""
        return self._write(body, _INTERNAL)

    def _write(self, body: bytes | bytearray | memoryview, flag: int) -> int:
        bid = self.next_id | flag
        self.next_id += 4
        size = len(body)
        whole = -(-(size + _TRAILER) // SLOT) * SLOT
        data, at, offset = self.space.take(whole)
        data[at : at + size] = body
        mixed = offset ^ bid
        signed = (mixed >> 16 ^ mixed) & 0xFFFF
        _CLOSE.pack_into(data, at + whole - _TRAILER, size, signed, checksum(body), bid)
        self.entries += _ENTRY.pack(bid, offset, size, 2, 0)  # references are counted from 1
        return bid


def _cut(pieces: Iterable[bytes]) -> Iterator[memoryview | bytes]:
    """The same bytes in full blocks and a last one."""
    rest = b""
    for piece in pieces:
        view = memoryview(piece)
        start = 0
        if rest:
            start = min(BLOCK_DATA - len(rest), len(view))
            rest += view[:start]
            if len(rest) < BLOCK_DATA:
                continue
            yield rest
        full = start + (len(view) - start) // BLOCK_DATA * BLOCK_DATA
        for at in range(start, full, BLOCK_DATA):
            yield view[at : at + BLOCK_DATA]
        rest = bytes(view[full:])
    if rest:
        yield rest

"""The lower layer of a PST ([MS-PST] 2.2): its two B-trees and the blocks in their leaves.

Only requested parts are read, so a store of any size needs little memory. Nothing in it is trusted: trees are followed
down a few levels only, and the caller bounds what is read for one object."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from readers.base import Source
from readers.errors import DocumentError, ExceptionCode, corrupt, too_large
from readers.streams import scattered

UNICODE = 23  # wVer of stores in the Unicode format with pages of 512 bytes
PLAIN, PERMUTED = 0, 1  # bCryptMethod; 2, the cyclic one, is left to libpff
_PAGE = 512
_BBT, _NBT = 0x80, 0x81
_MAX_LEVELS = 8
_CACHED_PAGES = 4_000
_SMALLEST_BLOCK = 64  # size of a block in the file
_PAIR = struct.Struct("<QQ")
_TRIPLE = struct.Struct("<QQQ")  # entry of a branch: key, block id, offset
_NODE = struct.Struct("<QQQI4x")  # node id, data, subnodes, parent
_BLOCK = struct.Struct("<QQHHI")  # block id, offset, size, references
# Decoding table: the third table of section 5.1.
_PLAIN = bytes.fromhex(
    "47f1b4e60b6a7248854e9eebe2f89453e0bba002e85a09abdbe3bac67cc310dd39059630f53760828cc9134a6b1df3fb"
    "8f2697ca911701c4322d6e3195ffd923d1005e79dc443b1a28c5615720903d83b943be67d2464276c06d5b7eb20f1629"
    "3ca903540dda5ddff6b7c762cd8d06d3695c86d614f7a56675acb1e94521700c879f74a4224c6fbf1f56aa2eb3783350"
    "b0a392bccf191ca763cb1e4d3e4b1b9b4fe7f0eead3ab55904ea40552551e57a893868527bfc27aed7bdfa07f4cc8e5f"
    "ef359c842b15d5773449b6120a7f7188fd9d18417d93d8582ccefe24afdeb836c8a180a69998a82f0e816573e4c2a28a"
    "d4e111d0088b2af2ed9a643fc16cf9ec"
)


class Node(NamedTuple):
    """An object: its own data and the objects inside it, as block ids (0: none)."""

    nid: int
    data: int
    sub: int
    parent: int


class Page(NamedTuple):
    """A page of a B-tree: entries as stored, by key."""

    keys: list[int]
    entries: list[tuple[int, ...]]
    leaf: bool


class Header(Struct, frozen=True):
    """Fields of the header (2.2.2.6)."""

    version: int
    crypt: int
    size: int  # of the file, as announced
    nodes: int  # offsets of the roots of the B-trees
    blocks: int


def read_header(source: Source) -> Header:
    """Read the header. Raises DocumentError if this is no store. The roots of the trees are valid only if the version
    is UNICODE, the size also in the ANSI format."""
    head = source.head[:564]
    if len(head) < 564 or head[:4] != b"!BDN":
        short = len(head) < 564
        raise DocumentError(ExceptionCode.TRUNCATED if short else ExceptionCode.CORRUPT, "the store has no header")
    (version,) = struct.unpack_from("<H", head, 10)
    (size,) = struct.unpack_from("<Q", head, 184) if version >= UNICODE else struct.unpack_from("<L", head, 168)
    nodes, blocks = _PAIR.unpack_from(head, 216)[1], _PAIR.unpack_from(head, 232)[1]
    return Header(version, head[513], size, nodes, blocks)


class PstFile:
    """An open store in the Unicode format. `damage` is the damage of objects found since it was last set to None,
    `index_damage` that of the trees so far."""

    def __init__(self, source: Source, header: Header) -> None:
        self.size = source.size
        self.header = header
        self._file = scattered(source.open())
        self._known: dict[int, Page] = {}
        self.damage: DocumentError | None = None
        self.index_damage: str | None = None
        self.incomplete = False  # `nodes` could not read them all
        self.truncated = header.size > source.size

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def fail(self, detail: str) -> DocumentError:
        """Return the error for an unreadable part."""
        code = ExceptionCode.TRUNCATED if self.truncated else ExceptionCode.CORRUPT
        return DocumentError(code, detail)

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)

    def _page(self, offset: int, kind: int) -> Page:
        page = self._known.get(offset)
        if page is None:
            page = self._read_page(offset, kind)
            if len(self._known) >= _CACHED_PAGES:
                self._known.clear()
            self._known[offset] = page
        return page

    def _read_page(self, offset: int, kind: int) -> Page:
        """Read a page of this tree (2.2.2.7.7). Raises DocumentError if there is none at this offset."""
        raw = self._read(min(offset, self.size), _PAGE)
        if len(raw) < _PAGE or raw[496] != kind or raw[497] != kind:
            raise self.fail("a page of the store's index is at the wrong position")
        count, width, level = raw[488], raw[490], raw[491]
        layout = _TRIPLE if level else (_NODE if kind == _NBT else _BLOCK)
        if width < layout.size or count * width > 488 or level > _MAX_LEVELS:
            raise self.fail("a page of the store's index is damaged")
        stored = struct.unpack_from("<I", raw, 500)[0]
        if stored and stored != checksum(raw[:496]):
            self.index_damage = "the checksum of a page of its index is wrong"
        entries = [layout.unpack_from(raw, at) for at in range(0, count * width, width)]
        return Page([entry[0] for entry in entries], entries, level == 0)

    def _find(self, root: int, kind: int, key: int) -> tuple[int, ...] | None:
        offset = root
        for _ in range(_MAX_LEVELS + 1):
            page = self._page(offset, kind)
            at = bisect_right(page.keys, key) - 1
            if at < 0:
                return None
            if page.leaf:
                return page.entries[at] if page.keys[at] == key else None
            offset = page.entries[at][2]
        raise self.fail("the store's index is too deep")

    def node(self, nid: int) -> Node | None:
        """Return a node of the store; None if no node has this id. Raises DocumentError if the index is damaged."""
        entry = self._find(self.header.nodes, _NBT, nid)
        return None if entry is None else Node(nid, entry[1], entry[2], entry[3])

    def nodes(self, kind: int) -> Iterator[Node]:
        """Yield all nodes of this type in order of their ids. Damaged pages are skipped and recorded."""
        stack, seen = [self.header.nodes], set[int]()
        while stack:
            offset = stack.pop()
            if offset in seen:
                self.index_damage = "the store's index refers to itself"
                continue
            seen.add(offset)
            try:
                page = self._read_page(offset, _NBT)
            except DocumentError as e:
                self.index_damage, self.incomplete = e.detail, True
                continue
            if page.leaf:
                yield from (Node(e[0] & 0xFFFFFFFF, e[1], e[2], e[3]) for e in page.entries if e[0] & 0x1F == kind)
            else:
                stack.extend(e[2] for e in reversed(page.entries))

    def block(self, bid: int) -> bytes:
        """Return one block, decoded. Raises DocumentError if it is missing. A wrong checksum is recorded."""
        entry = self._find(self.header.blocks, _BBT, bid & ~1)
        if entry is None:
            raise self.fail("a block is not in the store's index")
        _, offset, size, _, _ = entry
        if offset + size > self.size:
            raise self.fail("a block is beyond the end of the store")
        whole = (size + 16 + 63) & ~63  # with its trailer (2.2.2.8.1)
        raw = self._read(offset, whole)
        data = raw[:size]
        if len(raw) == whole:
            stored, own = struct.unpack_from("<IQ", raw, whole - 12)
            if own & ~1 != bid & ~1 or (stored and stored != checksum(data)):
                self.damage = corrupt("the checksum of a block is wrong")
        return data if bid & 2 or self.header.crypt == PLAIN else data.translate(_PLAIN)

    def data_blocks(self, bid: int, limit: int) -> list[int]:
        """Return the ids of the blocks with a node's data (2.2.2.8.3.2). Raises DocumentError `too_large` if there are
        more than `limit` bytes."""
        if not bid & 2:
            return [bid] if bid else []
        raw = self.block(bid)
        if len(raw) < 8 or raw[0] != 1 or raw[1] not in (1, 2):
            raise self.fail("the list of an object's blocks is damaged")
        total = struct.unpack_from("<I", raw, 4)[0]
        if total > limit:
            raise too_large(f"{total} bytes; the limit is {limit}")
        out = _ids(raw)
        if raw[1] == 2:
            lists, out = out, []
            for inner in lists:
                out.extend(_ids(self.block(inner)))
                if len(out) > self.size // _SMALLEST_BLOCK:
                    raise self.fail("the list of an object's blocks does not end")
        return out

    def data(self, bid: int, limit: int) -> bytes:
        """Return a node's data as a whole, at most `limit` bytes."""
        pieces: list[bytes] = []
        size = 0
        for inner in self.data_blocks(bid, limit):
            pieces.append(self.block(inner))
            size += len(pieces[-1])
            if size > limit:
                raise too_large(f"more than {limit} bytes")
        return b"".join(pieces)

    def data_size(self, bid: int) -> int:
        """Return the number of bytes of a node's data, as announced."""
        if bid & 2:
            raw = self.block(bid)
            return int(struct.unpack_from("<I", raw.ljust(8, b"\0"), 4)[0])
        entry = self._find(self.header.blocks, _BBT, bid & ~1) if bid else None
        return entry[2] if entry else 0

    def subnodes(self, bid: int) -> dict[int, Node]:
        """Return the nodes inside a node by id (2.2.2.8.3.3)."""
        out: dict[int, Node] = {}
        if bid:
            raw = self.block(bid)
            if len(raw) >= 8 and raw[0] == 2 and raw[1] == 1:
                count = struct.unpack_from("<H", raw, 2)[0]
                for _, leaf in list(_PAIR.iter_unpack(raw[8 : 8 + (len(raw) - 8) // 16 * 16]))[:count]:
                    _leaf(self.block(leaf), out)
            else:
                _leaf(raw, out)
        return out


def checksum(data: bytes) -> int:
    """Return a CRC-32 that begins at 0 and is not inverted (5.3)."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def _leaf(raw: bytes, out: dict[int, Node]) -> None:
    if len(raw) >= 8 and raw[0] == 2 and raw[1] == 0:
        count = struct.unpack_from("<H", raw, 2)[0]
        for nid, data, sub in list(_TRIPLE.iter_unpack(raw[8 : 8 + (len(raw) - 8) // 24 * 24]))[:count]:
            out.setdefault(nid & 0xFFFFFFFF, Node(nid & 0xFFFFFFFF, data, sub, 0))


def _ids(raw: bytes) -> list[int]:
    count = struct.unpack_from("<H", raw.ljust(4, b"\0"), 2)[0]
    count = min(count, (len(raw) - 8) // 8)
    return list(struct.unpack_from(f"<{count}Q", raw, 8)) if count > 0 else []

"""The header of a PST and its density list ([MS-PST] 2.2.2.5, 2.2.2.6, 2.2.2.7.4)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from dataset_gen.formats.pst.blocks import Crypt
from dataset_gen.formats.pst.pages import DLIST, checksum, page
from dataset_gen.formats.pst.space import Space

DLIST_OFFSET = 0x4200
_UNICODE, _CLIENT = 23, 19
_VALID_MAPS = 2
_NODE_TYPES = 32
# Where the numbers of nodes of a type begin; 0x400 for the others.
FIRST_NUMBERS = {0x03: 0x4000, 0x04: 0x10000, 0x08: 0x8000}


def density_list(page_id: int) -> bytes:
    """An empty one, as Outlook leaves it: whoever writes next finds out for himself where there is room."""
    return page(DLIST, b"", DLIST_OFFSET, page_id)


def header(
    *,
    space: Space,
    crypt: Crypt,
    next_page: int,
    next_block: int,
    highest: dict[int, int],
    nodes: Sequence[int],
    blocks: Sequence[int],
) -> bytes:
    """The first 564 bytes; `highest` are the numbers given to nodes by type, the trees are (id, offset) of roots."""
    numbers = [highest.get(kind, FIRST_NUMBERS.get(kind, 0x400)) for kind in range(_NODE_TYPES)]
    body = struct.pack("<2sHHBBIIQQI", b"SM", _UNICODE, _CLIENT, 1, 1, 0, 0, 0, next_page, 1)
    body += struct.pack(f"<{_NODE_TYPES}IQ", *numbers, 0)
    body += struct.pack("<IQQQQ", 0, space.end, space.last_map, space.free, 0)
    body += struct.pack("<QQQQBBHI", *nodes, *blocks, _VALID_MAPS, 0, 0, 0)
    body += b"\xff" * 256  # free maps: deprecated
    body += struct.pack("<BBHQ", 0x80, crypt, 0, next_block)
    head = b"!BDN" + checksum(body[:471]).to_bytes(4, "little") + body + checksum(body).to_bytes(4, "little")
    return head + bytes(564 - len(head))

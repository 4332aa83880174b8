"""Small files that would become large ones, or archives without end, if nobody stopped them."""

from __future__ import annotations

import functools
import struct

from dataset_gen.faults.common import ZIP, container_fault, member, text
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, branch
from dataset_gen.material.text import planted_token
from dataset_gen.packing.compress import crc32, deflated, deflated_zeros
from dataset_gen.packing.zip import ZipWriter
from readers.errors import ExceptionCode

GZIP = "application/gzip"
BOMB_BYTES = 200_000_000
NESTED = 20  # zip archives inside one another
LAST_TEXT = 15  # the deepest text beside them, well above the limit


def zip_bomb(order: Order) -> Made:
    """A harmless member, then one of 200 MB zeros, which the expansion limit has to stop."""
    out = ZipWriter()
    made = text(order, 800)
    out.add(b"readme.txt", made.data)
    packed, crc = deflated_zeros(BOMB_BYTES)
    out.put(b"zeros.bin", packed, BOMB_BYTES, crc)
    bomb = branch(out.finish(), ZIP, own=(b"zeros",), children=(member(b"readme.txt", 0, made),), container=True)
    return container_fault(bomb, "zip_bomb", ExceptionCode.EXPANSION_LIMIT, announced=2, failed=1)


def gzip_bomb(_order: Order) -> Made:
    """200 MB of zeros in one gzip file (RFC 1952), which says nothing of its length beforehand."""
    packed, crc = deflated_zeros(BOMB_BYTES)
    data = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<LL", crc, BOMB_BYTES)
    made = branch(data, GZIP, own=(b"zeros",), container=True)
    return container_fault(made, "gzip_bomb", ExceptionCode.EXPANSION_LIMIT, announced=None, failed=1)


@functools.cache
def _inner_bomb() -> tuple[bytes, bytes]:
    """A zip of 200 MB zeros, and the same deflated once more: deflate's output for zeros repeats itself."""
    packed, crc = deflated_zeros(BOMB_BYTES)
    out = ZipWriter()
    out.put(b"zeros.bin", packed, BOMB_BYTES, crc)
    data = out.finish()
    return data, deflated(data)


def nested_bomb(order: Order) -> Made:
    """A few kilobytes that hold a zip of 200 KB that holds 200 MB."""
    whole, packed = _inner_bomb()
    inner = container_fault(
        branch(whole, ZIP, own=(b"zeros",), container=True),
        "nested_bomb",
        ExceptionCode.EXPANSION_LIMIT,
        announced=1,
        failed=1,
    )
    beside = text(order, 800)
    out = ZipWriter()
    out.add(b"readme.txt", beside.data)
    out.put(b"inner.zip", packed, len(whole), crc32(whole))
    children = (member(b"readme.txt", 0, beside), member(b"inner.zip", 1, inner))
    made = branch(out.finish(), ZIP, children=children, container=True, announced=2)
    return made.spoiled("nested_bomb")


def deep_nesting(order: Order) -> Made:
    """Zip in zip, twenty deep, with a findable text at each depth down to `LAST_TEXT`."""
    inner: Made | None = None
    for depth in range(NESTED - 1, -1, -1):
        out = ZipWriter()
        children = []
        if depth < LAST_TEXT or inner is None:
            content = text(order, 300, (planted_token(order.dice),))
            name = b"level %d.txt" % (depth + 1)
            out.add(name, content.data)
            children.append(member(name, 0, content))
        if inner is not None:
            name = b"level %d.zip" % (depth + 1)
            children.append(member(name, len(children), inner))
            out.add(name, inner.data, store=True)
        inner = branch(out.finish(), ZIP, children=tuple(children), container=True, announced=len(children))
    assert inner is not None
    return inner.spoiled("deep_nesting")

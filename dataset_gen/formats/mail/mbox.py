"""Mail stores as mbox (RFC 4155): a From_ line, the message, an empty line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from dataset_gen.formats.mail.eml import Letter, from_line, single, write
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, Truth, content_of
from readers.records import Kind

MEDIA_TYPE = "application/mbox"


def write_store(letters: Iterable[Letter], put: Callable[[bytes], object]) -> Truth:
    """Write a store message by message, so that its size does not matter for memory."""
    children: list[Placed] = []
    state = hashlib.sha256()
    offset = 0
    for letter in letters:
        made = write(letter)
        head = from_line(letter)
        for piece in (head, made.data, b"\n"):
            put(piece)
            state.update(piece)
        name = b"message@%d" % offset
        children.append(Placed(name=name, ordinal=offset, kind=Kind.MESSAGE, truth=made.truth))
        offset += len(head) + len(made.data) + 1
    return Truth(
        media_type=MEDIA_TYPE,
        size=offset,
        sha256=state.digest(),
        content=content_of((), children),
        container=True,
        children=tuple(children),
        failed=0,
    )


def build(order: Order) -> Made:
    """A small store of messages on their own."""

    def letters() -> Iterable[Letter]:
        left, number = order.size, 0
        while left > 0 or number == 0:
            size = order.maker.size_of(order.dice, "eml", max(1500, left))
            yield single(order.part(number, size))
            left -= size
            number += 1

    pieces: list[bytes] = []
    truth = write_store(letters(), pieces.append)
    return Made(b"".join(pieces), truth)

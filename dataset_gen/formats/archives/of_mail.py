"""Mail that somebody packed for somebody else: a zip of messages and mail stores, some carrying zips themselves."""

from __future__ import annotations

from dataclasses import replace

from dataset_gen.formats.archives.zip_tar import stored_already
from dataset_gen.formats.mail import eml
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, branch
from dataset_gen.material.people import file_stem
from dataset_gen.packing.zip import ZipWriter
from readers.records import Kind

_STORES = ("mbox", "pst")  # mail stores that may lie beside the messages
_MOST = 4000  # members
_ZIP_IN_MAIL = 0.15
_STORE = 0.06


def build(order: Order) -> Made:
    """A zip of loose messages, by folders; one message in seven carries a zip, so that there is zip in mail in zip."""
    dice = order.dice
    out = ZipWriter(dos_time=dice.below(24) << 11, dos_date=0x4E21 + (dice.below(8) << 9))
    stores = [fmt for fmt in _STORES if fmt in order.maker.profile.formats]
    year = 2015 + dice.below(9)
    children: list[Placed] = []
    left = order.size
    while not children or (left > 400 and len(children) < _MOST):
        number = len(children)
        if left > 30_000 and stores and dice.chance(_STORE):
            fmt = dice.pick(stores)
            made = order.child(fmt, number, min(int(left * 1.2), order.maker.size_of(dice, fmt, 50_000_000)))
            name = f"Mail stores/{file_stem(dice)[:60]} {number}.{fmt}"
        else:
            made = _message(order, number, left)
            name = f"{dice.pick(('Inbox', 'Sent', 'Projects'))} {year}/{number:05d}.eml"
        left -= out.add(name.encode(), made.data, store=stored_already(made.data)) + 130
        children.append(Placed(name=name.encode(), ordinal=number, kind=Kind.ARCHIVE_MEMBER, truth=made.truth))
    return branch(out.finish(), "application/zip", children=tuple(children), container=True, announced=len(children))


def _message(order: Order, number: int, left: int) -> Made:
    """A message; now and then with a zip attached."""
    dice = order.dice
    part = order.part(number, min(left * 2, order.maker.size_of(dice, "eml", 2_000_000)))
    letter = eml.single(part)
    if left > 20_000 and dice.chance(_ZIP_IN_MAIL):
        inner = order.child("zip", _MOST + number, min(left // 2, 400_000))
        letter = replace(letter, attachments=((f"{file_stem(dice)[:60]}.zip", inner),))
    return eml.write(letter, crlf=True)

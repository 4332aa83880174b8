"""Scalable vector graphics (SVG 1.1): a diagram of boxes with words in them."""

from __future__ import annotations

import functools

from dataset_gen.formats.text.plain import RecordPool, make_pool
from dataset_gen.made import Made, Order, leaf
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice

_POOL_BYTES = 200_000
_SHOWN = 15  # characters of text in a hundred of boxes


def _box(dice: Dice, words: str) -> str:
    x, y, width = dice.below(1800), dice.below(1200), dice.between(80, 300)
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="60" fill="#{dice.below(1 << 24):06x}" stroke="black"/>\n'
        f'<path d="M{x} {y + 60} L{dice.below(1800)} {dice.below(1200)}" stroke="#444444" fill="none"/>\n'
        f'<text x="{x + 8}" y="{y + 35}" font-size="14">{words}</text>\n'
    )


@functools.cache
def _pool() -> RecordPool:
    return make_pool("svg", _POOL_BYTES, lambda dice, _: _box(dice, prose().title(dice, 4)))


def build(order: Order) -> Made:
    """A diagram; the terms are in the first boxes."""
    dice = order.dice
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2100 1300">\n'
        f"<title>{prose().title(dice, any_script=True)}</title>\n"
    )
    own = "".join(_box(dice, words) for words in (*(f"{term}." for term in order.terms), f"Box {dice.below(1 << 40)}"))
    start = (head + own).encode("utf-8")
    data = b"".join((start, *_pool().take(dice, order.size - len(start) - 8), b"</svg>\n"))
    return leaf(data, "image/svg+xml", characters=len(data) * _SHOWN // 100, terms=order.terms)

"""Documents made by the generator's builders, and the independent programs that read them."""

import functools

from dataset_gen.made import Made, Order
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import BUILDERS, Workshop

TERMS = ("plantqvx0123456789", "crimson lantern protocol")


@functools.cache
def _shop() -> Workshop:
    return Workshop(load_profile("reference"), 5, 0.01)


def make(fmt: str, number: int, size: int, *, terms: tuple[str, ...] = TERMS, language: str = "en") -> Made:
    """Document `number` of that format, about `size` bytes, with these terms planted."""
    dice = Dice(derive(5, fmt, number))
    dice.language = language
    return BUILDERS[fmt](Order(maker=_shop(), dice=dice, key=f"test/{number}", size=size, terms=terms))

"""Random numbers that are the same on every machine.

Only `random.Random.random` and `getrandbits` are used: their output for a given seed is documented not to change.
Everything else here is additions, multiplications, divisions and square roots, which IEEE 754 rounds the same way
everywhere; `math.exp`, `log` and `cos` are not used, because C libraries differ in their last digit."""

from __future__ import annotations

import functools
import hashlib
import math
from _random import Random as Source  # `random.Random` without its Python part: the same numbers, made twice as fast
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

_STEPS = 64


def _fractions() -> tuple[float, ...]:
    """Return 2 ** (i / 64) for i = 0 … 64, by square roots and multiplications alone."""
    root = 2.0
    for _ in range(6):
        root = math.sqrt(root)
    out = [1.0]
    for _ in range(_STEPS):
        out.append(out[-1] * root)
    return tuple(out)


_FRACTIONS = _fractions()


def derive(seed: int, *path: object) -> int:
    """Return the seed of one thing: 64 bits of BLAKE2b over the corpus's seed and the thing's path."""
    text = "\0".join([str(seed), *map(str, path)])
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big")


def power_of_two(x: float) -> float:
    """Return 2 ** x for |x| < 60 to four digits (linear between 64 steps an octave)."""
    whole = math.floor(x)
    place = (x - whole) * _STEPS
    step = min(int(place), _STEPS - 1)
    fraction = _FRACTIONS[step] + (_FRACTIONS[step + 1] - _FRACTIONS[step]) * (place - step)
    return fraction * (1 << whole) if whole >= 0 else fraction / (1 << -whole)


class Dice:
    """Random draws of one generated thing."""

    __slots__ = ("_bits", "characters", "language", "random", "variant")

    def __init__(self, seed: int) -> None:
        self.characters = 0  # characters of running text drawn with these dice
        self.language = "en"  # language of that text
        self.variant = 0  # not 0: a few of its sentences are others than those with 0
        source = Source(seed)
        self.random = source.random
        self._bits = source.getrandbits

    def below(self, n: int) -> int:
        """Return a whole number in 0 … n - 1."""
        return int(self.random() * n)

    def between(self, low: int, high: int) -> int:
        """Return a whole number in low … high, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """Return True in `share` of all draws."""
        return self.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of them, all equally likely."""
        return choices[int(self.random() * len(choices))]

    def weighted(self, names: Sequence[T], totals: Sequence[float]) -> T:
        """Return one of `names`; `totals` are their running totals of weight."""
        return names[min(bisect_right(totals, self.random() * totals[-1]), len(names) - 1)]

    def normal(self) -> float:
        """Draw with mean 0 and deviation 1 (the sum of twelve uniform draws: additions only)."""
        draw = self.random
        return sum([draw() for _ in range(12)]) - 6.0

    def size(self, median: float, sigma: float, low: int, high: int) -> int:
        """Draw a lognormal size: half of the draws are under `median`, `sigma` is in octaves; cut off at `low` and
        `high`."""
        return max(low, min(high, int(median * power_of_two(sigma * self.normal()))))

    def noise(self, count: int) -> bytes:
        """Return `count` random bytes."""
        return self._bits(count * 8).to_bytes(count, "little") if count else b""


_GOLDEN = 0.6180339887498949  # fractional part of the golden ratio: its multiples fill 0 … 1 most evenly


class Even:
    """Numbers in 0 … 1 that fill it evenly: any stretch of n of them has n·w ± 2 or so in a part of width w.

    Shares and sizes drawn with these are met in small corpora, where independent draws would not meet them."""

    __slots__ = ("_at",)

    def __init__(self, start: float) -> None:
        self._at = start % 1.0

    def next(self) -> float:
        """Return the next number."""
        self._at = (self._at + _GOLDEN) % 1.0
        return self._at


def even_at(seed: int, index: int) -> float:
    """Return number `index` of the even sequence of a seed."""
    return (seed % 65_536 / 65_536 + index * _GOLDEN) % 1.0


def at_share(names: Sequence[T], totals: Sequence[float], share: float) -> T:
    """Return the name at `share` (0 … 1) of the running totals of weight."""
    return names[min(bisect_right(totals, share * totals[-1]), len(names) - 1)]


@functools.cache
def _quantiles() -> tuple[float, ...]:
    """Return ordered normal draws: the quantiles of `Dice.normal`, by additions alone."""
    dice = Dice(20_250_104)
    return tuple(sorted(dice.normal() for _ in range(8193)))


def size_at(share: float, median: float, sigma: float, low: int, high: int) -> int:
    """Return the size below which `share` (0 … 1) of all draws of `Dice.size` are."""
    ordered = _quantiles()
    place = share * (len(ordered) - 1)
    at = min(int(place), len(ordered) - 2)
    normal = ordered[at] + (ordered[at + 1] - ordered[at]) * (place - at)
    return max(low, min(high, int(median * power_of_two(sigma * normal))))


@functools.lru_cache(maxsize=64)
def running_totals(weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return the running totals that `Dice.weighted` takes."""
    return tuple(accumulate(weights))

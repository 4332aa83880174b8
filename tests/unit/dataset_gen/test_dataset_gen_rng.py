"""Chance is the same everywhere and has the shape it claims."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from dataset_gen.rng import Dice, derive, power_of_two, running_totals


def test_draws_are_pinned() -> None:
    """Values that a change of algorithm would change, and with it every corpus."""
    dice = Dice(derive(7, "a", 1))
    drawn = (dice.below(1000), dice.between(5, 9), dice.pick("abcdef"), dice.size(1000, 1.5, 1, 10**9), dice.noise(4))
    assert drawn == DRAWN


DRAWN = (12, 8, "b", 2827, b"\x8d.\xe0\xc2")


@given(st.floats(-50, 50))
def test_power_of_two(x: float) -> None:
    assert abs(power_of_two(x) / math.pow(2, x) - 1) < 1e-4


@given(st.integers(0, 2**64), st.integers(1, 10**6))
def test_below_stays_below(seed: int, n: int) -> None:
    assert 0 <= Dice(seed).below(n) < n


def test_lognormal_median() -> None:
    dice = Dice(5)
    sizes = [dice.size(10_000, 1.5, 100, 1_000_000) for _ in range(4000)]
    assert 0.46 < sum(s < 10_000 for s in sizes) / len(sizes) < 0.54
    assert min(sizes) >= 100
    assert max(sizes) <= 1_000_000


def test_weights() -> None:
    dice = Dice(9)
    totals = running_totals((1.0, 3.0))
    drawn = [dice.weighted("ab", totals) for _ in range(4000)]
    assert 0.70 < drawn.count("b") / len(drawn) < 0.80


def test_seeds_of_things_differ() -> None:
    seeds = {derive(1, "a", "b"), derive(1, "ab"), derive(1, "a\0b", "c"), derive(2, "ab"), derive(1, "\udce9")}
    assert len(seeds) == 5
    assert random.Random(derive(1, "ab")).random() == Dice(derive(1, "ab")).random()

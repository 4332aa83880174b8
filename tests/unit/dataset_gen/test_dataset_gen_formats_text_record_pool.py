"""dataset_gen.formats.text.plain: whole records, about as many bytes as asked."""

from __future__ import annotations

import functools

from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_gen.formats.text.plain import RecordPool, make_pool
from dataset_gen.rng import Dice


@functools.cache
def pool() -> RecordPool:
    return make_pool("test", 60_000, lambda dice, number: f"{number:05d} {'x' * dice.between(10, 60)}\n")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300_000), st.integers(0, 1000))
def test_records_are_whole_and_sizes_right(size: int, seed: int) -> None:
    """Every line taken is one of the pool's; the sum is right but for the last stretch, however large the document is."""
    data = b"".join(pool().take(Dice(seed), size))
    known = set(pool().data.split(b"\n"))
    assert data.endswith(b"\n")
    assert known.issuperset(data.split(b"\n"))
    assert abs(len(data) - size) < 150 + min(size, 24_000) // 10


def test_pool_is_the_same_everywhere() -> None:
    again = make_pool("test", 60_000, lambda dice, number: f"{number:05d} {'x' * dice.between(10, 60)}\n")
    assert again == pool()
    other = make_pool("other", 60_000, lambda dice, number: f"{number:05d} {'x' * dice.between(10, 60)}\n")
    assert other.data != pool().data

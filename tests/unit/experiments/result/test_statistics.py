"""Medians, their intervals, and what two of them say about each other."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.result.statistics import LEVEL, estimate, interval_text

VALUES = st.lists(st.floats(min_value=0.001, max_value=1e6), min_size=1, max_size=40)


@given(VALUES)
def test_the_interval_holds_the_median_and_keeps_its_level(values: list[float]) -> None:
    found = estimate(values)
    assert found.median == statistics.median(values)
    assert found.n == len(values)
    if len(values) == 1:
        assert (found.low, found.high, found.coverage) == (None, None, None)
        return
    assert found.low is not None
    assert found.high is not None
    assert found.coverage is not None
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    if len(values) < 6:
        assert (found.low, found.high) == (min(values), max(values))
        assert found.coverage == pytest.approx(1 - 0.5 ** (len(values) - 1))
    else:
        assert LEVEL <= found.coverage < 1


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (9, 2, 8), (10, 2, 9), (20, 6, 15)])
def test_the_ranks_are_those_of_the_tables(n: int, low: int, high: int) -> None:
    found = estimate(list(range(1, n + 1)))
    assert (found.low, found.high) == (low, high)


def test_the_interval_holds_the_true_median_as_often_as_it_states() -> None:
    dice = random.Random(4)
    true = 0.6931471805599453  # of the exponential distribution
    held, coverage = 0, 0.0
    for _ in range(2000):
        found = estimate([dice.expovariate(1) for _ in range(7)])
        assert found.low is not None
        assert found.high is not None
        assert found.coverage is not None
        held += found.low <= true <= found.high
        coverage = found.coverage
    assert held / 2000 == pytest.approx(coverage, abs=0.02)


def test_text_shows_the_interval_only_where_there_is_one() -> None:
    assert interval_text(estimate([3.0])) == "3.0"
    assert interval_text(estimate([3.0, 1.0, 2.0])) == "2.0 [1.0 – 3.0]"
    with pytest.raises(ValueError, match="no value"):
        estimate([])

"""What may be called a difference: exact distributions, coverage, and false findings over whole results."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.result.statistics import LEAST_REPEATS, difference, holm, judged, rank_sum_p, ratio_of

FIVE = st.lists(st.integers(1, 1000), min_size=5, max_size=7)


@pytest.mark.parametrize(("n", "m"), [(3, 4), (4, 4), (5, 3)])
def test_p_is_that_of_all_permutations(n: int, m: int) -> None:
    ranks = range(n + m)
    found: Counter[int] = Counter()
    for some in itertools.combinations(ranks, n):
        found[sum(a > b for a in some for b in ranks if b not in some)] += 1
    for some in itertools.combinations(ranks, n):
        others = [rank for rank in ranks if rank not in some]
        above = sum(a > b for a in some for b in others)
        extreme = min(above, n * m - above)
        expected = 2 * sum(count for u, count in found.items() if u <= extreme) / found.total()
        assert rank_sum_p(some, others) == pytest.approx(min(1.0, expected))


@given(FIVE, FIVE)
def test_two_sides_agree(some: list[float], others: list[float]) -> None:
    there, back = ratio_of(some, others), ratio_of(others, some)
    assert there.p == back.p
    assert there.low <= there.ratio <= there.high
    assert there.low == pytest.approx(1 / back.high)


def test_identical_populations_are_called_different_in_at_most_a_twentieth_of_results() -> None:
    """Four points at five repeats, each held against another result's: false findings over the whole result, and the
    interval holds the true ratio as often as it says. The dice are thrown once and for all: 2,000 results."""
    dice = random.Random(1)
    trials, points = 2000, 4
    false = held = 0
    coverage = 1.0
    for _ in range(trials):
        ratios = [ratio_of(*([dice.lognormvariate(0, 0.05) for _ in range(5)] for _ in "ab")) for _ in range(points)]
        kept = [ratio for ratio in ratios if ratio is not None]
        assert len(kept) == points
        held += sum(ratio.low <= 1 <= ratio.high for ratio in kept)
        coverage = kept[0].coverage
        false += any(one.differs for one in judged(kept))
    assert false / trials <= 0.05
    assert held / (trials * points) == pytest.approx(coverage, abs=0.01)
    assert coverage >= 0.95


def test_a_true_difference_is_found() -> None:
    dice = random.Random(2)
    ratio = ratio_of(*([mean * dice.lognormvariate(0, 0.05) for _ in range(5)] for mean in (2.0, 1.0)))
    same = ratio_of([1.0] * 5, [1.0] * 5)
    assert [difference(one)[0] for one in judged([ratio, same, same, same])] == ["+", "n", "n", "n"]
    assert ratio.low <= 2.0 <= ratio.high


@pytest.mark.parametrize(("repeats", "comparisons", "message"), [(5, 6, "+"), (5, 7, "too few"), (6, 7, "+")])
def test_where_nothing_could_be_found_nothing_is_reported(repeats: int, comparisons: int, message: str) -> None:
    """Twice as fast everywhere, without noise: among more comparisons than so few repeats can carry that is no proof, and
    "no difference" would be false."""
    ratios = [ratio_of([2.0] * repeats, [1.0] * repeats)] * comparisons
    assert all(difference(one).startswith(message) for one in judged(ratios))


def test_few_repeats_or_figures_that_are_nothing_allow_no_statement() -> None:
    few = [1.0] * (LEAST_REPEATS - 1)
    assert ratio_of(few, [1.0] * 9) is None
    assert ratio_of([0.0, *few], [1.0] * 9) is None
    assert difference(None) == "fewer than 5 repeats, or a zero: no statement"


def test_holm_is_as_published() -> None:
    """The worked steps: the least times all, the next times one fewer, and never less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []

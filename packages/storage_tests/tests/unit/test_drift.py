"""Samples of a long run, and the search within a bound."""

from types import SimpleNamespace
from typing import Any

from experiments.kinds import Search, kind_of, planned
from storage_tests.fio import sampled
from storage_tests.fio_tests import Block, BlockLoad


def test_the_last_sample_is_not_low_for_the_second_that_fio_does_not_log() -> None:
    """Else every flat run would end in a fall."""
    even = [(float(second), 100.0) for second in range(29)]  # of 30 seconds
    assert sampled(even, 30.0) == (100.0, 100.0, 100.0)
    assert sampled(even, 9.0) == ()


def test_the_search_finds_the_last_load_within_its_bound() -> None:
    """A station of 1,000 I/Os a second: n outstanding wait n ms."""
    search = Search(base=BlockLoad(6, 1, 1, 1).values(), axis="outstanding", figure="mean_us", bound=10_000.0, most=512)
    kind = kind_of(planned("profile", "members", [], repeats=1, seed=1, search=search), Block.ABOUT)

    def measure(at: Any, repeat: int) -> Any:
        return SimpleNamespace(mean_us=1000.0 * at.outstanding)

    tried = [at.outstanding for at in kind.run(measure).runs if isinstance(at, BlockLoad)]
    assert 10 in tried
    assert 11 in tried

"""Patterns of words: what they mean, and that no pattern and no word takes long."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.query import Fuzzy, Wild, Word
from search.words import like, wild

MOST_S = 2.0  # of a processor; it is some milliseconds, and was minutes


@given(st.text("ab*?", min_size=1, max_size=12), st.text("ab", max_size=14))
def test_a_pattern_means_what_the_shells_would(pattern: str, word: str) -> None:
    """However many `*` and `?` stand in it, and whatever stands between them."""
    assert bool(wild(pattern).fullmatch(word)) == fnmatchcase(word, pattern)


@pytest.mark.parametrize("stars", [1, 12])
def test_no_pattern_takes_long_with_a_word(stars: int) -> None:
    """With as many `*` as there may be and letters that nearly match, each place of a piece was tried with each of the others'."""
    began = time.thread_time()
    assert not like([Wild("a*" * stars + "b")])("a" * 39)
    assert wild("a*" * stars + "b").fullmatch("a" * 38 + "b")
    assert time.thread_time() - began < MOST_S


@pytest.mark.parametrize(("pattern", "letters"), [(Wild("a*b*c"), 400_000), (Fuzzy("a" + "b" * 4_999, 2), 5_000)])
def test_a_word_that_is_too_long_for_an_index_is_not_looked_at(pattern: Wild | Fuzzy, letters: int) -> None:
    """A text may have a line of a million letters: the time for it grows with its square, and nothing else ran meanwhile."""
    began = time.thread_time()
    assert not like([pattern])("a" + "b" * letters)
    assert time.thread_time() - began < MOST_S


def test_where_a_word_is_too_long() -> None:
    means = like([Wild("w*"), Wild("ж*"), Word("plain")])
    assert [means("w" * 39), means("w" * 40)] == [True, False]
    assert [means("ж" * 19), means("ж" * 20)] == [True, False]
    assert means("plain")

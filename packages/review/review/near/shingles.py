"""A text as the set of its shingles: every five consecutive words, as a number of 64 bits.

Words are those of the index: runs of letters and digits in lower case, letters of scripts without blanks each alone. So
layout, punctuation and markup make no difference. Two shingles with the same number, one in 10^19 pairs, count as
one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import rensa

from search.words import WORD, apart, usual

Shingles = npt.NDArray[np.uint64]  # sorted, without repetitions
WORDS = 5  # in a shingle
LEAST = 10  # words; a smaller set would change by half with one word
_AT_ONCE = 100_000  # words held as text; their numbers take an eighth
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def shingles(text: str) -> Shingles:
    """Return the text's set; empty if it has fewer than LEAST words."""
    words = np.concatenate([np.zeros(0, np.uint64), *map(_numbers, _words(text))])
    if len(words) < LEAST:
        return np.zeros(0, np.uint64)
    count = len(words) - WORDS + 1
    mixed = np.zeros(count, np.uint64)
    for at in range(WORDS):
        mixed = (mixed ^ words[at : at + count]) * _ODD
        mixed ^= mixed >> _SHIFT
    return np.unique(mixed)


def _words(text: str) -> Iterator[list[str]]:
    if not text.isascii():
        text = apart(usual(text.encode("utf-8", "replace").decode()))
    found = (match[0] for match in WORD.finditer(text.lower()))
    while some := list(itertools.islice(found, _AT_ONCE)):
        yield some


def _numbers(words: list[str]) -> Shingles:
    return np.array(rensa.RMinHash.hash_token_sets([words])[0], dtype=np.uint64)


def jaccard(one: Shingles, other: Shingles) -> float:
    """Return the number of shingles that both have divided by the number that either has, exactly."""
    both = np.intersect1d(one, other, assume_unique=True).size
    return float(both / (one.size + other.size - both))

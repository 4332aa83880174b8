"""review.languages: real text of known languages."""

from __future__ import annotations

import random

import pytest

from benchmarks.review import languages_told
from dataset_gen.languages.texts import own_texts
from review.languages.identify import NO_LANGUAGE, UNKNOWN, language_of


def test_real_texts_are_told() -> None:
    """Of pieces of 45 languages: of a paragraph 98 of 100 at least and 3 wrong; of some words fewer, the others
    unknown rather than wrong."""
    dice = random.Random(1)
    least = {600: 0.98, 60: 0.85}
    for length, share in least.items():
        truth, found = {}, {}
        for language, text in own_texts().items():
            for number in range(4):
                start = dice.randrange(len(text) - length)
                truth[f"{language}{number}"] = language
                found[f"{language}{number}"] = language_of(text[start : start + length])
        told = languages_told(truth, found)
        assert told.right >= share * sum(told), told
        assert told.wrong <= 0.03 * sum(told), told


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", UNKNOWN),
        ("Yes, thanks", UNKNOWN),
        ("1,234.50 " * 200, UNKNOWN),
        ("aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ=" * 20, NO_LANGUAGE),
        ("DIE SITZUNG WURDE AUF DEN NÄCHSTEN MITTWOCH VERSCHOBEN", "de"),
        ("\ud800 lone surrogates in a text that somebody wrote in English, which was read all the same", "en"),
    ],
)
def test_what_says_little_is_not_guessed(text: str, wanted: str) -> None:
    assert language_of(text) == wanted


def test_a_long_text_is_told_by_its_middle_too() -> None:
    german = own_texts()["de"]
    assert language_of("Dear all, please see below.\n\n" + german * 20) == "de"

"""Text: a Zipf vocabulary, and nothing in it that would be mistaken for structure."""

from __future__ import annotations

from collections import Counter

from dataset_gen.material.people import custodian_names, everyone
from dataset_gen.material.text import PHRASES, VOCABULARY, prose, vocabulary
from dataset_gen.rng import Dice


def test_vocabulary_is_large_and_skewed() -> None:
    words = vocabulary()
    assert len(words) == len(set(words)) >= VOCABULARY
    count = Counter(" ".join(prose().plain).lower().replace(".", "").split())
    (_, first), (_, tenth) = count.most_common(10)[0], count.most_common(10)[9]
    assert 0.01 < first / count.total() < 0.10
    assert 2 < first / tenth < 8
    assert len(count) > 15_000


def test_sentences_need_no_quoting() -> None:
    """No markup, no line that an mbox would have to quote, no header-like beginning, no planted term."""
    for sentence in (*prose().plain, *prose().accented):
        assert not set(sentence) & set("<>&\"'\n:")
        assert not sentence.startswith("From ")
        assert "plantqvx" not in sentence
    everything = " ".join(prose().plain).lower()
    assert not any(phrase in everything for phrase in PHRASES)


def test_length_is_about_what_was_asked() -> None:
    for characters in (100, 5000, 100_000):
        length = len("\n".join(prose().paragraphs(Dice(characters), characters, accented=True)))
        assert characters <= length < characters + 1200


def test_custodians_are_pinned() -> None:
    names = custodian_names(9)
    assert names == CUSTODIANS
    people = everyone()
    assert len({p.address for p in people}) == len(people)
    assert all(p.address.isascii() and "\n" not in p.name for p in people)


CUSTODIANS = (
    "shanelle_howard",
    "kati_burgess",
    "griswold_auer",
    "melvyn_moret",
    "lucia_garcia",
    "wallace_terry",
    "chan_mays",
    "salida_halle",
    "aymen_rochon",
)

"""Files of the profile `languages`: what is in them, and that it follows from seed and key alone."""

from __future__ import annotations

import codecs
import hashlib
import re

import pytest

from dataset_gen.languages.texts import (
    CONTRADICTED,
    Manner,
    _label,
    build_sample,
    false_label,
    in_forms,
    own_texts,
    pairs,
    sample_key,
    states,
)
from readers.charset_labels import by_label
from search.words import usual


def test_there_are_enough_languages_charsets_and_manners() -> None:
    assert len({language for language, _, _ in pairs()}) >= 30
    assert len({charset for _, charset, _ in pairs()}) >= 40
    assert {manner for _, _, manners in pairs() for manner in manners} == set(Manner)
    keys = [sample_key(number).split("/") for number in range(len(pairs()))]
    assert {(language, charset) for language, charset, _, _ in keys} == {(one[0], one[1]) for one in pairs()}
    assert {manner for _, _, manner, _ in keys} == set(Manner)


@pytest.mark.parametrize(
    "key",
    [
        "de/cp1252/txt/1",
        "ja/utf-8/txt-forms/2",
        "he/utf-8/txt-bidi/3",
        "vi/utf-8/txt-decomposed/4",
        "pl/utf-8/txt-cut/5",
    ],
)
def test_a_file_follows_from_seed_and_key(key: str) -> None:
    language, charset, _, _ = key.split("/")
    made = build_sample(1, key, 500)
    assert made.data == build_sample(1, key, 500).data != build_sample(2, key, 500).data
    assert made.truth.sha256 == hashlib.sha256(made.data).digest()
    word, phrase = made.truth.terms
    assert phrase.startswith(f"{word} ")
    text = usual(re.sub("[-\u2010\xad]\n", "", made.data.decode(charset)))
    assert usual(phrase) in text
    assert usual(word) not in usual(own_texts()[language])


@pytest.mark.parametrize("charset", sorted({charset for _, charset, _ in pairs()}))
def test_what_is_declared_is_known_by_that_name(charset: str) -> None:
    language = next(language for language, one, _ in pairs() if one == charset)
    written = own_texts()[language].encode(charset, "ignore")
    assert written.decode(by_label(_label(charset)) or "ascii", "replace") == written.decode(charset)


def test_what_nothing_tells_may_be_guessed_and_nothing_else() -> None:
    assert states("cp1252", Manner.TXT) == ("ok", "guessed")
    for charset, manner in (("cp1252", Manner.EML_DECLARED), ("utf-16-le", Manner.TXT), ("hz", Manner.CSV)):
        assert states(charset, manner) == ("ok",)


def test_what_is_declared_falsely_is_not_what_the_bytes_are_in() -> None:
    wrong = {(charset, number): false_label(charset, number) for _, charset, _ in pairs() for number in (0, 1)}
    assert not [one for (one, _), label in wrong.items() if codecs.lookup(label).name == codecs.lookup(one).name]
    for manner in CONTRADICTED:
        for charset in ("cp1251", "utf-8"):
            made = build_sample(1, f"ru/{charset}/{manner}/1", 500)
            assert wrong[charset, 1].encode() in made.data
            assert made.truth.states == (("ok",) if charset == "utf-8" else ("ok", "guessed"))


def test_forms_are_of_the_same_letters() -> None:
    assert in_forms("。「ガ」A", "ja") != "。「ガ」A"
    assert usual(in_forms("ガイドA", "ja")) == "ガイドA"
    assert in_forms("سلام", "ar") == "\ufeb1\ufedd\ufe8d\ufee1"

"""What a reader sees marked is what a search finds."""

from __future__ import annotations

import pytest

from search.query import Fuzzy, Pattern, Wild, Word
from search.snippets import marks


def _marked(text: str, *patterns: Pattern, begin: int = 0, end: int | None = None) -> list[str]:
    return [text[first:last] for first, last in marks(text, patterns, begin, end)]


@pytest.mark.parametrize("hyphen", ["-\n", "-\r\n", "\u2010\n", "\xad\n", "\xad", "- \n\t ", "-\n> "], ids=ascii)
def test_a_word_that_is_parted_is_marked_whole_and_in_its_parts(hyphen: str) -> None:
    text = f"an inter{hyphen}national treaty"
    whole = f"inter{hyphen}national"
    assert _marked(text, Word("international")) == [whole]
    assert _marked(text, Wild("internat*")) == [whole]
    assert _marked(text, Fuzzy("internationel", 1)) == [whole]
    assert _marked(text, Word("national"), Word("treaty")) == ["national", "treaty"]
    assert _marked(text, Word("inter"), Word("an")) == ["an", "inter"]


def test_what_is_no_word_together_is_not_marked() -> None:
    assert (
        _marked("Anglo-\nAmerican; 2019-\n2020; mid-line", Word("angloamerican"), Word("20192020"), Word("midline"))
        == []
    )
    assert _marked("super-\ncali-\nfragile end-\nless", Word("supercalifragile"), Word("endless")) == [
        "super-\ncali-\nfragile",
        "end-\nless",
    ]


@pytest.mark.parametrize(
    ("written", "sought"),
    [("re\u0301sume\u0301s", "r\xe9sum\xe9s"), ("\ufb01nance", "finance"), ("\uff21\uff22\uff23", "abc"), ("ΛΟΓΟΣ", "λογος")],
)  # fmt: skip
def test_letters_in_any_form_are_marked(written: str, sought: str) -> None:
    assert _marked(f"of {written} and", Word(sought)) == [written]


def test_letters_that_are_words_are_marked_each() -> None:
    assert _marked("東京都 Kyoto", Word("京"), Word("kyoto")) == ["京", "Kyoto"]


def test_a_portion_has_the_words_that_begin_in_it() -> None:
    """None is taken for a word that the portion's edge cuts."""
    text = "budget rebudget budget inter-\nnational"
    assert _marked(text, Word("budget"), begin=9) == ["budget"]
    assert _marked(text, Word("budget"), end=3) == ["budget"]
    assert _marked(text, Word("international"), begin=7, end=26) == ["inter-\nnational"]
    assert _marked(text, Word("national"), Word("international"), begin=30) == []
    assert _marked(text, begin=0) == []

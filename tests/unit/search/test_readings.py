"""Words that a line's end cuts, and letters in other forms: found as they are read and as they are written."""

import unicodedata
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_shards import matching, numbered, shard_of

from core.settings import INDEX_ENGINES
from search.engine import IndexReader
from search.words import cuts, readings, usual

Shard = Callable[..., IndexReader]


@pytest.fixture(params=INDEX_ENGINES)
def shard(request: pytest.FixtureRequest, tmp_path: Path) -> Shard:
    """A published shard of documents with these bodies, numbered from 0; each engine in turn."""

    def made(*bodies: str, subject: str = "") -> IndexReader:
        return shard_of(request.param, tmp_path, numbered(*bodies, subject=subject))

    return made


def _found(reader: IndexReader, query: str) -> list[int]:
    hits = sorted(hit.item.int for hit in reader.search(query, 10))
    assert matching(reader, query) == len(hits)
    return hits


@pytest.mark.parametrize("hyphen", ["-\n", "-\r\n", "\u2010\n", "\xad\n", "\xad", "- \n\t ", "-\n> "], ids=ascii)
def test_a_word_cut_at_a_lines_end_is_found_whole_and_in_its_parts(shard: Shard, hyphen: str) -> None:
    """With the words before and behind it, as one word and as two; and the text comes back as it was."""
    text = f"All of the inter{hyphen}national agreement was signed"
    reader = shard(text, "national parks between nations", "the agreement international")
    for query in ("international", "inter", "inter-national", '"the international agreement"', "internat*"):
        assert 0 in _found(reader, query), query
    assert _found(reader, '"international agreement was"') == [0]
    assert _found(reader, '"inter national"') == [0]
    assert _found(reader, "body:international AND signed") == [0]
    assert _found(reader, "international NOT signed") == [2]
    assert _found(reader, '"agreement international"') == [2]
    assert reader.body(uuid.UUID(int=0), "1:1") == text
    snippets = {hit.item.int: hit.snippet for hit in reader.search("international", 5)}
    assert "\x02international\x03 agreement" in snippets[0]


def test_a_compound_cut_at_its_own_hyphen_is_found_as_it_is_written(shard: Shard) -> None:
    """`self-made` and `self made`; that `selfmade` finds it too is the price of finding words that are no compounds."""
    reader = shard("one self-\nmade man", "one self-made man", "one selfmade man")
    assert _found(reader, "self-made") == _found(reader, '"self made man"') == [0, 1]
    assert _found(reader, "selfmade") == _found(reader, '"selfmade man"') == [0, 2]


@pytest.mark.parametrize(
    "text",
    [
        "Anglo-\nAmerican",
        "2019-\n2020",
        "end -\nnext",
        "end-\n\nnext",
        "end-\n- next",
        "mid-line",
        "a_-\nb",
        "-\nb",
        "b-\n",
    ],
)
def test_what_is_no_word_in_two_is_left_as_it_is(text: str) -> None:
    assert readings(text) == [text]


def test_a_phrase_reaches_across_no_readings(shard: Shard) -> None:
    reader = shard(f"first inter-\nnational {'word ' * 100} and co-\noperate last")
    assert _found(reader, '"last first"') == _found(reader, '"word international"') == []
    assert _found(reader, '"cooperate last"') == [0]


OTHERWISE = {
    "café": "cafe\u0301 au lait",
    "회의록": unicodedata.normalize("NFD", "어제 회의록 을"),
    "Việt": unicodedata.normalize("NFD", "ở Việt Nam"),
    "finance": "high \ufb01nance",
    "report": "the \uff32\uff45\uff50\uff4f\uff52\uff54 of",
    "ガイド": "\uff76\uff9e\uff72\uff84\uff9e",
    "سلام": "\ufeb3\ufefc\ufee1 و",
    "金": "\u2fa6 と",
    "οδος": "Η ΟΔΟΣ ΜΑΣ",
    "donaudampfschiff": "die Do\xadnau\xaddampf\xadschiff fahrt",
    "\u015fcoal\u0103": "\u0219coal\u0103 veche",  # a comma; charsets before Unicode have a cedilla
    "\u0163ar\u0103": "\u021bar\u0103 nou\u0103",
    "\u015fi": "s\u0326i noi",
    "میشود": "این می\u200cشود که",
}


@pytest.mark.parametrize("word", OTHERWISE)
def test_letters_are_found_in_whatever_form_they_are_written(shard: Shard, word: str) -> None:
    """In text and fields, by a query in either form; nothing else is found."""
    text = OTHERWISE[word]
    reader = shard(text, "something else", subject="")
    written = next(part for part in text.split(" ") if usual(part).lower() == word.lower())
    for query in (word, f'"{word}"', written):
        assert _found(reader, query) == [0], query
    assert reader.body(uuid.UUID(int=0), "1:1") == text


def test_a_plain_text_is_indexed_once() -> None:
    for text in (
        "plain text - with dashes",
        "Straße\xa0„naïve“ … 5\xa0€ ™",
        "日本語です。",
        "Привет, мир",
        "שלום עולם",
    ):
        assert readings(text) == [text]


def test_marks_that_pile_up_are_cut() -> None:
    assert usual("a" + "\u0316\u0301" * 1_000 + "b") == unicodedata.normalize("NFC", "a" + "\u0316\u0301" * 8 + "b")


@given(st.text("abZ- \n\r\t\xad\u2010\u200b\u0301\xe9\u0416\u05d0\u2028>9_", max_size=20))
def test_where_words_are_cut_does_not_depend_on_how_it_is_looked_for(text: str) -> None:
    """A character that is not shown, behind all words, cuts none; but it has the whole text looked at for all that may."""
    assert list(cuts(text)) == list(cuts(f"{text} \u2060"))

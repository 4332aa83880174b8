"""Queries that are refused, each in one line that shows the place; and how large one may be."""

import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_shards import matching, numbered, shard_of

from core.errors import UsageError
from core.settings import INDEX_ENGINES
from search.language import MOST_WORDS, parse
from search.query import Asked, Everything, Fuzzy, Near, Pattern, Row, Wild, Word, sought
from search.snippets import marks
from search.words import like, placed, wild


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('budget "third quarter', "character 8, '\"third quarter': this quote is not closed"),
        ("a AND (b OR c", "character 7, '(b OR c': this bracket is not closed"),
        ("a) b", "character 2"),
        ("a AND", "its end: a word is missing here"),
        ("a AND OR b", "character 7, 'OR b': a word is missing here"),
        ("NOT", "its end: a word is missing here"),
        ("NOT draft", "only excludes"),
        ("a OR NOT b", "only excludes"),
        ("*udget", "cannot begin with"),
        ("?udget", "cannot begin with"),
        ("subject:*", "[* TO *]"),
        ("a w/5", "its end: a word is missing here"),
        ("a w/0 b", "character 3, 'w/0 b': the distance must be w/1 to w/50"),
        ("a w/51 b", "w/50"),
        ("a w/5 b w/5 c", "character 3, 'w/5 b w/5 c': only one w/ or pre/ at a time"),
        ("(a AND b) w/5 c", "joined by OR"),
        ("(a w/2 b) w/5 c", "joined by OR"),
        ("a~1 w/5 b", "fuzzy"),
        ("subject:a w/5 body:b", "the same field"),
        ("a~3", "~1 or ~2"),
        ("a-b~1", "one word"),
        ('"a b"~50', "~49"),
        ('"a b c d e f"~30', "too long"),
        ("(" + " OR ".join(map("w{}".format, range(30))) + ") w/50 a", "too many"),
        ("subject:[a b]", "character 9, '[a b]': write a range"),
        ("[a TO b]", "needs its field"),
        ("subject:[a-b TO c]", "one word"),
        ("body:subject:x", "a field inside a field"),
        ("costudian:ann", "Did you mean custodian?"),
        ("size:>much", "character 6"),
        ("size:!=5", "NOT size:5"),
        ("date:yesterday", "character 6, 'yesterday': date is a date"),
        ("date:2024-13", "character 6, '2024-13': date is a date"),
        ("date:[2023-02-32 TO *]", "date is a date"),
        (
            "message_id:ou*",
            "character 12, 'ou*': message_id finds values that contain the text as written; * ? and ~ do not work",
        ),
        ("message_id:o?t", "contain the text"),
        ("message_id:out~1", "contain the text"),
        ('keywords:"a b"~2', "does not support ~"),
        ("load_begdoc:ABC*", "contain the text"),
        ("language:d*", "the whole value"),
        ("text_state:fine", "guessed"),
        ("exception:weather", "any"),
        ("tag:a/b", "is not a name for a tag"),
        ("load_date:>2001", "neither a date nor a number"),
        ("load_:a", "there is no field"),
        ("load_begdoc:load_enddoc:a", "a field inside a field"),
        ("&", "no letter or digit"),
        (
            'a "third quart*"',
            "character 3, '\"third quart*\"': in quotes * is not a wildcard; write third pre/1 quart*, or remove it",
        ),
        ("subject:'wor*'", "write wor* outside quotes"),
        ('"the third qu?rter"', 'in quotes ? is not a wildcard; write "the third" pre/1 qu?rter'),
        ('"third* quarter"', "as in third pre/1 quart*"),
        ('"third *quarter"', "not a wildcard"),
        (
            "a “third quarter”",
            "character 3, '“third quarter”': “ is not a quote of this query language; type \" instead",
        ),
        ("subject:third quarter”", 'type "'),
        ("company:„a b“", 'type "'),
        ("a-«b»", 'type "'),
        ("‘third quarter’", 'type "'),
        ("budget –draft", "character 8, '–draft': – has no meaning before a word; type - instead"),
        ("budget —(a b)", "type -"),
        ("page_count:>−5", "type -"),
        ("a\0b", "a NUL at character 2"),
        ("size:>" + "9" * 5_000, "character 6"),
        ("size:٥", "character 6"),
        ("page_count:>٥", "page_count is a number"),
        ("date:٢٠٠١", "date is a date"),
        ("x" * 40, "40 bytes"),
        ("ж" * 20, "has no word of less than 40 bytes"),
        ("x" * 40 + "*", "has no word of less than 40 bytes"),
        ("(" * 60 + "a" + ")" * 60, "more than 50 nested brackets"),
        (" ".join(["a"] * (MOST_WORDS + 1)), "more than 20,000 words"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(query: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(query)
    line = str(caught.value)
    assert message in line
    assert "\n" not in line
    assert len(line) < 600


def test_what_the_signs_mean() -> None:
    assert parse("*") == Everything()
    assert parse("from:ann") == parse("sender:Ann")
    assert parse("size:>=1kB") == Asked("size", ">=", "1000")
    assert parse("load_begdoc:A9") == Asked("load_begdoc", "~", "A9")
    assert parse('load_file_name:="a b"') == Asked("load_file_name", "=", "a b")
    assert parse("load_md5:!=x") == Asked("load_md5", "!=", "x")
    assert parse("'two words'") == parse('"two words"')
    assert parse(r'"a \"b\""') == parse('"a b"')
    assert parse("don't") == parse("don’t") == parse('"don t"')
    assert parse('"a “b” –c"') == parse('"a b c"')
    assert parse('"who is it? * ask"') == parse('"who is it ask"')  # neither sign is a wildcard's
    assert parse("a–b") == parse("a-b")
    assert parse("a W/2 b") == parse("a w/2 b")
    assert isinstance(parse('"two words"~2'), Near)
    assert isinstance(parse("12:30"), Row)


def test_every_side_of_what_stands_near_is_marked() -> None:
    for query, words in (
        ("merger w/5 (price OR valuation)", ["merger", "price", "valuation"]),
        ('(a OR "b c") pre/50 (d* OR e)', ["a", "d*", "e", "b", "c"]),
    ):
        found = [pattern.text for pattern in sought(parse(query))]
        assert sorted(found) == sorted(words)
    assert [pattern.text for pattern in sought(parse("a w/5 (b OR c) NOT d"))] == ["a", "b", "c"]


def test_a_thousand_brackets_side_by_side_and_a_long_row_of_signs_are_read() -> None:
    assert parse(" OR ".join(["(a)"] * 1_000))
    assert parse("-" * 10_000 + "a")


@pytest.mark.parametrize("engine", INDEX_ENGINES)
def test_ten_thousand_words_are_one_query(engine: str, tmp_path: Path) -> None:
    reader = shard_of(engine, tmp_path, numbered("w9999"))
    assert matching(reader, "body:(" + " OR ".join(f"w{n}" for n in range(10_000)) + ")") == 1


@pytest.mark.parametrize("engine", INDEX_ENGINES)
def test_what_only_the_ledger_knows_is_not_asked_of_a_shard(engine: str, tmp_path: Path) -> None:
    """Rather than passed over."""
    reader = shard_of(engine, tmp_path, [])
    with pytest.raises(UsageError, match="search the job"):
        matching(reader, "size:5")


def test_words_are_cut_as_the_engine_does_it(tmp_path: Path) -> None:
    """Promise: what a query is cut into is what Tantivy's default tokenizer made of the text; each word of these texts is
    found, and as a phrase in its place."""
    texts = [
        "naïve Straße don't x_y 3½ Ⓐ हिन्दी İstanbul",
        "a " + "l" * 40 + " b",
        "日本語 ไทย 😀 e\u0301 ﬁne",
        "x\u00adpress ΟΔΟΣ",
    ]
    reader = shard_of("tantivy", tmp_path, numbered(*texts))
    for number, text in enumerate(texts):
        for word in text.split():
            if placed(word):
                assert number in {hit.item.int for hit in reader.search(f'body:"{word}"', 10)}, word
    for phrase in ("हिन्दी İstanbul", "don't x_y", "日本語 ไทย", "xpress ΟΔΟΣ"):
        assert matching(reader, f'body:"{phrase}"') == 1, phrase
    assert matching(reader, 'body:"a b"') == 0
    assert matching(reader, "body:a w/2 body:b") == 1


def test_a_pattern_that_means_very_many_words_is_bounded(tmp_path: Path) -> None:
    reader = shard_of("tantivy", tmp_path, numbered(" ".join(f"a{n}" for n in range(20_000)) + " b"))
    assert matching(reader, "a*") == 1
    with pytest.raises(UsageError, match="too many words") as caught:
        matching(reader, "a* pre/1 b")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "word",
    [
        "rechtsschutzversicherungsgesellschaft*",
        "перераспределительн*",
        "a*a*a*a*a*a*a*a*a*a*b*c",
        "п?рераспределитель*",
        "x" * 39 + "*",
    ],
)
def test_a_pattern_is_as_long_as_its_letters(word: str) -> None:
    node = parse(word)
    assert isinstance(node, Row)
    assert [pattern for _, pattern in node.places] == [Wild(word)]


def test_in_quotes_signs_are_what_they_are_and_an_end_of_a_month_may_be_the_31st() -> None:
    assert parse('message_id:"a*b?c~1"') == Asked("message_id", "~", "a*b?c~1")
    assert parse('load_path:="C:/PROGRA~1"') == Asked("load_path", "=", "C:/PROGRA~1")
    assert parse("date:<=2001-06-31") == Asked("date", "<=", "2001-06-31")


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

"""Both engines, and any number of shards, answer a query alike: as a naive reading of the words does."""

import functools
import random
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from index_shards import matching, shard_of

from core.settings import INDEX_ENGINES
from search.engine import IndexDocument, in_order
from search.found import uuids
from search.language import parse

LONG = "l" * 40  # in no index; its place stays
VOCABULARY = ["ab", "abc", "abd", "acb", "b", "ba", "bab", "c", "oak", "öl", "42", "日"]
FIELDS = {"body": ("body",), "subject": ("subject",), "": ("body", "subject", "title", "name")}


@dataclass(frozen=True)
class Asked:
    """A query as it is typed, and what it means of an item's words: by field its words, each with its place."""

    text: str
    holds: Callable[[dict[str, dict[int, str]]], bool]


Test = Callable[[str], bool]


def _words(text: str) -> dict[int, str]:
    places = enumerate(re.findall(r"日|[^\W_日]+", text.lower()))
    return {place: word for place, word in places if len(word.encode()) < 40}


def _row(
    fields: Sequence[str], gaps: Sequence[int], tests: Sequence[Test]
) -> Callable[[dict[str, dict[int, str]]], bool]:
    """Whether words that pass the tests follow each other so far apart at most."""

    def from_here(words: dict[int, str], at: int, number: int) -> bool:
        if number == len(tests):
            return True
        return any(
            words.get(at + gap) is not None
            and tests[number](words[at + gap])
            and from_here(words, at + gap, number + 1)
            for gap in range(1, gaps[number - 1] + 1)
        )

    return lambda item: any(
        tests[0](word) and from_here(item[field], at, 1) for field in fields for at, word in item[field].items()
    )


@functools.cache
def _distance(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(_distance(a[1:], b) + 1, _distance(a, b[1:]) + 1, _distance(a[1:], b[1:]) + (a[0] != b[0]))


def _is(word: str) -> Test:
    return lambda other: other == word


word = st.sampled_from(VOCABULARY)
prefix = st.sampled_from(["", "body:", "subject:"])
patterns = st.sampled_from(["a*", "ab*", "a?", "a*b", "?".join("ab"), "b*b", "o?k", "a?*", "4*", "öl*"])


@st.composite
def _one_word(draw: st.DrawFn) -> tuple[str, Test]:
    if draw(st.booleans()):
        given_word = draw(word)
        return given_word, _is(given_word)
    pattern = draw(patterns)
    like = re.compile(pattern.replace("*", ".*").replace("?", "."))
    return pattern, lambda other: like.fullmatch(other) is not None


@st.composite
def _leaf(draw: st.DrawFn) -> Asked:
    field = draw(prefix)
    fields = FIELDS[field.rstrip(":")]
    kind = draw(st.sampled_from(["word", "phrase", "loose", "near", "pre", "fuzzy", "near phrase", "hyphen", "range"]))
    if kind == "word":
        text, test = draw(_one_word())
        return Asked(field + text, _row(fields, [], [test]))
    if kind in ("phrase", "loose", "hyphen"):
        words = draw(st.lists(word.filter(lambda w: w != "日"), min_size=2, max_size=3))
        between = draw(st.integers(0, 3)) if kind == "loose" else 0
        text = (
            "-".join(words) if kind == "hyphen" else f'"{" ".join(words)}"' + (f"~{between}" if kind == "loose" else "")
        )
        return Asked(field + text, _row(fields, [between + 1] * 2, [_is(w) for w in words]))
    if kind == "fuzzy":
        near, edits = draw(word), draw(st.integers(1, 2))
        return Asked(f"{field}{near}~{edits}", _row(fields, [], [lambda other: _distance(near, other) <= edits]))
    if kind == "range":
        low, high = sorted([draw(word), draw(word)])
        return Asked(f"body:[{low} TO {high}]", _row(("body",), [], [lambda other: low <= other <= high]))
    if kind == "near phrase":
        a, b, c = draw(word), draw(word), draw(word)
        most = draw(st.integers(1, 4))
        return Asked(f'"{a} {b}" pre/{most} {c}', _row(FIELDS[""], [1, most], [_is(a), _is(b), _is(c)]))
    (left, a_test), (right, b_test), most = draw(_one_word()), draw(_one_word()), draw(st.integers(1, 6))
    there, back = _row(fields, [most], [a_test, b_test]), _row(fields, [most], [b_test, a_test])
    if kind == "pre":
        return Asked(f"{field}{left} pre/{most} {field}{right}", there)
    return Asked(f"{field}{left} w/{most} {field}{right}", lambda item: there(item) or back(item))


def _more(inner: st.SearchStrategy[Asked]) -> st.SearchStrategy[Asked]:
    both = st.tuples(inner, inner)
    return st.one_of(
        both.map(lambda p: Asked(f"({p[0].text} AND {p[1].text})", lambda i: p[0].holds(i) and p[1].holds(i))),
        both.map(lambda p: Asked(f"({p[0].text} OR {p[1].text})", lambda i: p[0].holds(i) or p[1].holds(i))),
        both.map(lambda p: Asked(f"({p[0].text} {p[1].text})", lambda i: p[0].holds(i) and p[1].holds(i))),
        both.map(lambda p: Asked(f"({p[0].text} NOT {p[1].text})", lambda i: p[0].holds(i) and not p[1].holds(i))),
        inner.map(lambda a: Asked(f"(* -{a.text})", lambda i: not a.holds(i))),
    )


queries = st.recursive(_leaf(), _more, max_leaves=5)
text = st.lists(word | st.just(LONG), max_size=10).map(" ".join)
items = st.lists(st.tuples(text, st.lists(word, max_size=3).map(", ".join)), min_size=1, max_size=12)


@settings(  # its examples are as small as they are useful: to make one smaller takes minutes
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(items, st.integers(1, 3), st.lists(queries, min_size=25, max_size=25))
def test_engines_shards_and_a_naive_reading_agree(
    texts: list[tuple[str, str]], shards: int, asked: list[Asked]
) -> None:
    documents = [
        IndexDocument(item=uuid.UUID(int=n << 64 | n), owner="1:1", body=body, subject=subject)
        for n, (body, subject) in enumerate(texts)
    ]
    reported = {
        d.item: {"body": _words(d.body), "subject": _words(d.subject), "title": {}, "name": {}} for d in documents
    }
    with TemporaryDirectory() as home:
        for engine in INDEX_ENGINES:
            places = enumerate(Path(home, engine, str(number)) for number in range(shards))
            readers = [shard_of(engine, place, documents[number::shards]) for number, place in places]
            for query in asked:
                node = parse(query.text)
                found = [item for reader in readers for item in uuids(reader.found(node).items)]
                expected = {item for item, words in reported.items() if query.holds(words)}
                assert sorted(found) == sorted(expected), (engine, query.text)
                assert sum(matching(reader, query.text) for reader in readers) == len(expected)
                hits = {hit.item for reader in readers for hit in reader.search(node, 100, snippets=False)}
                assert hits == expected


@pytest.mark.parametrize("engine", INDEX_ENGINES)
@pytest.mark.parametrize("query", ["oak", "oa*", "oak AND (abc OR b)", "oak NOT c"])
def test_the_first_of_many_hits_are_the_same_as_the_first_of_few(engine: str, query: str, tmp_path: Path) -> None:
    """Pages of a list are cut out of longer and longer ones: no item comes twice, none is lost, whatever many have one score;
    those of one score stand by their items."""
    dice = random.Random(7)
    items = [uuid.UUID(int=dice.getrandbits(128)) for _ in range(160)]
    more = ("abc", "b", "b b", "")
    documents = [
        IndexDocument(item=item, owner="o", body=f"oak {more[n % 4]}", subject="" if n % 5 else "oak")
        for n, item in enumerate(items)
    ]
    reader = shard_of(engine, tmp_path, documents)
    node = parse(query)
    number, every = reader.best(node, len(items))
    assert number == len(every) > 80
    assert every == sorted(every, key=in_order)
    assert len({score for score, _, _ in every}) < number / 4
    for limit in (1, 7, 50, 51, number - 1):
        count, few = reader.best(node, limit)
        assert (count, [each[:2] for each in few]) == (number, [each[:2] for each in every[:limit]])
        assert [hit.item for hit in reader.search(node, limit)] == [item for _, item, _ in every[:limit]]

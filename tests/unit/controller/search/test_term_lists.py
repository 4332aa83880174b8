"""Lists of search terms in whatever charset, and what is said of bad ones."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.search import meaning as module
from controller.search import opened
from controller.search.items import NO_FAMILY, JobItems
from controller.search.meaning import meaning
from controller.search.opened import KEPT, Indexes
from controller.search.report import MOST_BYTES, Term, listed, read_terms, understood
from core.errors import UsageError
from core.records import JobState
from core.settings import Settings
from search.found import item_ids, uuids
from search.language import parse

TEXT = 'über\n\n  budget  \r\n"third quarter"\n'
TERMS = (Term(1, "über"), Term(3, "budget"), Term(4, '"third quarter"'))
DATABASE = SimpleNamespace(ask=lambda query, **given: query(None, **given))


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_a_list_is_read_in_the_charset_that_it_is_in(charset: str, tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_bytes(TEXT.encode(charset))
    assert read_terms(file)[0] == TERMS
    assert read_terms(file, charset)[0] == TERMS


def test_a_stray_byte_of_zero_makes_no_list_utf_16(tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_bytes(b"merger\nbud\0get\nthird quarter\n")
    with pytest.raises(UsageError, match=r"1 term cannot be parsed: line 2: .*NUL"):
        read_terms(file)
    for charset in ("utf-16-le", "utf-16-be"):
        file.write_bytes("бюджет\nсделка\n".encode(charset))
        assert read_terms(file)[0] == (Term(1, "бюджет"), Term(2, "сделка"))


def test_terms_that_mean_the_same_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_text("Budget\nwor*\nbudget\n'budget'\n")
    jobs: Any = [SimpleNamespace(), SimpleNamespace()]
    assert [one.first for one in understood(jobs, read_terms(file)[0])] == [0, 1, 0, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_ends_where_an_editor_shows_it(end: str, tmp_path: Path) -> None:
    """As on the page and in the API: other signs that end one for some programs stand between words of a term, and the lines behind
    keep their numbers."""
    file = tmp_path / "terms.txt"
    for sign in "\u2028\u2029\u0085\f\v\x1c\x1d\x1e":
        file.write_bytes(f"giraffe{sign}lion{end}{end}tiger{end}".encode())
        terms = read_terms(file)[0]
        assert [(term.line, term.text) for term in terms] == [(1, f"giraffe{sign}lion"), (3, "tiger")]
        assert terms == listed([f"giraffe{sign}lion", "", "tiger"], "the list")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no terms"),
        (b"\n \n\xef\xbb\xbf", "1 term cannot be parsed"),
        (b'fine\n"open\na AND\n', r"2 terms cannot be parsed: line 2: .* line 3: "),
        (b"(\n" * 100, "100 terms cannot be parsed: .*; and 95 more"),
        (b"\x81\x8d", "not in cp1252"),
        (b"a\n" * 10_001, "more than 10,000 terms"),
        (b"a" * (MOST_BYTES + 1), "more than 10,000,000 bytes"),
    ],
)
def test_a_bad_list_is_one_line(data: bytes, message: str, tmp_path: Path) -> None:
    """That names every line that is at fault, the first few with why."""
    file = tmp_path / "terms.txt"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=message) as caught:
        read_terms(file)
    assert "\n" not in str(caught.value)


def test_files_and_charsets_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_terms(tmp_path / "none")
    with pytest.raises(UsageError, match="is a directory"):
        read_terms(tmp_path)
    (tmp_path / "terms").write_text("a")
    with pytest.raises(UsageError, match="no character set 'martian'"):
        read_terms(tmp_path / "terms", "martian")
    with pytest.raises(UsageError, match="character set"):
        read_terms(tmp_path / "terms", "hex")


halves = st.integers(0, 3) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1])
ids = st.tuples(halves, halves).map(lambda pair: uuid.UUID(int=pair[0] << 64 | pair[1]))


def _items(known: list[uuid.UUID], families: list[int]) -> JobItems:
    return JobItems(
        item_ids(each.bytes for each in known),
        np.array(families, dtype=np.int64),
        np.zeros(len(known), dtype=np.int64),
        {0: "ann"},
    )


@given(st.lists(ids, unique=True), st.lists(ids))
def test_positions_are_those_of_the_ids_that_are_known(known: list[uuid.UUID], asked: list[uuid.UUID]) -> None:
    known = sorted(known)
    items = _items(known, [NO_FAMILY] * len(known))
    wanted = item_ids(each.bytes for each in asked)
    assert uuids(wanted) == asked
    assert items.positions(wanted).tolist() == [known.index(each) for each in asked if each in known]


@given(st.data(), st.integers(1, 12))
def test_families_are_whole(data: st.DataObject, size: int) -> None:
    families = data.draw(st.lists(st.integers(NO_FAMILY, size - 1), min_size=size, max_size=size))
    hits = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    found = _items([uuid.UUID(int=n) for n in range(size)], families).with_families(np.array(hits))
    of_hits = {families[n] for n in range(size) if hits[n]} - {NO_FAMILY}
    assert found.tolist() == [hits[n] or families[n] in of_hits for n in range(size)]


def _kept(monkeypatch: pytest.MonkeyPatch, searches: dict[str, str]) -> Any:
    """A job that has these."""
    rows = [SimpleNamespace(name=name, query=query) for name, query in searches.items()]
    monkeypatch.setattr(module, "SEARCH", SimpleNamespace(list_searches=lambda conn, job: rows))
    return SimpleNamespace(id="job", database=DATABASE)


def test_each_stands_for_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    job = _kept(monkeypatch, {"a": "one OR two", "b": "saved:a NOT saved:c", "c": "three"})
    assert meaning(job, "saved:b saved:a") == parse("((one OR two) NOT three) (one OR two)")


def test_searches_that_name_each_other_again_and_again_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five deep and each with eight more are 32,768 of the last: refused, and not written out first."""
    searches = {f"s{n}": " ".join([f"saved:s{n + 1}"] * 8) for n in range(5)} | {"s5": "word"}
    with pytest.raises(UsageError, match="more than 1,000"):
        meaning(_kept(monkeypatch, searches), "saved:s0")


def test_an_index_that_opens_does_not_keep_searches_of_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of segments take seconds; a job's index is opened once, kept, and closed for the latest KEPT others."""
    indexes, log = Indexes(Settings()), []

    @contextmanager
    def opening(handle: Any, settings: Settings) -> Iterator[Any]:
        assert indexes._lock.acquire(blocking=False), "others could not even ask for theirs"
        indexes._lock.release()
        log.append(("opened", handle.id.int))
        yield handle
        log.append(("closed", handle.id.int))

    state = SimpleNamespace(state=JobState.COMPLETED.value, engines=[])
    monkeypatch.setattr(opened, "opened_index", opening)
    monkeypatch.setattr(opened, "SEARCH", SimpleNamespace(index_state=lambda conn, job: state))
    for number in (0, 0, *range(1, KEPT + 1)):
        handle: Any = SimpleNamespace(id=uuid.UUID(int=number), database=DATABASE)
        with indexes.of(handle) as index:
            assert index is not None
    assert log == [*(("opened", number) for number in range(KEPT + 1)), ("closed", 0)]

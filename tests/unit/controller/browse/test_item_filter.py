"""Conditions on metadata as people write them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.browse.item_filter import EXAMPLE, MOST_CONDITIONS, Condition, ItemFilter, parse_conditions
from controller.search.opened import reader_views
from core.errors import UsageError

QUOTE = '"'


@pytest.mark.parametrize(("text", "wanted"), [
    ("", []),
    ("   ", []),
    ("author=Ada", [("author", "=", "Ada", "text")]),
    ("Author ~ ada lovelace", [("author", "~", "ada lovelace", "text")]),
    ("date>=2001-06 and date < 2002", [("date", ">=", "2001-06", "date"), ("date", "<", "2002", "date")]),
    ("title=bread and butter AND page_count != 3",
     [("title", "=", "bread and butter", "text"), ("page_count", "!=", "3", "number")]),
    ('title="this and author=that" and author="x"',
     [("title", "=", "this and author=that", "text"), ("author", "=", "x", "text")]),
    ("latitude>=-12.5", [("latitude", ">=", "-12.5", "number")]),
    ("load_sha256=ab and Load_To~ann", [("load_sha256", "=", "ab", "text"), ("load_to", "~", "ann", "text")]),
    ("signed=True", [("signed", "=", "True", "text")]),
    ("attachments~.pdf", [("attachments", "~", ".pdf", "text")]),
    ('subject=""', [("subject", "=", "", "text")]),
    ("message_id=<a=b@c>", [("message_id", "=", "<a=b@c>", "text")]),
])  # fmt: skip
def test_conditions_are_read_as_they_are_meant(text: str, wanted: list[tuple[str, ...]]) -> None:
    """With and without blanks and quotes, several joined by `and`."""
    assert parse_conditions(text) == tuple(Condition(*each) for each in wanted)


@pytest.mark.parametrize(("text", "message"), [
    ("autor=Ada", "did you mean author"),
    ("zzzz=1", r"docs/formats\.md"),
    ("author", "is not a condition"),
    ("author=", "is not a condition"),
    ("date>=last week", "is a date, as in 2001"),
    ("date>=2001-13", "is a date, as in 2001"),
    ("page_count>many", "is a number"),
    ("page_count>1e9999999", "is a number"),
    ("page_count>٥", "is a number"),
    ("date>٢٠٠١", "is a date"),
    ("page_count~3", "use = != < <= > >="),
    ("author>Ada", "use = != ~"),
    ("load_date>2001", "use = != ~"),
    ("load_=1", r"docs/formats\.md"),
    ("signed=maybe", "true or false"),
    (" and ".join(["page_count=1"] * (MOST_CONDITIONS + 1)), "at most"),
])  # fmt: skip
def test_a_condition_that_is_none_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_conditions(text)
    assert "\n" not in str(refused.value)


def test_the_example_that_messages_give_is_one() -> None:
    assert [c.key for c in parse_conditions(EXAMPLE)] == ["date", "author", "page_count", "title"]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(UsageError):
        parse_conditions(text)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_values_in_quotes_come_out_as_they_went_in(values: list[str]) -> None:
    parsed = parse_conditions(" and ".join(f'title="{value.replace(QUOTE, QUOTE * 2)}"' for value in values))
    assert [c.value for c in parsed] == values
    rows = json.loads(ItemFilter(conditions=parsed).parameters().conditions or "")
    assert [row["value"] for row in rows] == values


def test_no_filter_asks_for_nothing() -> None:
    assert set(astuple(ItemFilter().parameters())) == {None}


def test_links_are_removed_also_when_a_lock_file_comes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, late = os.rmdir, []

    def rmdir(path: Any, **options: Any) -> None:
        if not late:
            late.append(next(tmp_path.glob("search-*")) / ".tantivy-meta.lock")
            late[0].touch()
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", rmdir)
    with reader_views(tmp_path) as views:
        (views / "meta.json").touch()
    assert late
    assert not list(tmp_path.iterdir())

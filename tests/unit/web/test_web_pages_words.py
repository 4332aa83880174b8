"""How the pages write values, families and metadata."""

from __future__ import annotations

import datetime
import uuid

import pytest

from readers.records import Kind
from search.language import parse
from search.query import All, Asked
from web.api.models.items import Family, FamilyMember
from web.pages import filters
from web.pages.filters import shown
from web.pages.viewer import CHILDREN_SHOWN, tree


def test_values_have_units_and_what_is_missing_a_dash() -> None:
    assert filters.size(12_975_257) == "13.0 MB"
    assert filters.duration(200) == "3 min 20 s"
    assert filters.count(12_345) == "12,345"
    assert filters.share(0.999) == "99 %"
    assert {f(None) for f in (filters.size, filters.duration, filters.count, filters.share, filters.figure)} == {"–"}


def test_moments_are_utc() -> None:
    east = datetime.timezone(datetime.timedelta(hours=2))
    assert filters.moment(datetime.datetime(2026, 11, 21, 12, tzinfo=east)) == "2026-11-21 10:00:00 UTC"
    assert filters.moment(0.0) == "1970-01-01 00:00:00 UTC"


@pytest.mark.parametrize("text", ["a\nb", "a\u202eb", "a\x00b", "a\ud800b"])
def test_plain_text_is_one_visible_line(text: str) -> None:
    assert filters.plain(text).isprintable()
    assert len(filters.plain(text)) > len(text)


def test_a_query_is_narrowed_as_a_whole() -> None:
    for name in ("ann", 'x"y', 'a\\"b\\', "*?", "&", "a AND b)", "\u202ex\n"):
        query = filters.narrowed("a OR b", "custodian_is", name)
        assert parse(query) == All((parse("a OR b"), Asked("custodian_is", "=", name)))


def test_metadata_is_written_on_one_line() -> None:
    assert shown("x") == "x"
    assert shown(["a", "b"]) == "a; b"
    assert shown({"a": 1}) == '{"a": 1}'


def _member(number: int, parent: int | None) -> FamilyMember:
    return FamilyMember(
        id=uuid.UUID(int=number), parent=None if parent is None else uuid.UUID(int=parent), depth=0, name=str(number),
        kind=Kind.ARCHIVE_MEMBER, container=False, media_type="text/plain", bytes=0, failed=False,
    )  # fmt: skip


def test_a_family_is_a_tree_below_what_it_lies_in() -> None:
    ancestors, members = [_member(1, None), _member(2, 1)], [_member(3, 2), _member(4, 3), _member(5, 3)]
    item = uuid.UUID(int=5)
    (root,) = tree(Family(item=item, family=members[0].id, ancestors=ancestors, members=members, truncated=False))
    assert root.item.name == "1"
    assert [n.item.name for n in root.children[0].children[0].children] == ["4", "5"]


def test_of_many_siblings_the_first_are_drawn_and_the_item_itself() -> None:
    last = CHILDREN_SHOWN + 50
    members = [_member(1, None), *(_member(n, 1) for n in range(2, last + 1))]
    family = Family(item=uuid.UUID(int=last), family=members[0].id, ancestors=[], members=members, truncated=False)
    (root,) = tree(family)
    assert root.children[-1].item.name == str(last)
    assert len(root.children) == CHILDREN_SHOWN + 1
    assert root.more == last - 1 - len(root.children)

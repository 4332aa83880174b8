"""What passes a filter on metadata, held against the metadata of every item of a finished job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.browse.item_filter import ItemFilter, parse_conditions
from controller.browse.items import stream_items
from controller.browse.pages import items_page
from controller.databases import JobHandle
from readers.records import TextState

pytestmark = pytest.mark.services

Metadata = dict[str, Any]


@pytest.fixture
def metadata(handle: JobHandle) -> dict[str, Metadata]:
    """Of every item, by its id."""
    with handle.database.transaction() as conn:
        rows = conn.exec_driver_sql("SELECT item::text, metadata FROM item_text WHERE job = %s", (handle.id,)).all()
    return {item: dict(found or {}) for item, found in rows}


def _known(metadata: dict[str, Metadata], key: str) -> list[Any]:
    return sorted(found[key] for found in metadata.values() if key in found)


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _has(key: str, check: Callable[[Any], bool]) -> Callable[[Metadata], bool]:
    return lambda found: key in found and check(found[key])


def test_conditions_let_pass_what_they_say(handle: JobHandle, metadata: dict[str, Metadata]) -> None:
    date = _known(metadata, "date")[len(_known(metadata, "date")) // 2]
    rows = _known(metadata, "width")[0]
    person = next(each for each in _known(metadata, "from") if each.isascii())
    name = next(names for found in metadata.values() if (names := found.get("attachments")))[-1]
    month = date[:7]
    checks: list[tuple[str, Callable[[Metadata], bool]]] = [
        (f"date>={date}", _has("date", lambda v: v >= date)),
        (f"date<{month}", _has("date", lambda v: v[:7] < month)),
        (f"date={month}", _has("date", lambda v: v.startswith(month))),
        (
            f"date>{month} and subject~E",
            lambda f: f.get("date", "")[:7] > month and "e" in f.get("subject", "").lower(),
        ),
        (f"width={rows}.0", _has("width", lambda v: v == rows)),
        (f"width>{rows}", _has("width", lambda v: v > rows)),
        (f"width!={rows}", _has("width", lambda v: v != rows)),
        (f"from={_quoted(person.upper())}", _has("from", lambda v: v.lower() == person.lower())),
        (f"from~{_quoted(person[1:-1])}", _has("from", lambda v: person[1:-1].lower() in v.lower())),
        (f"attachments={_quoted(name)}", _has("attachments", lambda v: name.lower() in [one.lower() for one in v])),
        ("well_formed=false", _has("well_formed", lambda v: v is False)),
        ("well_formed!=false", _has("well_formed", lambda v: v is not False)),
    ]
    for text, check in checks:
        wanted = ItemFilter(conditions=parse_conditions(text))
        expected = {item for item, found in metadata.items() if check(found)}
        assert {item["id"] for item in items_page([handle], wanted, after=None, limit=10_000)} == expected, text
        assert {item["id"] for item in stream_items(handle, wanted)} == expected, text
        assert expected or text.startswith(("date>", "well_formed")), text


def test_a_text_state_is_a_filter_too(handle: JobHandle) -> None:
    states = {item["id"]: (item["text_state"], item["media_type"]) for item in stream_items(handle)}
    for state in {state for state, _ in states.values()}:
        found = {item["id"] for item in stream_items(handle, ItemFilter(text_state=TextState(state)))}
        assert found == {item for item, (s, _) in states.items() if s == state}
    pdf = ItemFilter(text_state=TextState.NO_TEXT_LAYER, type="application/pdf")
    assert {item["id"] for item in stream_items(handle, pdf)} == {
        item for item, told in states.items() if told == ("no_text_layer", "application/pdf")
    }

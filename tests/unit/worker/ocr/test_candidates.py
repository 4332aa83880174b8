"""worker.ocr.candidates: what OCR is for, and how it is cut into tasks."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.records import OcrChoice, Phase
from readers.records import TextState
from sql.findings import Item, ItemText
from worker.items.loose import loose_row
from worker.ocr.candidates import PAGES_A_TASK, bare_pages, is_candidate, tasks

CHOICE = OcrChoice(languages="eng", pages=5)


def _item(media_type: str, **changes: Any) -> Item:
    row = loose_row(uuid.uuid4(), 0, uuid.uuid4().bytes, media_type=media_type, size=100, sha256=bytes(32))
    return replace(row, **changes)


def _row(state: TextState = TextState.NO_TEXT_LAYER, pages: int = 1, **metadata: Any) -> ItemText:
    return ItemText(item=uuid.uuid4(), state=state, characters=0, pages=pages, metadata=metadata)


@pytest.mark.parametrize(
    ("media_type", "metadata", "wanted"),
    [
        ("image/png", {"width": 640, "height": 480}, True),
        ("image/tiff", {"width": 16, "height": 16}, True),
        ("image/gif", {"width": 1, "height": 1}, False),
        ("image/png", {"width": 2000, "height": 15}, False),
        ("image/png", {}, False),
        ("image/heic", {"width": 640, "height": 480}, False),
        ("application/pdf", {}, True),
        ("text/plain", {}, False),
    ],
)
def test_types_and_sizes(media_type: str, metadata: dict[str, int], wanted: bool) -> None:
    """Pictures that tesseract reads and a word fits into, and PDFs."""
    assert is_candidate(_item(media_type), _row(**metadata)) is wanted


@pytest.mark.parametrize("state", [state for state in TextState if state is not TextState.NO_TEXT_LAYER])
def test_only_what_has_no_text_layer(state: TextState) -> None:
    assert not is_candidate(_item("application/pdf"), _row(state))


@pytest.mark.parametrize("state", [TextState.OK, TextState.PARTIAL])
def test_a_pdf_with_bare_pages(state: TextState) -> None:
    row = _row(state, pages=900, pages_without_text="2, 5-7")
    assert is_candidate(_item("application/pdf"), row)
    assert bare_pages(row) == [1, 4, 5, 6]
    assert not is_candidate(_item("image/png"), row)
    assert not is_candidate(_item("application/pdf"), _row(TextState.TRUNCATED_BY_LIMIT, pages_without_text="2"))
    assert len(list(tasks([(_item("application/pdf"), row)] * 2, CHOICE))) == 1


def test_bytes_must_be_there() -> None:
    assert not is_candidate(_item("application/pdf", sha256=None), _row())


@settings(max_examples=50)
@given(st.lists(st.integers(min_value=0, max_value=40), max_size=20))
def test_every_item_is_in_one_task(pages: list[int]) -> None:
    found = [(_item("application/pdf"), _row(pages=n)) for n in pages]
    made = list(tasks(found, CHOICE))
    assert [i for task in made for i in task.payload["items"]] == [item.id.hex for item, _ in found]
    counted = {item.id.hex: max(1, min(row.pages, CHOICE.pages)) for item, row in found}
    for task in made:
        assert task.phase is Phase.OCR
        assert task.weight > 0
        assert sum(counted[i] for i in task.payload["items"]) <= PAGES_A_TASK

"""What is done to rows before they travel."""

from __future__ import annotations

import datetime
import json
import uuid

from hypothesis import given
from hypothesis import strategies as st

from sql.bulk import merge_counts, storable, storable_metadata
from sql.findings import ContainerCount

_ANY_TEXT = st.text(st.characters(codec=None), max_size=20)  # lone surrogates and NUL included
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(_ANY_TEXT)
def test_storable_text_is_utf8_without_nul(text: str) -> None:
    """Promise: no text a document holds can make PostgreSQL refuse a row; harmless text is untouched."""
    out = storable(text)
    assert "\0" not in out
    assert out.encode("utf-8").decode("utf-8") == out
    if "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        assert out == text


@given(st.dictionaries(_ANY_TEXT, _JSON, max_size=4))
def test_storable_metadata_is_strict_json(metadata: dict[str, object]) -> None:
    """Promise: metadata becomes JSON that jsonb accepts: no NUL, no lone surrogate, no NaN."""
    out = json.dumps(storable_metadata(metadata), allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in out.replace("\\\\", "")
    out.encode("utf-8")


def test_counts_of_one_container_are_merged() -> None:
    """Promise: several counts of a container in one result add up; what it announces is kept, not added."""
    a, b = uuid.uuid4(), uuid.uuid4()
    merged = merge_counts(
        [
            ContainerCount(item=a, announced=None, emitted=2, failed=1),
            ContainerCount(item=b, announced=None, emitted=5, failed=0),
            ContainerCount(item=a, announced=9, emitted=3, failed=0, remainder_unknown=True),
            ContainerCount(item=a, announced=None, emitted=1, failed=0),
        ]
    )
    assert merged == [
        ContainerCount(item=a, announced=9, emitted=6, failed=1, remainder_unknown=True),
        ContainerCount(item=b, announced=None, emitted=5, failed=0),
    ]


def test_metadata_that_json_does_not_know_becomes_text() -> None:
    found = storable_metadata({"when": datetime.date(2020, 1, 2), "raw": b"x", "fine": 1})
    assert found == {"when": "2020-01-02", "raw": "b'x'", "fine": 1}

"""Tables and records of a production."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.csv_cells import defused
from production import edrm
from production.fields import COLUMNS
from production.reports import moment, table

_CELLS = st.text(st.sampled_from("a,\"'\r\n =+;\t\u2028\ud800"), max_size=4)


@given(rows=st.lists(st.lists(_CELLS, min_size=1, max_size=4), max_size=4))
def test_a_row_is_as_a_writer_of_csv_has_it(rows: list[list[str]]) -> None:
    expected = io.StringIO(newline="")
    csv.writer(expected).writerows([*map(defused, row)] for row in rows)
    assert table(rows) == expected.getvalue().encode("utf-8", "replace")


@pytest.mark.parametrize(
    ("seconds", "reported"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (1_795_651_499, "2026-11-26T00:04:59Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, None),
        (-62_135_596_800, "0001-01-01T00:00:00Z"),
        (-62_135_596_801, None),
    ],
)
def test_a_moment_is_reported_where_a_calendar_has_it(seconds: int, reported: str | None) -> None:
    assert moment(seconds * 1_000_000_000 + 999) == reported


def test_what_is_not_known_is_empty_in_edrm_xml() -> None:
    reported = dict.fromkeys(COLUMNS) | {"begin": "A1", "path": ["a"]}
    document = edrm.document(reported, [])
    assert "None" not in document
    assert 'MimeType=""' in document
    assert "<Custodian></Custodian>" in document

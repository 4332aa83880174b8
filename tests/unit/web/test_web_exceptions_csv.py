"""Exceptions as CSV."""

from __future__ import annotations

import csv
import io

import pytest

from controller.browse.failures import EXCEPTION_FIELDS
from core.csv_cells import defused
from web.api.exceptions import _lines


@pytest.mark.parametrize(("raw", "wanted"), [(False, "'=cmd|'/c calc'!A0 / b"), (True, "=cmd|'/c calc'!A0 / b")])
def test_a_name_is_no_formula(raw: bool, wanted: str) -> None:
    """Whatever a collection calls its files; `raw` leaves it as it is."""
    row = dict.fromkeys(EXCEPTION_FIELDS) | {"container_path": ["=cmd|'/c calc'!A0", "b"]}
    text = "".join(_lines(iter([row]), str if raw else defused))
    (read,) = csv.DictReader(io.StringIO(text, newline=""))
    assert read["container_path"] == wanted

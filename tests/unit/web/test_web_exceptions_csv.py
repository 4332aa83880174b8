"""Exceptions as CSV."""

from __future__ import annotations

import pytest

from controller.browse.counts import EXCEPTION_FIELDS
from web.api.exceptions import _cells


@pytest.mark.parametrize(("raw", "wanted"), [(False, "'=cmd|'/c calc'!A0 / b"), (True, "=cmd|'/c calc'!A0 / b")])
def test_a_name_is_no_formula(raw: bool, wanted: str) -> None:
    """Whatever a collection calls its files; `raw` leaves it as it is."""
    row = dict.fromkeys(EXCEPTION_FIELDS) | {"container_path": ["=cmd|'/c calc'!A0", "b"]}
    told = dict(zip(EXCEPTION_FIELDS, _cells(row, raw), strict=True))
    assert told["container_path"] == wanted

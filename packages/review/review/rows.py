"""Rows of a finding as cells of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.csv_cells import defused

_BETWEEN = {"container_path": " / ", "original_path": " / ", "principal_path": " / "}


def csv_cells(row: Mapping[str, Any], fields: Sequence[str], *, raw: bool = False) -> list[str]:
    """The cells of one row: paths joined by " / ", other lists by "; ", true and false in words, nothing for null. What a
    spreadsheet would run is defused, unless it is wanted `raw`."""
    cells = [_cell(row.get(field), _BETWEEN.get(field, "; ")) for field in fields]
    return cells if raw else list(map(defused, cells))


def _cell(value: Any, between: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return between.join(map(str, value)) if isinstance(value, list) else str(value)

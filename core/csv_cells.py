"""Records as CSV: cells that a spreadsheet takes for text, whatever a file's name or a sender wrote into them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

# Characters that begin a formula for a spreadsheet, or that it skips in front of one.
BEGINS_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four: full-width


def iso(moment: datetime) -> str:
    """The moment in ISO 8601, with `Z` for UTC: as pydantic writes it in documents."""
    return moment.isoformat().replace("+00:00", "Z")


def defused(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet could run it as a formula; removing the apostrophe
    restores it."""
    return f"'{cell}" if cell[:1] in BEGINS_FORMULA else cell


def csv_cells(row: Mapping[str, Any], fields: Sequence[str], *, raw: bool = False) -> list[str]:
    """The cells of one record: paths joined by " / ", other lists by "; ", true and false in words, moments in ISO 8601,
    empty for null. Cells that a spreadsheet would run are defused, except with `raw`."""
    cells = [_cell(row.get(field), " / " if field.endswith("path") else "; ") for field in fields]
    return cells if raw else list(map(defused, cells))


def _cell(value: Any, between: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, list | tuple):
        return between.join(_cell(each, between) for each in value)
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, Mapping) else str(value)


def flat(value: Mapping[str, Any] | Sequence[Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a record and of the records in it, named `outer.inner` or `list.0.inner`."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, inner in pairs:
        nested = isinstance(inner, Mapping) or (
            isinstance(inner, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in inner)
        )
        if nested:
            yield from flat(inner, f"{above}{name}.")
        else:
            yield f"{above}{name}", inner


def csv_lines(
    rows: Iterable[Mapping[str, Any]], fields: Sequence[str] = (), *, raw: bool = False, end: str = "\n"
) -> Iterator[str]:
    """A line of names, and a line for each record. Without `fields`, all records are read first; their fields are flat,
    and the columns are those of all records."""
    if not fields:
        rows = [dict(flat(row)) for row in rows]
        fields = list(dict.fromkeys(name for row in rows for name in row))
    line = csv.writer(_Echo, lineterminator=end).writerow
    yield line(fields)
    for row in rows:
        yield line(csv_cells(row, fields, raw=raw))


class _Echo:
    """A file for a writer of CSV that returns each line."""

    @staticmethod
    def write(line: str) -> str:
        return line

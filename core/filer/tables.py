"""Reads numbers and texts from tables of TOML files that people write. Errors are one line with the key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from core.errors import UsageError
from core.reading import read_problem

MAX_FILE_BYTES = 65_536
_MOST_SAID = 60  # characters of a wrong value
_MOST_BITS = 1000  # of a whole number; far more of them cannot be written out


def read_table(path: Path, what: str, known: Collection[str]) -> dict[str, Any]:
    """The whole file; `what` names it in errors, `known` what else there is. Raises UsageError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise UsageError(f"{what}: the file has more than {MAX_FILE_BYTES} bytes; is it the right one?")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as e:
        raise UsageError(f"{read_problem(what, e)}; give {', '.join(known)}, or a TOML file") from e
    except (ValueError, RecursionError) as e:  # not TOML, no text, no path, a number of thousands of digits, depth
        raise UsageError(f"{read_problem(what, e)}; it must be TOML") from e


class Tables:
    """Takes values out of tables; every method raises UsageError that begins with `where`."""

    def __init__(self, where: str) -> None:
        self._where = where

    def wrong(self, what: str) -> UsageError:
        return UsageError("".join(c if c.isprintable() else "?" for c in f"{self._where}: {what}"))

    def text(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(f"{key} must be a text")
        return value

    def name(self, table: Mapping[str, Any], longest: int) -> str:
        """A printable text for labels, under `name`."""
        name = self.text(table, "name")
        if not name or len(name) > longest or not name.isprintable() or name != name.strip():
            raise self.wrong(f"name must be a printable text of at most {longest} characters")
        return name

    def table(self, table: Mapping[str, Any], key: str, at: str = "") -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"{at}{key} must be a table")
        return value

    def known(self, table: Mapping[str, Any], keys: Collection[str], at: str) -> None:
        """Raises UsageError for a key that is not one of these."""
        for key in table:
            if key not in keys:
                raise self.wrong(f"there is no {at}{key}; there is {', '.join(sorted(keys))}")

    def number(
        self, table: Mapping[str, Any], key: str, at: str, default: float, high: float, *, low: float = 0.0
    ) -> float:
        value = table.get(key, default)
        if not _a_number(value):
            raise self.wrong(f"{at}{key} is {_said(value)}; it must be a number")
        if not low <= value <= high:
            raise self.wrong(f"{at}{key} is {_said(value)}; it must be from {low:g} to {high:g}")
        return float(value)

    def whole(self, table: Mapping[str, Any], key: str, at: str, default: int, high: int, *, low: int = 1) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong(f"{at}{key} is {_said(value)}; it must be a whole number from {low} to {high:,}")
        return value


def _a_number(value: object) -> bool:
    """A finite one; whole ones may be of any size."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    )


def _said(value: object) -> str:
    """The value as in the file, or its beginning."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "of more than 300 digits"
    said = f"{value:g}" if isinstance(value, float) else repr(value)
    return said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}…"

"""A table of a TOML file, taken key by key, so that what is wrong is named and what is left over is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import UsageError


class TomlTable:
    """Keys are taken one by one, each raising UsageError when it is missing or of another type; `end` refuses the rest."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = dict(values)
        self.where = where

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """The value, or the default."""
        value = self._values.pop(key, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageError(f"{self.where}: {key} is {'missing' if value is None else 'not right'}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        return str(self.take(key, str, default))

    def number(self, key: str, default: float) -> float:
        """A number."""
        return float(self.take(key, (int, float), default))

    def table(self, key: str) -> TomlTable | None:
        """A table, None when there is none."""
        if key not in self._values:
            return None
        return TomlTable(self.take(key, dict), f"{self.where}: [{key}]")

    def tables(self, key: str) -> list[TomlTable]:
        """An array of tables."""
        found = self.take(key, list, [])
        return [
            TomlTable(row, f"{self.where}: [[{key}]] {n}")
            for n, row in enumerate(found, start=1)
            if isinstance(row, dict)
        ]

    def end(self) -> None:
        """Raises UsageError when a key was not taken, which is a misspelling."""
        if self._values:
            raise UsageError(f"{self.where}: there is no key {next(iter(self._values))}")

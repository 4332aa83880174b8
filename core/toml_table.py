"""TOML that people write, read table by table: every value is checked, every unknown key refused, with its full
name."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

from core.errors import UsageError

_MOST = 1e18  # infinities and `nan` are TOML, too
_MOST_SHOWN = 60  # characters of a wrong value
_MOST_BITS = 1000  # of a whole number; Python refuses to print far longer ones
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds of a numeric field, in its annotation."""

    low: float = 0.0
    high: float = _MOST


@dataclass(frozen=True, slots=True)
class Among:
    """The values of a text field, in its annotation."""

    values: tuple[str, ...]


Share = Annotated[float, Within(high=1.0)]


class TomlTable:
    """One table of a file; `done` refuses keys that were not read."""

    def __init__(self, source: str, name: str, data: dict[str, Any]) -> None:
        self._source = source
        self._name = name
        self._data = data
        self._known: list[str] = []

    def refuse(self, key: str, why: str) -> UsageError:
        """The error about one key."""
        text = f"{self._source}: {self._full(key)} {why}"
        return UsageError("".join(c if c.isprintable() else "?" for c in text))

    def number(self, key: str, default: float | None = None, *, low: float = 0.0, high: float = _MOST) -> float:
        """A number within low … high; required unless there is a default."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(key, f"must be a number, not {_shown(value)}")
        if not low <= value <= high:
            raise self.refuse(key, f"is {_shown(value)}; it must be between {low:g} and {high:g}")
        return value

    def share(self, key: str, default: float | None = None) -> float:
        """A number within 0 … 1."""
        return self.number(key, default, high=1.0)

    def whole(self, key: str, default: int | None = None, *, low: int = 0, high: int = 10**18) -> int:
        """A whole number within low … high."""
        value = self.number(key, default, low=low, high=high)
        if not isinstance(value, int):
            raise self.refuse(key, f"must be a whole number, not {_shown(value)}")
        return value

    def text(self, key: str, default: str | None = None, *, among: Sequence[str] = ()) -> str:
        """A text, one of `among` if given."""
        value = self._take(key, default)
        if not isinstance(value, str):
            raise self.refuse(key, f"must be a text, not {_shown(value)}")
        if among and value not in among:
            raise self.refuse(key, f"is {_shown(value)}; it must be one of {', '.join(among)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty if absent."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.refuse(key, "must be a list of texts")
        return tuple(value)

    def weights(self, key: str, default: tuple[float, ...] = ()) -> tuple[float, ...]:
        """A list of weights, not all of them 0."""
        value = self._take(key, list(default))
        if not isinstance(value, list) or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
            raise self.refuse(key, "must be a list of numbers")
        if not all(0 <= v <= _MOST for v in value) or not sum(value):
            raise self.refuse(key, "must hold weights of 0 or more, one of them over 0")
        return tuple(value)

    def ranges(self, key: str, default: tuple[tuple[int, int, float], ...]) -> tuple[tuple[int, int, float], ...]:
        """A list of [from, to, weight] with whole numbers from 1."""
        value = self._take(key, [list(entry) for entry in default])
        if not isinstance(value, list) or not value:
            raise self.refuse(key, "must be a list of [from, to, weight]")
        out = []
        for entry in value:
            if not isinstance(entry, list) or len(entry) != 3 or not all(isinstance(v, int | float) for v in entry):
                raise self.refuse(key, f"holds {entry!r}; each entry is [from, to, weight]")
            if not (1 <= entry[0] <= entry[1] <= 1000 and 0 <= entry[2] <= _MOST):
                raise self.refuse(key, f"holds {entry!r}; from is 1 … to, to at most 1000, weight at least 0")
            out.append((int(entry[0]), int(entry[1]), float(entry[2])))
        return tuple(out)

    def record(self, kind: type[_T]) -> _T:
        """The table as a dataclass whose fields are all its keys; a field without a default is required."""
        hints = get_type_hints(kind, include_extras=True)
        made = kind(**{one.name: self._field(one, hints[one.name]) for one in dataclasses.fields(kind)})  # type: ignore[arg-type]
        self.done()
        return made

    def _field(self, one: dataclasses.Field[Any], hint: Any) -> Any:
        default = None if one.default is dataclasses.MISSING else one.default
        if one.default is None and one.name not in self._data:
            self._known.append(one.name)
            return None
        bounds = next(iter(getattr(hint, "__metadata__", ())), None)
        if isinstance(default, tuple):
            return (self.ranges if isinstance(default[0], tuple) else self.weights)(one.name, default)
        if getattr(hint, "__origin__", hint) is str:
            return self.text(one.name, default, among=bounds.values if isinstance(bounds, Among) else ())
        within = bounds if isinstance(bounds, Within) else Within()
        if getattr(hint, "__origin__", hint) is int:
            return self.whole(one.name, default, low=int(within.low), high=int(within.high))
        return float(self.number(one.name, default, low=within.low, high=within.high))

    def table(self, key: str) -> TomlTable:
        """A table within; empty if absent."""
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self.refuse(key, "must be a table")
        return TomlTable(self._source, self._full(key), value)

    def tables(self, key: str) -> list[TomlTable]:
        """A list of tables; empty if absent."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.refuse(key, "must be a list of tables")
        return [TomlTable(self._source, f"{self._full(key)}[{n}]", v) for n, v in enumerate(value)]

    def names(self, allowed: Sequence[str]) -> list[str]:
        """The keys of a table that maps names to something; each must be one of `allowed`."""
        for name in self._data:
            if name not in allowed:
                near = difflib.get_close_matches(name, allowed, 1, 0.5)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(allowed))}"
                raise self.refuse(name, f"is not known{hint}")
        return list(self._data)

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def done(self) -> None:
        """Raise UsageError if the table has a key that was not read."""
        self.names(self._known)

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        if key in self._data:
            return self._data[key]
        if default is None:
            raise self.refuse(key, "is missing")
        return default

    def _full(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key


def _shown(value: object) -> str:
    """The value as in the file, shortened."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "of more than 300 digits"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"

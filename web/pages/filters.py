"""How templates write values: numbers with their units, and text of unknown origin on one visible line."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from controller.jobs import rates
from core.names import display_name
from experiments.report import words

MISSING = "–"


def plain(value: object) -> str:
    """Text on one line in which nothing hides: control characters, line ends and overrides of direction are spelled
    out as in file names. Escaping is the template's."""
    return display_name(str(value).encode("utf-8", "backslashreplace"))


def spaced(value: object) -> str:
    """`completed_with_exceptions` as words."""
    return str(value).replace("_", " ")


def count(value: float | None) -> str:
    """12,346"""
    return MISSING if value is None else words.count(value)


def figure(value: float | None) -> str:
    """Three significant digits."""
    return MISSING if value is None else words.figure(value)


def size(value: float | None) -> str:
    """Bytes in the unit that suits."""
    return MISSING if value is None else words.size(value)


def duration(value: float | None) -> str:
    """Seconds as `3 min 20 s`."""
    return MISSING if value is None else rates.duration(value)


def share(value: float | None) -> str:
    """0.43 as `43 %`, rounded down, so that only completed work shows 100 %."""
    return MISSING if value is None else rates.percent(value)


def moment(value: datetime.datetime | float | None) -> str:
    """A moment to the second, in UTC; floats are seconds since the epoch."""
    if value is None:
        return MISSING
    at = value if isinstance(value, datetime.datetime) else datetime.datetime.fromtimestamp(value, datetime.UTC)
    return f"{at.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def narrowed(query: str, field: str, name: str) -> str:
    """The query with one more condition: a field that has exactly this name."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'({query}) AND {field}:"{quoted}"'


FILTERS: dict[str, Callable[..., object]] = {
    each.__name__: each for each in (plain, spaced, count, figure, size, duration, share, moment, narrowed)
}

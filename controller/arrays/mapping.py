"""The small TOML file that says what an array's columns mean."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from pathlib import Path

from core.errors import UsageError
from core.options.dates import zone_named
from core.reading import read_problem
from core.toml_table import TomlTable

SEPARATOR = " · "  # between the parts of a stored source's name
COLUMNS = 40
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One quantity: a column of the file, or a query."""

    origin: str  # the column's heading, or the query
    name: str
    unit: str
    counter: bool  # cumulative: what is kept is its growth per second
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvForm:
    """How the file is written. `format` is `iso`, `unix`, `unix_ms` or one of strptime's."""

    time_column: str
    format: str
    zone: tzinfo | None  # of times that do not say it themselves
    delimiter: str
    decimal: str
    encoding: str
    skip_lines: int  # before the headings


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusForm:
    """Where to ask, how finely, and the environment variable that holds a bearer token, if any."""

    url: str
    step_s: float
    token_env: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayMap:
    """The whole file; exactly one of `csv` and `prometheus` is there."""

    name: str
    csv: CsvForm | None
    prometheus: PrometheusForm | None
    columns: tuple[Column, ...]


def read_map(path: Path, name: str | None = None) -> ArrayMap:
    """The map in this file; `name` takes the place of its own. Raises UsageError, which names the key."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(read_problem(f"the map {path}", error)) from error
    form = TomlTable(str(path), "", table)
    columns = form.tables("column")
    csv, prometheus = (form.table(kind) if kind in form else None for kind in ("csv", "prometheus"))
    if (csv is None) is (prometheus is None):
        raise UsageError(f"{path}: needs either [csv] or [prometheus]")
    out = ArrayMap(
        name=array_name(name or form.text("name", path.stem)),
        csv=None if csv is None else _csv(csv),
        prometheus=None if prometheus is None else _prometheus(prometheus),
        columns=tuple(_column(column, "column" if csv is not None else "query") for column in columns),
    )
    form.done()
    names = [column.name for column in out.columns]
    if not names or len(names) > COLUMNS or len(set(names)) < len(names):
        raise UsageError(f"{path}: needs 1 to {COLUMNS} [[column]], each with a name of its own")
    return out


def array_name(name: str) -> str:
    """The same, if it may be one; raises UsageError."""
    if not 0 < len(name) <= 80 or SEPARATOR.strip() in name or not name.isprintable():
        raise UsageError(f"an array's name has 1 to 80 characters and no {SEPARATOR.strip()}, not {name[:90]!r}")
    return name


def _column(table: TomlTable, origin: str) -> Column:
    where = table.text(origin)
    out = Column(
        origin=where,
        name=array_name(table.text("name", where)),
        unit=table.text("unit", "").strip(),
        counter=table.text("kind", "gauge", among=("gauge", "counter")) == "counter",
        scale=table.number("scale", 1.0, low=-1e18),
    )
    if SEPARATOR.strip() in out.unit or len(out.unit) > 40:
        raise table.refuse("unit", f"has at most 40 characters and no {SEPARATOR.strip()}")
    table.done()
    return out


def _csv(table: TomlTable) -> CsvForm:
    zone = table.text("zone", "")
    out = CsvForm(
        time_column=table.text("time"),
        format=table.text("format", "iso"),
        zone=_zone(zone, table) if zone else None,
        delimiter=table.text("delimiter", ","),
        decimal=table.text("decimal", "."),
        encoding=table.text("encoding", "utf-8-sig"),
        skip_lines=table.whole("skip_lines", 0),
    )
    if len(out.delimiter) != 1 or len(out.decimal) != 1 or out.delimiter == out.decimal:
        raise table.refuse("delimiter", "and decimal are one character each, and not the same")
    table.done()
    return out


def _zone(text: str, table: TomlTable) -> tzinfo:
    match = _OFFSET.fullmatch(text)
    if match:
        distance = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-distance if match[1] == "-" else distance)
    if (zone := zone_named(text)) is None:
        raise table.refuse("zone", f"is like Europe/Berlin, UTC or +02:00, not {text}")
    return zone


def _prometheus(table: TomlTable) -> PrometheusForm:
    out = PrometheusForm(
        url=table.text("url").rstrip("/"),
        step_s=table.number("step_s", 1.0, low=1.0),
        token_env=table.text("token_env", ""),
    )
    if not out.url.startswith(("http://", "https://")):
        raise table.refuse("url", "is http:// or https://")
    table.done()
    return out

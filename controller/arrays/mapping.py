"""The small TOML file that defines what an array's columns mean."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import IO, Annotated, Any

from controller.arrays.collectors import BYTES, COLLECTORS, Collector
from core.dates import zone_named
from core.errors import RunFailed, UsageError, read_problem
from core.toml_table import TomlTable, Within

SEPARATOR = " · "  # between the parts of a stored source's name
COLUMNS = 40
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One quantity: a column of the file, or a query."""

    origin: str  # the column's heading, or the query
    name: str
    unit: str
    counter: bool  # cumulative: its growth per second is kept
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvForm:
    """The format of the CSV file: the table [csv]. `format` is `iso`, `unix`, `unix_ms` or a format of strptime."""

    time: str  # the column's heading
    format: str = "iso"
    zone: str = ""  # for times without a time zone of their own
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8-sig"
    skip_lines: int = 0  # before the headings


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusForm:
    """The server's URL, the step of queries, and the environment variable that holds a bearer token, if any: the table
    [prometheus]."""

    url: str
    step_s: Annotated[float, Within(1.0)] = 1.0
    token_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayMap:
    """The whole file; exactly one of `csv` and `prometheus` is given."""

    name: str
    csv: CsvForm | None
    prometheus: PrometheusForm | None
    columns: tuple[Column, ...]


def read_map(path: Path, name: str | None = None) -> ArrayMap:
    """Read the map in this file; `name` replaces its own. Raises UsageError, which names the key."""
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
        raise UsageError(f"{path}: needs 1 to {COLUMNS} [[column]], each with a different name")
    return out


def array_name(name: str) -> str:
    """Return the name if it is valid; raises UsageError if it is not."""
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
    out = table.record(CsvForm)
    if len(out.delimiter) != 1 or len(out.decimal) != 1 or out.delimiter == out.decimal:
        raise table.refuse("delimiter", "and decimal must be one character each, and different")
    if out.zone and zone_of(out.zone) is None:
        raise table.refuse("zone", f"must be a zone such as Europe/Berlin, UTC or +02:00, not {out.zone}")
    return out


def zone_of(text: str) -> tzinfo | None:
    """Return the zone of a name, or of an offset from UTC; None if there is none."""
    if (match := _OFFSET.fullmatch(text)) is None:
        return zone_named(text)
    distance = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-distance if match[1] == "-" else distance)


def _prometheus(table: TomlTable) -> PrometheusForm:
    out = table.record(PrometheusForm)
    if not out.url.startswith(("http://", "https://")):
        raise table.refuse("url", "is http:// or https://")
    return out


Point = tuple[float, float]  # epoch seconds, value


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was skipped, by its line in the file, and the reason."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


@dataclass(frozen=True, slots=True)
class Readings:
    """Points of each column in order of time, and the rows that could not be parsed."""

    points: Mapping[Column, tuple[Point, ...]]
    bad: tuple[BadRow, ...] = ()

    def times(self) -> list[float]:
        """Return every time at which there is a value, in order."""
        return sorted({at for points in self.points.values() for at, _ in points})

    def interval_s(self) -> float:
        """Return the usual interval between the values, at least 1; 1 if there are fewer than two."""
        times = self.times()
        return max(1.0, median(b - a for a, b in pairwise(times))) if len(times) > 1 else 1.0


def converted(column: Column, points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points in the column's unit and in order. A counter becomes its growth per second, at the later time
    of each two; where it decreased it was reset, and there is no value."""
    ordered = sorted(dict(points).items())
    if not column.counter:
        return tuple((at, value * column.scale) for at, value in ordered)
    return tuple(
        (later, (after - before) * column.scale / (later - earlier))
        for (earlier, before), (later, after) in pairwise(ordered)
        if after >= before
    )


SCHEMA = "edbench-counters/1"
_TIMEOUT_S = 30.0
_MB = 1e-6


def collect(
    kind: str,
    command: Sequence[str],
    out: IO[str],
    *,
    name: str,
    now: Callable[[], float],
    wait: Callable[[], bool],
    say: Callable[[str], None],
) -> Iterator[None]:
    """Run the command until `wait` returns false; yield after each moment that was written.

    A moment is half-way between the start of the command and its end. A single failure is reported and skipped. Raises
    UsageError if the first run fails, RunFailed."""
    collector = COLLECTORS[kind]
    first = _asked(collector, command, now)
    _write(out, {"schema": SCHEMA, "kind": kind, "name": name, "command": list(command)})
    _write(out, first)
    yield
    while wait():
        try:
            _write(out, _asked(collector, command, now))
        except UsageError as error:
            say(f"skipped: {error}")
            continue
        yield


def _asked(collector: Collector, command: Sequence[str], now: Callable[[], float]) -> dict[str, Any]:
    began = now()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{command[0]}: {error}") from error
    at = (began + now()) / 2
    if done.returncode:
        raise UsageError(
            f"{command[0]} ended with {done.returncode}: {' '.join((done.stderr or done.stdout).split())[:300]}"
        )
    try:
        values = collector.parse(done.stdout)
    except ValueError as error:
        raise UsageError(f"{command[0]} did not print what `{collector.command}` prints: {error}") from error
    return {"at": round(at, 3), "values": dict(values)}


def _write(out: IO[str], line: Mapping[str, Any]) -> None:
    """Write and flush one line, so that the user loses nothing by ending the collector. Raises RunFailed."""
    try:
        out.write(json.dumps(line, separators=(",", ":")) + "\n")
        out.flush()
    except OSError as error:
        raise RunFailed(f"cannot write the counters: {error.strerror}") from error


def is_collected(path: Path) -> bool:
    """Return whether the file begins with the schema of collected counters."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return SCHEMA in lines.readline(400)
    except OSError:
        return False


def collected_map(path: Path, name: str | None = None) -> ArrayMap:
    """Return the map of a collected file's counters; `name` replaces its own. Raises UsageError."""
    header, moments, _ = _read(path)
    counters = list(dict.fromkeys(key for _, values in moments for key in values))
    if len(counters) > COLUMNS:
        raise UsageError(f"{path} has {len(counters)} counters, and at most {COLUMNS} are allowed")
    columns = tuple(_collected_column(key) for key in counters)
    return ArrayMap(name=array_name(name or str(header.get("name", ""))), csv=None, prometheus=None, columns=columns)


def read_collected(path: Path, mapping: ArrayMap) -> Readings:
    """Return the counts as growth a second. Raises UsageError."""
    _, moments, bad = _read(path)
    points = {
        column: converted(column, [(at, values[column.origin]) for at, values in moments if column.origin in values])
        for column in mapping.columns
    }
    return Readings(points, bad)


def _collected_column(counter: str) -> Column:
    """Return the column of a counter: bytes in MB/s, everything else in ops a second."""
    nbytes = counter.endswith(BYTES)
    return Column(
        origin=counter,
        name=counter.removesuffix(BYTES).strip() if nbytes else counter,
        unit="MB/s" if nbytes else "filer ops/s",
        counter=True,
        scale=_MB if nbytes else 1.0,
    )


def _read(path: Path) -> tuple[dict[str, Any], list[tuple[float, dict[str, float]]], tuple[BadRow, ...]]:
    """Return the header, the moments, and the lines that are not moments. Raises UsageError."""
    try:
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        head = json.loads(header)
        if head["schema"] != SCHEMA:
            raise ValueError(f"schema {head['schema']!r}")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} was not written by `edbench counters collect`: its first line has no schema {SCHEMA}"
        ) from error
    moments, bad = [], []
    for number, line in enumerate(lines, 2):
        try:
            row = json.loads(line)
            moments.append((float(row["at"]), {str(key): float(value) for key, value in row["values"].items()}))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            bad.append(BadRow(number, f"not a sample of a collector: {error!r}"))
    return head, moments, tuple(bad)

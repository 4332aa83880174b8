"""Puts readings of an array onto a job's time axis: `array` observations, which the timeline draws."""

from __future__ import annotations

import csv
import json
import math
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, TextIO

from controller.arrays.mapping import (
    SEPARATOR,
    ArrayMap,
    BadRow,
    Column,
    CsvForm,
    Point,
    PrometheusForm,
    Readings,
    converted,
    is_collected,
    read_collected,
    zone_of,
)
from controller.databases import JobHandle
from core.errors import SystemFault, UsageError, read_problem
from core.program import shown_url
from monitoring.observations import ARRAY, SOURCE_CHARACTERS, Observation
from sql.timeline import TIMELINE

ROWS = 2_000_000


def read_csv(path: Path, mapping: ArrayMap) -> Readings:
    """Return every row that can be parsed. Raises UsageError if the file cannot be read, or lacks a column of the
    map."""
    form = mapping.csv
    if form is None:
        raise UsageError("the map is for Prometheus queries; omit the CSV file, or give a map with [csv]")
    try:
        with path.open(encoding=form.encoding, newline="") as lines:
            return _read(lines, path, form, mapping.columns)
    except LookupError as error:
        raise UsageError(f"{path}: the map names the encoding {form.encoding!r}, which does not exist") from error
    except (OSError, UnicodeError, csv.Error) as error:
        raise UsageError(read_problem(path, error)) from error


def _read(lines: TextIO, path: Path, form: CsvForm, columns: tuple[Column, ...]) -> Readings:
    for _ in range(form.skip_lines):
        next(lines, None)
    rows = csv.reader(lines, delimiter=form.delimiter)
    headings = [heading.strip() for heading in next(rows, [])]
    wanted = {name: _position(name, headings, path) for name in (form.time, *(c.origin for c in columns))}
    points: dict[Column, dict[float, float]] = {column: {} for column in columns}
    bad: list[BadRow] = []
    for count, row in enumerate(rows):
        if count >= ROWS:
            raise UsageError(f"{path} has over {ROWS:,} rows; cut out the job's time")
        if not any(cell.strip() for cell in row):
            continue
        try:
            at = _moment(_cell(row, wanted[form.time], form.time), form)
            values = list(_values(row, wanted, columns, form))
        except ValueError as error:
            bad.append(BadRow(rows.line_num + form.skip_lines, str(error)))
            continue
        for column, value in values:
            if points[column].setdefault(at, value) != value:
                raise UsageError(
                    f"{path}, line {rows.line_num + form.skip_lines}: an earlier row has this time and another"
                    f" {column.origin}; export one object, or the sum of all, with seconds in its times"
                )
    return Readings({column: converted(column, values.items()) for column, values in points.items()}, tuple(bad))


def _position(name: str, headings: list[str], path: Path) -> int:
    if headings.count(name) != 1:
        several = "two columns" if name in headings else "no column"
        raise UsageError(f"{path} has {several} {name!r}; it has {', '.join(headings)[:300]}")
    return headings.index(name)


def _cell(row: list[str], position: int, name: str) -> str:
    if position >= len(row):
        raise ValueError(f"{len(row)} cells, none for {name}")
    return row[position].strip()


def _values(
    row: list[str], wanted: dict[str, int], columns: tuple[Column, ...], form: CsvForm
) -> Iterator[tuple[Column, float]]:
    """Yield the row's values; an empty cell has no value and is no error."""
    for column in columns:
        text = _cell(row, wanted[column.origin], column.origin)
        if not text:
            continue
        try:
            value = float(text.translate(str.maketrans(f".{form.decimal}", "?.")))  # no thousands separators
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{column.origin}: {text[:40]!r} is not a number")
        yield column, value


def _moment(text: str, form: CsvForm) -> float:
    """Return epoch seconds. Raises ValueError with the cause."""
    try:
        if form.format in ("unix", "unix_ms"):
            at = float(text) / (1000 if form.format == "unix_ms" else 1)
            datetime.fromtimestamp(at, UTC)
            return at
        moment = datetime.fromisoformat(text) if form.format == "iso" else datetime.strptime(text, form.format)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text[:40]!r} is not a time of the form {form.format}") from None
    if moment.tzinfo is None:
        if not form.zone:
            raise ValueError(f"{text[:40]!r} has no time zone, and the map has no zone")
        moment = moment.replace(tzinfo=zone_of(form.zone), fold=0)
        if moment.utcoffset() != moment.replace(fold=1).utcoffset():
            raise ValueError(f"{text[:40]!r} occurs twice or never in {form.zone}; export times with their offset")
    return moment.timestamp()


SERIES = 20  # of one query
_POINTS = 10_000  # of one series; Prometheus gives no more than 11,000
_SECONDS = 30.0
_BYTES = 64_000_000


def ask_prometheus(mapping: ArrayMap, start: float, finish: float, env: Mapping[str, str]) -> Readings:
    """Run the map's queries between two times of the array's clock; a query with several series gets a column for each.

    Raises UsageError if the server refuses a query or the answer is unusable, SystemFault if the server is
    unreachable."""
    form = mapping.prometheus
    if form is None:
        raise UsageError("the map is for a CSV file; give the CSV file too")
    step = max(form.step_s, (finish - start) / _POINTS)
    points: dict[Column, tuple[Point, ...]] = {}
    for column in mapping.columns:
        parameters = {"query": column.origin, "start": f"{start:.3f}", "end": f"{finish:.3f}", "step": f"{step:.3f}"}
        for one, values in _series(_ask(form, parameters, env), column):
            if any(one.name == other.name for other in points):
                raise UsageError(f"{column.origin!r} gives a second series {one.name!r}; use other names or labels")
            points[one] = converted(one, values)
    return Readings(points)


def _ask(form: PrometheusForm, parameters: Mapping[str, str], env: Mapping[str, str]) -> Any:
    headers = {"Accept": "application/json"}
    if form.token_env:
        if not env.get(form.token_env):
            raise UsageError(f"{form.token_env} is not set; the map reads the bearer token from it")
        headers["Authorization"] = f"Bearer {env[form.token_env]}"
    url = f"{form.url.rstrip('/')}/api/v1/query_range?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_SECONDS) as answer:
            data = answer.read(_BYTES)
    except urllib.error.HTTPError as error:
        raise UsageError(
            f"{shown_url(form.url)} refused {parameters['query']!r}: {error.code} {_reason(error)}"
        ) from error
    except (OSError, ValueError) as error:  # URLError and time-outs among them
        raise SystemFault(f"{shown_url(form.url)} cannot be queried: {getattr(error, 'reason', error)}") from error
    try:
        return json.loads(data)
    except ValueError as error:
        raise UsageError(f"{shown_url(form.url)} does not answer in the format of Prometheus: {error}") from error


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the message in Prometheus' error response."""
    try:
        return str(json.loads(error.read(10_000))["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def _series(answer: Any, column: Column) -> list[tuple[Column, list[Point]]]:
    try:
        result = answer["data"]["result"]
        if answer["data"]["resultType"] != "matrix":
            raise UsageError(f"{column.origin!r} gives no series over time")
        series = [(one["metric"], [(float(at), float(value)) for at, value in one["values"]]) for one in result]
        names = [
            " ".join((column.name, *(str(v) for k, v in metric.items() if k != "__name__"))) for metric, _ in series
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{column.origin!r} got an answer that is not Prometheus's: {error!r}") from error
    if len(series) > SERIES:
        raise UsageError(
            f"{column.origin!r} gives {len(series)} series, more than {SERIES}; sum some of them in the query"
        )
    if len(series) == 1:
        names = [column.name]
    return [
        (replace(column, name=name), [(at, value) for at, value in values if math.isfinite(value)])
        for name, (_, values) in zip(names, series, strict=True)
    ]


MARGIN_SECONDS = 60.0  # kept before the first claim and after the end, so that the chart shows the load before the job


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The stored and the skipped values. Times are on the database's clock, in epoch seconds."""

    name: str
    sources: tuple[str, ...]
    columns: int
    values: int
    first: float
    last: float
    offset_s: float
    outside: int  # times that were not near the job's
    bad: tuple[BadRow, ...]


def import_array(
    handles: Sequence[JobHandle], mapping: ArrayMap, file: Path | None, offset_s: float, env: Mapping[str, str]
) -> Imported:
    """Read the values, move them by the offset (database's clock less the array's), and store those near the job's
    time.

    Replaces an earlier import of the same name. For a group they are stored with the first job: a group has one
    timeline. Raises UsageError if nothing overlaps the job's time or something cannot be read, SystemFault,
    DatabaseFault."""
    start, finish = job_time(handles)
    readings = read_array(mapping, file, (start, finish), offset_s, env)
    # A value is over the interval before it, so the first one after a short job may be the only one about it.
    near = (start - MARGIN_SECONDS, finish + max(MARGIN_SECONDS, readings.interval_s()))
    seconds = _by_second(mapping.name, readings, near, offset_s)
    try:
        rows = [(second, Observation(ARRAY, source, values)) for (second, source), values in sorted(seconds.items())]
    except ValueError as error:
        raise UsageError(f"{mapping.name}: {error}; use fewer columns") from error
    _store(handles[0], mapping.name, rows)
    times = [at + offset_s for at in readings.times()]
    inside = [at for at in times if near[0] <= at <= near[1]]
    return Imported(
        name=mapping.name,
        sources=tuple(dict.fromkeys(observation.source for _, observation in rows)),
        columns=sum(1 for points in readings.points.values() if points),
        values=sum(len(observation.values) for _, observation in rows),
        first=inside[0],
        last=inside[-1],
        offset_s=offset_s,
        outside=len(times) - len(inside),
        bad=readings.bad,
    )


def read_array(
    mapping: ArrayMap, file: Path | None, span: tuple[float, float], offset_s: float, env: Mapping[str, str]
) -> Readings:
    """Return the array's counters around that time, on its own clock; `file`: None queries Prometheus. Raises
    UsageError if nothing overlaps the time or something cannot be read, SystemFault."""
    if not math.isfinite(offset_s):
        raise UsageError(f"--offset is a number of seconds, not {offset_s}")
    start, finish = span
    if file is not None:
        readings = read_collected(file, mapping) if is_collected(file) else read_csv(file, mapping)
    else:
        asked = (start - MARGIN_SECONDS - offset_s, finish + MARGIN_SECONDS - offset_s)
        readings = ask_prometheus(mapping, *asked, env)
    refuse_no_overlap(readings, start, finish, offset_s)
    return readings


def forget_array(handles: Sequence[JobHandle], name: str) -> int:
    """Remove the values that were imported under this name; return how many seconds they covered. Raises
    DatabaseFault."""
    with handles[0].database.transaction(durable=True) as conn:
        return TIMELINE.drop_array(conn, job=handles[0].id, name=name, separator=SEPARATOR)


def job_time(handles: Sequence[JobHandle]) -> tuple[float, float]:
    """Return the first claim, and the end or now, over all jobs. Raises UsageError before any claim."""
    spans = []
    for handle in handles:
        spans.append(handle.database.ask(TIMELINE.job_time, job=handle.id))
    starts = [span.start for span in spans if span.start is not None]
    if not starts:
        raise UsageError("the job has not started, so it has no time axis")
    return min(starts), max(span.finish for span in spans)


def refuse_no_overlap(readings: Readings, start: float, finish: float, offset_s: float) -> None:
    """Refuse readings without a value within the job's time: raise UsageError with both times. A value describes the
    interval before it, so one may be later by an interval."""
    times = [at + offset_s for at in readings.times()]
    if not times:
        bad = f"; {readings.bad[0]}" if readings.bad else ""
        raise UsageError(f"no values found{bad}")
    if not any(start <= at <= finish + readings.interval_s() for at in times):
        raise UsageError(
            f"no value is within the job's time: the array has {shown(times[0])} to {shown(times[-1])}, the job "
            f"ran {shown(start)} to {shown(finish)}, both UTC; check the zone of the map and --offset"
        )


def shown(at: float) -> str:
    """Format a time in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _by_second(
    name: str, readings: Readings, near: tuple[float, float], offset_s: float
) -> dict[tuple[int, str], dict[str, float]]:
    """Return means by second and source. Columns of one unit share a source, and so a panel."""
    gathered: dict[tuple[int, str], dict[str, list[float]]] = {}
    for column, points in readings.points.items():
        source = source_name(name, column, offset_s)
        for at, value in points:
            if near[0] <= at + offset_s <= near[1]:
                row = gathered.setdefault((int(at + offset_s), source), {})
                row.setdefault(column.name, []).append(value)
    return {key: {column: fmean(values) for column, values in row.items()} for key, row in gathered.items()}


def source_name(name: str, column: Column, offset_s: float) -> str:
    """Return the source's name in the timeline: the array, the unit, and the offset applied to its clock."""
    moved = f"clock {offset_s:+g} s" if offset_s else "clock unchanged"
    return SEPARATOR.join(part for part in (name, column.unit, moved) if part)[:SOURCE_CHARACTERS]


def _store(handle: JobHandle, name: str, rows: Sequence[tuple[int, Observation]]) -> None:
    with handle.database.transaction(durable=True) as conn:
        TIMELINE.drop_array(conn, job=handle.id, name=name, separator=SEPARATOR)
        TIMELINE.put_array(
            conn,
            job=handle.id,
            second=[second for second, _ in rows],
            source=[observation.source for _, observation in rows],
            values=[json.dumps(dict(observation.values)) for _, observation in rows],
        )

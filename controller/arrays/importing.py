"""Puts readings of an array onto a job's time axis: `array` observations, which the timeline draws."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from controller.arrays.collected import is_collected, read_collected
from controller.arrays.csv_file import read_csv
from controller.arrays.mapping import SEPARATOR, ArrayMap, Column
from controller.arrays.prometheus import ask_prometheus
from controller.arrays.readings import BadRow, Readings
from controller.databases import JobHandle
from core.errors import UsageError
from monitoring.observations import ARRAY, SOURCE_CHARACTERS, Observation
from sql.faces.timeline import TIMELINE

MARGIN_SECONDS = 60.0  # kept before the first claim and after the end, so that the drawing shows what was before


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What was stored, and what was not. Times are the database's clock, epoch seconds."""

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
    """Read, move by the offset (database's clock less the array's), keep what is near the job's time, and store.

    Takes the place of what was imported under the same name. Of a group the first job has it, as the timeline is one.
    Raises UsageError when nothing overlaps the job's time or something cannot be read, SystemFault, DatabaseFault.
    """
    start, finish = job_time(handles)
    readings = read_array(mapping, file, (start, finish), offset_s, env)
    seconds = _by_second(mapping.name, readings, (start, finish), offset_s)
    try:
        rows = [(second, Observation(ARRAY, source, values)) for (second, source), values in sorted(seconds.items())]
    except ValueError as error:
        raise UsageError(f"{mapping.name}: {error}; take fewer columns") from error
    _store(handles[0], mapping.name, rows)
    times = [at + offset_s for at in readings.times()]
    inside = [at for at in times if _near(at, start, finish)]
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
    """What the array counted around that time, by its own clock; `file`: None asks Prometheus. Raises UsageError when nothing
    overlaps the time or something cannot be read, SystemFault."""
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
    """Remove what was imported under this name; how many seconds it had. Raises DatabaseFault."""
    with handles[0].database.transaction(durable=True) as conn:
        return TIMELINE.drop_array(conn, job=handles[0].id, name=name, separator=SEPARATOR)


def job_time(handles: Sequence[JobHandle]) -> tuple[float, float]:
    """First claim to the end or now, over all. Raises UsageError before any claim."""
    spans = []
    for handle in handles:
        with handle.database.transaction() as conn:
            spans.append(TIMELINE.job_time(conn, job=handle.id))
    starts = [span.start for span in spans if span.start is not None]
    if not starts:
        raise UsageError("the job has not started, so it has no time axis")
    return min(starts), max(span.finish for span in spans)


def refuse_no_overlap(readings: Readings, start: float, finish: float, offset_s: float) -> None:
    """Raises UsageError that says both times. A value stands for the interval before it, so one may be that late."""
    times = [at + offset_s for at in readings.times()]
    if not times:
        bad = f"; {readings.bad[0]}" if readings.bad else ""
        raise UsageError(f"no values found{bad}")
    if not any(start <= at <= finish + readings.interval_s() for at in times):
        raise UsageError(
            f"no value is within the job's time: the array has {shown(times[0])} to {shown(times[-1])}, the job ran"
            f" {shown(start)} to {shown(finish)}, both UTC; is the map's zone right, or --offset missing?"
        )


def shown(at: float) -> str:
    """A time for people, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _near(at: float, start: float, finish: float) -> bool:
    return start - MARGIN_SECONDS <= at <= finish + MARGIN_SECONDS


def _by_second(
    name: str, readings: Readings, span: tuple[float, float], offset_s: float
) -> dict[tuple[int, str], dict[str, float]]:
    """Means by second and source; columns of one unit are one source, and so one panel."""
    gathered: dict[tuple[int, str], dict[str, list[float]]] = {}
    for column, points in readings.points.items():
        source = source_name(name, column, offset_s)
        for at, value in points:
            if _near(at + offset_s, *span):
                row = gathered.setdefault((int(at + offset_s), source), {})
                row.setdefault(column.name, []).append(value)
    return {key: {column: fmean(values) for column, values in row.items()} for key, row in gathered.items()}


def source_name(name: str, column: Column, offset_s: float) -> str:
    """How the timeline names it: the array, the unit, and by how much its clock was moved."""
    moved = f"clock {offset_s:+g} s" if offset_s else "clock as it was"
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

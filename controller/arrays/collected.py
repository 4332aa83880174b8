"""Counters of a filer that were collected by `edbench counters collect`: JSON lines that say themselves what they hold.

The first line is the header, each other one a moment: seconds since the epoch by the collecting host's clock, and cumulative
counts. A killed collector leaves a file that can be read up to its last whole line.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from controller.arrays.collectors import BYTES, COLLECTORS, Collector
from controller.arrays.mapping import COLUMNS, ArrayMap, Column, array_name
from controller.arrays.readings import BadRow, Readings, converted
from core.errors import RunFailed, UsageError

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
    """Ask until `wait` says that it is over; a turn for each moment that was written. A moment is half-way between question and
    answer.

    What fails once is told and left out; raises UsageError when the first question does not work, RunFailed.
    """
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
    """At once: whoever ends the collector loses nothing. Raises RunFailed."""
    try:
        out.write(json.dumps(line, separators=(",", ":")) + "\n")
        out.flush()
    except OSError as error:
        raise RunFailed(f"cannot write the counters: {error.strerror}") from error


def is_collected(path: Path) -> bool:
    """Whether the file begins as one of these does."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return SCHEMA in lines.readline(400)
    except OSError:
        return False


def collected_map(path: Path, name: str | None = None) -> ArrayMap:
    """What its counters mean; `name` takes the place of its own. Raises UsageError."""
    header, moments, _ = _read(path)
    counters = list(dict.fromkeys(key for _, values in moments for key in values))
    if len(counters) > COLUMNS:
        raise UsageError(f"{path} has {len(counters)} counters, and at most {COLUMNS} are allowed")
    columns = tuple(_column(key) for key in counters)
    return ArrayMap(name=array_name(name or str(header.get("name", ""))), csv=None, prometheus=None, columns=columns)


def read_collected(path: Path, mapping: ArrayMap) -> Readings:
    """Counts as growth a second. Raises UsageError."""
    _, moments, bad = _read(path)
    points = {
        column: converted(column, [(at, values[column.origin]) for at, values in moments if column.origin in values])
        for column in mapping.columns
    }
    return Readings(points, bad)


def _column(counter: str) -> Column:
    """Bytes in MB/s, everything else in ops a second."""
    nbytes = counter.endswith(BYTES)
    return Column(
        origin=counter,
        name=counter.removesuffix(BYTES).strip() if nbytes else counter,
        unit="MB/s" if nbytes else "filer ops/s",
        counter=True,
        scale=_MB if nbytes else 1.0,
    )


def _read(path: Path) -> tuple[dict[str, Any], list[tuple[float, dict[str, float]]], tuple[BadRow, ...]]:
    """Header, moments, and lines that are none. Raises UsageError."""
    try:
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        said = json.loads(header)
        if said["schema"] != SCHEMA:
            raise ValueError(f"schema {said['schema']!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is nothing that `edbench counters collect` writes: {error!r}") from error
    moments, bad = [], []
    for number, line in enumerate(lines, 2):
        try:
            row = json.loads(line)
            moments.append((float(row["at"]), {str(key): float(value) for key, value in row["values"].items()}))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            bad.append(BadRow(number, f"no moment of a collector: {error!r}"))
    return said, moments, tuple(bad)

"""Reads and writes results as JSON, with every type checked and the place of an error named; and their JSON Schema."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from core.errors import RunFailed, UsageError, reading_errors, system_errors
from core.plain import surplus, unambiguous
from experiments.result.schema import SCHEMA, Result
from experiments.workloads import about, names

FILE = "result.json"

T = TypeVar("T")


def decode(kind: type[T], data: object, what: str = "result") -> T:
    """Convert plain data to a dataclass. Raises UsageError naming a field that is missing, unknown or of a wrong
    type."""
    try:
        decoded = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise UsageError(str(error).replace("`$", f"`{what}", 1)) from error
    unknown = surplus(data, msgspec.to_builtins(decoded), what)
    if unknown:
        raise UsageError(f"unknown field {unknown}")
    return decoded


def to_json(result: Result) -> dict[str, Any]:
    """Return a result as plain data."""
    plain: dict[str, Any] = msgspec.to_builtins(result)
    return plain


def from_json(data: object) -> Result:
    """Return the result of plain data. Raises UsageError naming the wrong field."""
    if not isinstance(data, dict):
        raise UsageError(f"an object is expected, not {type(data).__name__}")
    if data.get("schema") != SCHEMA:
        raise UsageError(f"schema is {data.get('schema')!r}; this version reads {SCHEMA}")
    result = decode(about(str(data.get("workload"))).result, data)
    if not result.points or not all(point.repeats for point in result.points):
        raise UsageError("points: every result must have points, and every point repeats")
    return result


def write_result(result: Result, directory: Path) -> Path:
    """Write `result.json` in `directory`. Raises RunFailed if it cannot be written."""
    path = directory / FILE
    with system_errors(RunFailed, f"cannot write the result to {path}"):
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(to_json(result), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def read_result(path: Path) -> Result:
    """Read a result from its file or the directory that contains it. Raises UsageError if it is invalid."""
    file = path / FILE if path.is_dir() else path
    with reading_errors(file, "; give a result.json or its directory"):
        data = unambiguous(file.read_text(encoding="utf-8"))
    try:
        return from_json(data)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error


def json_schema() -> dict[str, Any]:
    """Return JSON Schema 2020-12 with one alternative for each workload whose packages are installed."""
    results = {}
    for name in names():
        with contextlib.suppress(UsageError):  # its package is not installed
            results[name] = about(name).result
    every, defined = msgspec.json.schema_components(results.values(), ref_template="#/$defs/{name}")
    for name, reference in zip(results, every, strict=True):
        defined[reference["$ref"].rpartition("/")[2]]["properties"]["workload"] = {"const": name}
    for schema in defined.values():
        if "properties" in schema:
            schema["additionalProperties"] = False  # unknown fields are refused, not ignored
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "result.json of an experiment. Units are part of the names: _s seconds, _us microseconds.",
        "oneOf": list(every),
        "$defs": dict(sorted(defined.items())),
    }

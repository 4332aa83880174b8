"""The JSON Schema of `result.json`, made from the dataclasses that it is read with."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from core.errors import UsageError
from experiments.result.schema import SCHEMA
from experiments.workloads import about, names


def json_schema() -> dict[str, Any]:
    """One alternative for each workload whose packages are installed; JSON Schema 2020-12."""
    results = {}
    for name in names():
        with contextlib.suppress(UsageError):  # it needs a package that is not here
            results[name] = about(name).result
    every, defined = msgspec.json.schema_components(results.values(), ref_template="#/$defs/{name}")
    for name, reference in zip(results, every, strict=True):
        defined[reference["$ref"].rpartition("/")[2]]["properties"]["workload"] = {"const": name}
    for schema in defined.values():
        if "properties" in schema:
            schema["additionalProperties"] = False  # what is not known is refused, not passed over
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "result.json of an experiment. Units are part of the names: _s seconds, _us microseconds.",
        "oneOf": list(every),
        "$defs": dict(sorted(defined.items())),
    }

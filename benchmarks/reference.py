"""Write the calibration that comes with the product (experiments.capacity.reference): `make bench-model BENCH_ARGS="--reference FILE"`."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

from experiments.result.codec import to_json
from experiments.workloads.discovery.result import Result, Run, Series

_CONDITIONS = ("configuration", "corpus", "emulated_filer")
_RESULT = ("workers", "slots", "items", "raw_bytes", "discovered_bytes", "calls_complete", "phases", "filer")
_HOST = ("processors", "processor_speed")
_EMPTY = Series(calls_per_second=(), database_activity=(), queue_depth=(), worker_cpu=(), latency_stages=(), tasks=())


def write_reference(result: Result, file: Path) -> None:
    """Write what calibration needs of a result: no series over time, no paths, no names of hosts.

    Raises OSError.
    """
    points = tuple(dataclasses.replace(point, repeats=tuple(map(_bare, point.repeats))) for point in result.points)
    conditions = {key: result.conditions[key] for key in _CONDITIONS}
    conditions["corpus"] = {key: value for key, value in conditions["corpus"].items() if key != "path"}
    conditions["hosts"] = [{key: host[key] for key in _HOST if key in host} for host in result.conditions["hosts"]]
    if conditions["emulated_filer"]:
        filer = conditions["emulated_filer"]
        conditions["emulated_filer"] = filer | {"numbers": filer["numbers"] | {"source": filer["name"]}}
    bare = dataclasses.replace(result, points=points, conditions=conditions)
    file.write_bytes(gzip.compress(json.dumps(to_json(bare), separators=(",", ":")).encode(), mtime=0))


def _bare(run: Run) -> Run:
    kept = {key: run.result[key] for key in _RESULT if key in run.result}
    return dataclasses.replace(run, series=_EMPTY, result=kept)

"""The calibration that predictions stand on where no result is given: a measured one that comes with the product."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

from core.errors import UsageError
from core.reading import read_problem
from experiments.result.codec import from_json, to_json
from experiments.workloads.discovery.result import Result, Run, Series, of_discovery

FILE = Path(__file__).parent / "reference.json.gz"
NAME = "the reference calibration"
_CONDITIONS = ("configuration", "corpus", "emulated_filer")
_RESULT = ("workers", "slots", "items", "raw_bytes", "discovered_bytes", "calls_complete", "phases", "filer")
_HOST = ("processors", "processor_speed")
_EMPTY = Series(calls_per_second=(), database_activity=(), queue_depth=(), worker_cpu=(), latency_stages=(), tasks=())


def read_reference() -> Result:
    """Raises UsageError where the installation is not whole."""
    try:
        return of_discovery(from_json(json.loads(gzip.decompress(FILE.read_bytes()))))
    except (OSError, ValueError, UsageError) as error:
        raise UsageError(f"{read_problem(NAME, error)}; install edbench again, or give a result with --from") from error


def write_reference(result: Result, file: Path = FILE) -> None:
    """What calibration needs of a result: no series over time, and nothing of the place where it was made.

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

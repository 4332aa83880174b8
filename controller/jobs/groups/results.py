"""The result of a group: its jobs' results, and their sums from the start of the first to the end of the last."""

from __future__ import annotations

import contextlib
from typing import Any

from controller.jobs.groups.create import Group
from controller.jobs.groups.progress import group_state
from controller.jobs.rates import GB, gb_per_hour, per_second
from controller.jobs.results import cache_of, call_json, job_result
from controller.labels.jobs import read_labels
from controller.labels.rules import ruled
from controller.observe.call_time import call_time
from controller.observe.io_kinds import io_json
from controller.observe.wire import wire_json
from core.names import display_name
from core.records import GroupKind, JobState
from core.settings import Settings
from monitoring.aggregate import calls_by_op_of_jobs

_SUMMED = ("raw_bytes", "discovered_bytes", "index_bytes", "items", "containers", "frames_lost")
_COMMON = (
    "workers",
    "slots",
    "index_engine",
    "passes",
    "fsync",
    "layout",
    "filer",
    "passwords",
    "ocr",
    "storage",
    "versions",
)


def group_result(group: Group, settings: Settings, *, calls_complete: bool = True) -> dict[str, Any]:
    """Everything about a group in plain data: `jobs` has each job's own result, the rest has the keys of a job's.

    `job_id` is the group's id, which every command takes where it takes a job's. `elapsed_s` is from the first
    claim of the first job to the end of the last, on their databases' clocks, pauses included, less the time in which
    all were held at a barrier; rates are over that.
    Beside: `longest_job_s` and its rate, which is what report R1 has. Raises DatabaseFault, UsageError when a job is gone.
    """
    copies = group.row.source_copies
    results = [job_result(handle, settings, calls_complete=calls_complete, copies=copies) for handle in group.jobs]
    for handle, result in zip(group.jobs, results, strict=True):
        result["database"] = handle.database.name
    with contextlib.ExitStack() as stack:
        pairs = [(stack.enter_context(h.database.transaction()), h.id) for h in group.jobs]
        calls = calls_by_op_of_jobs(pairs)
    times = call_time(group.jobs)
    return (
        {
            "job_id": str(group.id),
            "group_id": str(group.id),
            "kind": group.row.kind.value,
            "databases": len(results),
            "source_copies": group.row.source_copies,
            "name": group.row.name,
            "source": display_name(group.row.source),
        }
        | _figures(results)
        | {"calls": {op: call_json(totals, op, times) for op, totals in calls.items()}}
        | {"io": io_json(group.jobs, calls, raw_bytes=sum(one["raw_bytes"] for one in results), copies=copies)}
        | {"call_time": None if times is None else times.to_json()}
        | {key: results[0][key] for key in _COMMON}
        | {"wire": wire_json(group.jobs), "labels": _labels(group, results, settings), "jobs": results}
    )


def _figures(results: list[dict[str, Any]]) -> dict[str, Any]:
    total = {key: sum(result[key] for result in results) for key in _SUMMED}
    longest = max(result["elapsed_s"] for result in results)
    seconds = _start_to_end(results) or longest
    raw, discovered = total["raw_bytes"], total["discovered_bytes"]
    exceptions: dict[str, int] = {}
    phases: dict[str, float] = {}
    for result in results:
        for code, number in result["exceptions"].items():
            exceptions[code] = exceptions.get(code, 0) + number
        for phase, took in result["phases"].items():
            phases[phase] = max(phases.get(phase, 0.0), took)
    return {
        **total,
        "state": group_state([JobState(result["state"]) for result in results]).value,
        "reason": next((result["reason"] for result in results if result["reason"]), None),
        "elapsed_s": round(seconds, 3),
        "longest_job_s": longest,
        "gb_per_hour_discovered_longest_job": round(gb_per_hour(discovered, longest), 3),
        "disturbances": [*dict.fromkeys(line for result in results for line in result["disturbances"])],
        "expansion": round(discovered / raw, 4) if raw else None,
        "gb_per_hour_raw": round(gb_per_hour(raw, seconds), 3),
        "gb_per_hour_discovered": round(gb_per_hour(discovered, seconds), 3),
        "items_per_second": round(per_second(total["items"], seconds), 3),
        "items_per_gb_raw": round(total["items"] / raw * GB) if raw else None,
        "exceptions": exceptions,
        "phases": phases,
        "children": {
            key: sum(result["children"][key] for result in results) for key in ("expected", "emitted", "failed")
        },
        "violations": [line for result in results for line in result["violations"]],
        "calls_complete": all(result["calls_complete"] for result in results),
    }


def _start_to_end(results: list[dict[str, Any]]) -> float | None:
    """Seconds; None while a job has not ended."""
    starts, ends = zip(*(result["span_s"] for result in results), strict=True)
    if None in starts or None in ends:
        return None
    held = [result["held_s"] for result in results]
    common = 0.0 if None in held else max(0.0, min(end for _, end in held) - max(start for start, _ in held))
    return float(max(ends) - min(starts) - common)


def _labels(group: Group, results: list[dict[str, Any]], settings: Settings) -> list[str]:
    """Labels of all jobs together, those of any job once each, and what the jobs read."""
    if group.row.source_copies > 1:
        read = f"each job read its own copy of the source, {group.row.source_copies} in all"
    else:
        read = "all jobs read one source" if group.row.kind is GroupKind.SIMULTANEOUS else "one source, shared out"
    whole = read_labels(group.jobs, cache_of(group.jobs[0], settings))
    beside = (label for result in results for label in result["labels"] if not ruled(label))
    return [*whole, *dict.fromkeys(beside), read]

"""The result of a group: its jobs' results, and their sums from the start of the first to the end of the last."""

from __future__ import annotations

import contextlib
from typing import Any

from controller.jobs.groups.create import Group
from controller.jobs.groups.progress import group_state
from controller.jobs.rates import gb_per_hour
from controller.jobs.results import call_json, job_result, rates_of
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
    results = [job_result(handle, settings, calls_complete=calls_complete) for handle in group.jobs]
    for handle, result in zip(group.jobs, results, strict=True):
        result["database"] = handle.database.name
    with contextlib.ExitStack() as stack:
        pairs = [(stack.enter_context(h.database.transaction()), h.id) for h in group.jobs]
        calls = calls_by_op_of_jobs(pairs)
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
        | group_figures(results)
        | {"calls": {op: call_json(totals) for op, totals in calls.items()}}
        | {key: results[0][key] for key in _COMMON}
        | {"wire": wire_json(group.jobs), "labels": _labels(group, results), "jobs": results}
    )


def group_figures(results: list[dict[str, Any]]) -> dict[str, Any]:
    """What the results of a group's jobs come to."""
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
        **rates_of(raw, discovered, total["items"], seconds),
        "longest_job_s": longest,
        "gb_per_hour_discovered_longest_job": round(gb_per_hour(discovered, longest), 3),
        "disturbances": [*dict.fromkeys(line for result in results for line in result["disturbances"])],
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


def _labels(group: Group, results: list[dict[str, Any]]) -> list[str]:
    """Labels of any job, once each, and what the jobs read."""
    if group.row.source_copies > 1:
        read = f"each job read its own copy of the source, {group.row.source_copies} in all"
    else:
        read = "all jobs read one source" if group.row.kind is GroupKind.SIMULTANEOUS else "one source, shared out"
    return [*dict.fromkeys(label for result in results for label in result["labels"]), read]

"""What is observed of a replay, and the run out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.replay.found import difference_text, found_of
from experiments.result.latency import call_time_of, marked
from experiments.workloads.replay.figures import replayed_latencies
from experiments.workloads.replay.result import ReplayRun
from sql.replay import ReplayClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One replay: what each client told at its end, its histograms among it."""

    repeat: int
    order: int
    emulated: bool
    job_id: str
    job: dict[str, Any]  # as `edbench job --json` has it
    processors: int
    clients: tuple[ReplayClient, ...]
    touched: int  # bytes of the files that were made
    adapted: int  # calls of the trace that ended otherwise than the rest of it explains
    opened: int  # files that no call of the trace opened
    null_calls: int | None = None  # of the same clients on null storage
    null_elapsed_s: float | None = None


def run_of(seen: Observed) -> ReplayRun:
    """Every figure of it; nothing else is asked. Raises RunFailed when a client has no result."""
    all_of = found_of(seen.clients, f"job {seen.job_id}")
    found = all_of.result
    time = call_time_of(seen.job)
    inside = sum(one.service_total_ns for one in found.ops.values()) / 1e9
    return ReplayRun(
        repeat=seen.repeat,
        order=seen.order,
        started_at=all_of.began,
        elapsed_s=found.elapsed_s,
        worker_cpu=found.cpu_s / (found.elapsed_s * seen.processors) if found.elapsed_s else 0.0,
        run_queue_share=all_of.run_queue_s / inside if inside else None,
        null_elapsed_s=seen.null_elapsed_s,
        latency=replayed_latencies(found, response=True),
        emulated=seen.emulated,
        job_id=seen.job_id,
        prepared_s=all_of.prepared_s,
        calls=found.calls,
        errors=found.errors,
        bytes=found.bytes,
        differences={difference_text(one): one.calls for one in found.differences},
        calls_per_second=found.calls / found.elapsed_s if found.elapsed_s else 0.0,
        service=marked(replayed_latencies(found, response=False), time),
        call_time=time,
        per_second=found.by_second,
        late_s=found.lateness_max_ns / 1e9,
        waited_s=found.waited_s,
        null_calls=seen.null_calls,
        job=seen.job,
    )

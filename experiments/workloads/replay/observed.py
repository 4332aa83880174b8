"""What is observed of a replay, and the run out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controller.replay.outcome import difference_text, outcome_of
from experiments.result.latency import call_time_of, marked
from experiments.result.schema import Steady
from experiments.result.steady import judged
from experiments.workloads.replay.backlog import backlogs
from experiments.workloads.replay.figures import replayed_latencies
from experiments.workloads.replay.result import ReplayRun
from replay.result import ClientResult
from sql.replay import ReplayClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One replay: what each client told at its end, its histograms among it."""

    repeat: int
    order: int
    emulated: bool
    job_id: str
    job: dict[str, Any]  # as `edbench job show -o json` has it
    processors: float
    clients: tuple[ReplayClient, ...]
    touched: int  # bytes of the files that were made
    adapted: int  # calls of the trace that ended otherwise than the rest of it explains
    opened: int  # files that no call of the trace opened
    streams: tuple[tuple[str, ...], ...] = ()  # that each client played, as worker/slot
    data_sets: int | None = None
    hosts: tuple[dict[str, Any], ...] = ()  # members: share, clock, meters (core.crew.messages)
    null_calls: int | None = None  # of the same clients on null storage
    null_elapsed_s: float | None = None


def run_of(seen: Observed) -> ReplayRun:
    """Every figure of it; nothing else is asked. Raises RunFailed when a client has no result."""
    all_of = outcome_of(seen.clients, f"job {seen.job_id}")
    merged = all_of.result
    time = call_time_of(seen.job)
    inside = sum(one.service_total_ns for one in merged.ops.values()) / 1e9
    return ReplayRun(
        repeat=seen.repeat,
        order=seen.order,
        started_at=all_of.began,
        elapsed_s=merged.elapsed_s,
        worker_cpu=merged.cpu_s / (merged.elapsed_s * seen.processors) if merged.elapsed_s else 0.0,
        run_queue_share=all_of.run_queue_s / inside if inside else None,
        null_elapsed_s=seen.null_elapsed_s,
        latency=replayed_latencies(merged, response=True),
        emulated=seen.emulated,
        job_id=seen.job_id,
        prepared_s=all_of.prepared_s,
        calls=merged.calls,
        errors=merged.errors,
        bytes=merged.bytes,
        differences={difference_text(one): one.calls for one in merged.differences},
        calls_per_second=merged.calls / merged.elapsed_s if merged.elapsed_s else 0.0,
        service=marked(replayed_latencies(merged, response=False), time),
        call_time=time,
        steady=_steadiness(merged),
        per_second=merged.by_second,
        due_per_second=merged.due_by_second,
        offered_per_second=merged.calls / merged.last_due_s if merged.last_due_s else None,
        response_mean_us=_mean_us(merged, [one.response_total_ns for one in merged.ops.values()]),
        service_mean_us=_mean_us(merged, [one.service_total_ns for one in merged.ops.values()]),
        late_s=merged.lateness_max_ns / 1e9,
        backlog=backlogs(seen.clients, seen.streams),
        data_sets=seen.data_sets,
        waited_s=merged.waited_s,
        null_calls=seen.null_calls,
        job=seen.job,
    )


def _mean_us(merged: ClientResult, totals_ns: Sequence[int]) -> float | None:
    return sum(totals_ns) / merged.calls / 1000 if merged.calls else None


def _steadiness(merged: ClientResult) -> tuple[Steady, ...]:
    """Of the whole replay; where calls had intended starts, of those that ended against those that were due."""
    one = judged("calls", _by_second(merged.by_second), 0.0, merged.elapsed_s, due=_by_second(merged.due_by_second))
    return () if one is None else (one,)


def _by_second(calls: Sequence[int]) -> list[tuple[float, float]]:
    return [(float(second), float(number)) for second, number in enumerate(calls)]

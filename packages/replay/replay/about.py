"""Replay: the storage calls of one trace, made by clients on one storage after another (docs/replay.md)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from core.extensions import imported
from experiments.report import words
from experiments.workload import ELAPSED, About, Figure, Same, percentile
from replay.local import MARK
from replay.runs import ALL, NAME, RATE, Observed, ReplayPoint, ReplayResult, ReplayRun, in_calls, run_of
from replay.wording import ReplayWording


def near_null(runs: Sequence[ReplayRun]) -> str | None:
    """Return why the storage hardly mattered; None if it did, or if the ceiling is not known."""
    tops = [run.ceiling for run in runs if run.ceiling]
    if not tops:
        return None
    rate, top = statistics.median(run.calls_per_second for run in runs), statistics.median(tops)
    if (share := rate / top) <= MARK:
        return None
    return (
        f"{rate:,.0f} calls/s are {share:.0%} of the {top:,.0f} that the same clients reach on null storage (over "
        f"{MARK:.0%})"
    )


def _mean(name: str, of: Callable[[ReplayRun], float | None]) -> Figure:
    return Figure(name=f"{name}_mean_us", title=f"{name} mean", of=of, write=words.microseconds, unit="µs")


ABOUT = About(
    name=NAME,
    title="replay",
    result=ReplayResult,
    point=ReplayPoint,
    figures=(
        Figure(name=RATE, title="calls/s", of=lambda run: run.calls_per_second, headline=True, write=words.figure),
        ELAPSED,
        Figure(
            name="offered",
            title="offered",
            of=lambda run: run.offered_per_second,
            write=words.figure,
            unit="calls/s",
            missing="as fast as it goes",
        ),
        _mean("response", lambda run: run.response_mean_us),
        percentile("response p50", ALL),
        percentile("response p99", ALL, headline=True),
        _mean("service", lambda run: run.service_mean_us),
        percentile("service p50", ALL, of=lambda run: run.service),
        percentile("service p99", ALL, of=lambda run: run.service),
        Figure(
            name="backlog_s",
            title="behind",
            of=lambda run: run.backlog[0].seconds if run.backlog else None,
            write=words.seconds,
            unit="s",
            aside=True,
        ),
        Figure(
            name="backlog_calls",
            title="behind",
            of=lambda run: max(one.calls for one in run.backlog) if run.backlog else None,
            write=words.count,
            unit="calls",
            aside=True,
        ),
        Figure(
            name="ceiling",
            title="ceiling",
            of=lambda run: run.ceiling,
            write=words.count,
            unit="calls/s",
            once=True,
            missing="not known",
        ),
    ),
    sections=lambda result: imported("replay.report:sections")(result),  # draws: matplotlib is slow to come
    notes={
        "job": lambda run: run.job_id[:8],
        "prepared_s": lambda run: run.prepared_s,
        "client_cpu": lambda run: run.worker_cpu,
        "run_queue_share": lambda run: run.run_queue_share,
        "late_s": lambda run: run.late_s,
        "waited_s": lambda run: run.waited_s,
        "calls": lambda run: run.calls,
        "errors": lambda run: run.errors,
        "bytes": lambda run: run.bytes,
        "not_as_recorded": lambda run: sum(run.differences.values()),
    },
    same=(Same(name="trace hash", path=("trace", "hash")),),
    aside=("storage", "peak"),
    offered=lambda run: run.offered_per_second,
    mean_response_us=lambda run: run.response_mean_us,
    makers="clients",
    in_calls=in_calls,
    near_null=near_null,
    rule=(
        f"GENERATOR-LIMITED is a point above {MARK:.0%} of its ceiling: the calls/s of the same clients on null "
        "storage (no data, nothing kept) without think time, measured once for each number of clients."
    ),
    doubt=lambda result: result.fidelity is not None and result.fidelity.passed is False,
    raw=lambda: Observed,
    run_of=run_of,
    wording=ReplayWording,
    trusted=(
        "the figures of the recording: the package contains the hash of the trace, not the trace",
        "histograms of each client over the whole replay; none by second are stored",
        "the parts of the time inside calls (call_time, percentiles marked for it) and every kind of I/O (io of "
        "its job): their readings are not stored",
        "observations of hosts, mounts, dropped caches, the job and an emulated filer's stations",
    ),
)

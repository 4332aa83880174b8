"""Results of experiments for tests of the report: plausible, fully filled, and the same on every call."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from experiments.result.schema import Estimate, Latency
from experiments.workloads.discovery.result import ELAPSED, NAME, NULL, RATE, RAW, Point, PointSpec, Result, Run, Series

OPS = ("scan", "stat", "open", "read", "create", "write", "close", "rename")


def estimate(values: Sequence[float]) -> Estimate:
    """Median and range of the values."""
    middle = sorted(values)[len(values) // 2]
    many = len(values) > 1
    return Estimate(
        median=middle, low=min(values) if many else None, high=max(values) if many else None,
        coverage=1 - 0.5 ** (len(values) - 1) if many else None, n=len(values),
    )  # fmt: skip


def latencies(factor: float = 1.0) -> dict[str, Latency]:
    """One latency for each op, `factor` times the usual."""
    return {
        op: Latency(calls=1000 * (n + 1), bytes=5_000_000 * n if op in ("read", "write") else 0, errors=n,
                    p50_us=20.0 * factor * (n + 1), p95_us=90.0 * factor * (n + 1), p99_us=400.0 * factor * (n + 1),
                    max_us=9000.0 * factor * (n + 1))
        for n, op in enumerate(OPS)
    }  # fmt: skip


def _series(workers: int, slots: int, databases: int, elapsed: float, names: Sequence[str], filer: bool) -> Series:
    seconds = range(max(1, math.ceil(elapsed)))
    shape = [math.sin(math.pi * (s + 0.5) / len(seconds)) for s in seconds]
    return Series(
        calls_per_second=tuple(
            (float(s), {op: int(60 * workers**0.8 * shape[s] * (n + 1)) for n, op in enumerate(OPS)}) for s in seconds
        ),
        database_activity=tuple(
            (float(s + 1), {f"db{d + 1}": {"commits": int(9 * workers * shape[s]), "rows": int(700 * shape[s])}
                            for d in range(databases)}) for s in seconds
        ),
        queue_depth=tuple(
            (float(s), int(40 * shape[s]), min(8, int(20 * shape[s])), int(workers * slots * shape[s] + 0.5))
            for s in seconds
        ),
        worker_cpu=tuple((float(s), min(0.95, 0.2 * workers * shape[s])) for s in seconds),
        latency_stages=(latencies(0.8), latencies(), latencies(1.4)),
        tasks=tuple(
            (name, slot, phase, elapsed * start, elapsed * (end - 0.005 * slot))
            for name in names for slot in range(slots)
            for phase, start, end in (("walk", 0.0, 0.05), ("expand", 0.1, 0.4), ("index", 0.45, 0.97))
        ),
        filer=tuple((float(s), {"metadata": {"utilisation": shape[s], "wait_us": 900 * shape[s]}}) for s in seconds)
        if filer else (),
    )  # fmt: skip


def job(databases: int, elapsed: float, raw: int) -> dict[str, Any]:
    """A job's result as `discover --json` writes it, as far as the report reads it; with several databases the group's."""
    one = {
        "state": "completed_with_exceptions", "elapsed_s": elapsed, "raw_bytes": raw,
        "discovered_bytes": int(raw * 1.68), "index_bytes": raw // 2, "index_written_bytes": raw // 2, "items": 2400,
        "phases": {"walk": elapsed * 0.05, "expand": elapsed * 0.35, "index": elapsed * 0.55, "finalise": elapsed * 0.05},
        "calls": {op: {"count": 1000 * (n + 1)} for n, op in enumerate(OPS)},
        "exceptions": {"encrypted": 2, "zero_bytes": 3},
    }  # fmt: skip
    if databases == 1:
        return one
    jobs = [one | {"elapsed_s": elapsed * (1 - 0.1 * d)} for d in range(databases)]
    return {"elapsed_s": elapsed, "databases": databases, "jobs": jobs}


def run(
    workers: int, *, slots: int = 4, databases: int = 1, repeat: int = 0, order: int = 0, filer: bool = True,
    rate: float | None = None, names: Sequence[str] | None = None,
) -> Run:  # fmt: skip
    """One run whose rate grows less than linearly with its workers."""
    raw = 90_000_000
    discovered = raw * 1.68 * databases
    gb_per_hour = (40 * workers**0.8 * databases**0.5 if rate is None else rate) * (1 + 0.01 * repeat)
    elapsed = discovered / 1e9 / gb_per_hour * 3600
    return Run(
        repeat=repeat, order=order, result=job(databases, elapsed, raw), started_at=1_790_000_000.0 + 60 * order,
        elapsed_s=elapsed, gb_per_hour_raw=gb_per_hour / 1.68, gb_per_hour_discovered=gb_per_hour,
        worker_cpu=min(0.9, 0.1 * workers), run_queue_s=0.5 * workers, call_time_s=20.0, run_queue_share=0.025 * workers,
        first_done_s=elapsed * 0.9, last_done_s=elapsed * 0.97, null_elapsed_s=elapsed / 2, latency=latencies(workers**0.5),
        series=_series(workers, slots, databases, elapsed, names or [f"worker-{w + 1}" for w in range(workers)], filer),
    )  # fmt: skip


def point(workers: int, *, repeats: int = 3, slots: int = 4, databases: int = 1, limited: bool = False,
          runs: Sequence[Run] | None = None) -> Point:  # fmt: skip
    """A point with that many repeats, or with the given ones."""
    every = tuple(runs or (run(workers, slots=slots, databases=databases, repeat=r, order=r) for r in range(repeats)))
    return Point(
        at=PointSpec(databases, workers, slots), repeats=every,
        figures={
            ELAPSED: estimate([r.elapsed_s for r in every]), RAW: estimate([r.gb_per_hour_raw for r in every]),
            RATE: estimate([r.gb_per_hour_discovered for r in every]),
            NULL: estimate([r.null_elapsed_s for r in every if r.null_elapsed_s is not None]),
        },
        limited=limited, limits=("elapsed is 1.10 times that on null storage, under 1.3",) if limited else (),
    )  # fmt: skip


def result(*points: Point, kind: str = "scale-up", **fields: Any) -> Result:
    """A result of the points; 1 and 2 workers where none are given."""
    base = Result(
        workload=NAME, kind=kind, axis="databases" if kind == "scale-out" else "workers", run_id="20261121-034500-scale-up", created=1_790_000_000.0,
        verdict="EMULATED FILER titan, scale 1/50: 2 workers reach 1.74 times the rate of 1",
        labels=("EMULATED FILER titan, scale 1/50", "latencies are closed-loop"),
        warnings=("a point ran for less than 10 minutes",),
        conditions={"corpus": {"hash": "503e2127", "expansion": 1.68}, "fsync": "none", "mounts": [{"type": "ext4"}],
                    "cache": {"dropped": [], "not_dropped": ["page cache"]}, "free_bytes": 12345678},
        points=points or (point(1), point(2)),
    )  # fmt: skip
    return dataclasses.replace(base, **fields)


def without_series(one: Result) -> Result:
    """The same result without any series, latency or phase: as an interrupted collection would leave it."""
    nothing = Series(
        calls_per_second=(), database_activity=(), queue_depth=(), worker_cpu=(), latency_stages=(), tasks=()
    )
    points = tuple(
        dataclasses.replace(p, figures={k: v for k, v in p.figures.items() if k != NULL}, repeats=tuple(
            dataclasses.replace(r, series=nothing, latency={}, null_elapsed_s=None, run_queue_share=None,
                                first_done_s=None, last_done_s=None,
                                result={k: v for k, v in r.result.items() if k not in ("phases", "calls")})
            for r in p.repeats))
        for p in one.points
    )  # fmt: skip
    return dataclasses.replace(one, points=points)

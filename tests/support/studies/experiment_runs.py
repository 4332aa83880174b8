"""Runs and results with chosen figures, for tests of what is concluded from them."""

from typing import Any

from experiments.result.schema import Latency
from experiments.result.verdict import points_of
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.result import NAME, Point, PointSpec, Result, Run, Series

CONDITIONS: dict[str, Any] = {
    "configuration": {"passes": 2, "fsync": "none", "limits": {"depth": 16}},
    "corpus": {"hash": "abc", "raw_bytes": 1_000_000},
    "expansion": 1.67,
    "storage": {"label": "local storage (ext4)"},
}


def latency(p99_us: float) -> Latency:
    return Latency(calls=10, bytes=0, errors=0, p50_us=1.0, p95_us=2.0, p99_us=p99_us, max_us=p99_us)


def a_run(elapsed: float = 10.0, *, discovered: int = 10**9, p99_us: float = 5.0, **changes: Any) -> Run:
    figures: dict[str, Any] = {
        "repeat": 0,
        "order": 0,
        "result": {"discovered_bytes": discovered, "items": 100, "calls_complete": True},
        "started_at": 0.0,
        "elapsed_s": elapsed,
        "gb_per_hour_raw": discovered / 2e9 / elapsed * 3600,
        "gb_per_hour_discovered": discovered / 1e9 / elapsed * 3600,
        "worker_cpu": 0.2,
        "run_queue_s": 0.0,
        "call_time_s": 1.0,
        "run_queue_share": 0.0,
        "first_done_s": 9.0,
        "last_done_s": 9.5,
        "null_elapsed_s": elapsed / 3,
        "latency": {"read": latency(p99_us)},
        "series": Series(
            calls_per_second=((0.0, {"read": 3}),),
            database_activity=((1.0, {"db1": {"commits": 1, "rows": 2}}),),
            queue_depth=((1.0, 3, 2, 1),),
            worker_cpu=((1.0, 0.5),),
            latency_stages=({"read": latency(1.0)}, {}, {}),
            tasks=(("w1", 0, "walk", 0.0, 1.0),),
            filer=((1.0, {"data": {"utilisation": 0.5, "wait_us": 3.0}}),),
        ),
    }
    return Run(**figures | changes)


def points(runs: dict[PointSpec, list[Run]], least_s: float | None = None) -> tuple[Point, ...]:
    return points_of(ABOUT, runs, least_s)


def a_result(runs: dict[PointSpec, list[Run]], *, kind: str = "scale-up", **conditions: Any) -> Result:
    return Result(
        workload=NAME,
        kind=kind,
        axis="databases" if kind == "scale-out" else "workers",
        run_id="run",
        created=0.0,
        verdict="said",
        labels=(),
        warnings=(),
        conditions=CONDITIONS | conditions,
        points=points(runs),
    )

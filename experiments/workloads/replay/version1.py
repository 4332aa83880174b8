"""Results of `edbench-replay/1`: every point was one replay, and its figures were the point's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from experiments.result.statistics import estimate
from experiments.workloads.replay.result import ALL, NAME, RATE

_RENAMED = {"began": "started_at", "client_cpu": "worker_cpu", "response": "latency"}


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """As version 2 has it; raises KeyError and the like for what is no result."""
    knee, points = data["knee"], data["points"]
    if knee is not None:
        rates = [point[RATE] for point in points]
        at = next((n for n, point in enumerate(points) if point["clients"] == knee["clients"]), None)
        knee = {key: knee[key] for key in ("bounds_us", "broken")} | {"peak": rates.index(max(rates)), "knee": at}
    rest = {"workload": NAME, "kind": "knee" if knee else "sweep", "axis": "clients", "knee": knee}
    return data | rest | {"points": [_point(point, order) for order, point in enumerate(points)]}


def _point(point: dict[str, Any], order: int) -> dict[str, Any]:
    run = {_RENAMED.get(key, key): value for key, value in point.items()}
    at = {name: run.pop(name) for name in ("storage", "clients")}
    limits = {name: run.pop(name) for name in ("limited", "limits")}
    top = run.pop("ceiling") or {"calls": None, "elapsed_s": None, RATE: None}
    run |= {"repeat": 0, "order": order, "null_elapsed_s": top["elapsed_s"], "null_calls": top["calls"]}
    figures = {RATE: run[RATE], "elapsed_s": run["elapsed_s"], "ceiling": top[RATE]}
    for name, times in (("response", run["latency"]), ("service", run["service"])):
        if ALL in times:
            figures |= {f"{name}_{tail}_us": times[ALL][f"{tail}_us"] for tail in ("p50", "p99")}
    known = {name: asdict(estimate([value])) for name, value in figures.items() if value is not None}
    return {"at": at, "figures": known, "repeats": [run], **limits}

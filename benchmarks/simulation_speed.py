"""How long the capacity model's simulation takes for 100 workers and a million items, on one core."""

from __future__ import annotations

import time
from typing import Any

from experiments.capacity.network import DATABASE, Job, Kind, Network, Phase, Station
from experiments.capacity.simulation import MOST_UNITS, batched, simulate

WORKERS, ITEMS = 100, 1_000_000


def a_large_job() -> Network:
    """Three phases of a million items each, six stations, a queue manager with its window."""
    asks = {"wire": 0.01, "metadata": 0.0003, "data": 0.0002, "link": 0.0002, DATABASE: 0.0004, "processors": 0.02}
    phases = tuple(Phase(name=name, units=ITEMS, demands=asks) for name in ("walk", "expand", "index"))
    return Network(
        stations=(
            Station(name="wire", kind=Kind.DELAY),
            Station(name="metadata"),
            Station(name="data"),
            Station(name="link"),
            Station(name="processors", servers=2 * WORKERS),
        ),
        databases=(Station(name="db1"),),
        jobs=(Job(name="job", phases=phases),),
        workers=WORKERS,
        window=8 * WORKERS,
        dispatch_s=0.00002,
    )


def measure() -> dict[str, dict[str, Any]]:
    """Seconds of the processor."""
    began = time.process_time()
    run = simulate(batched(a_large_job()), seed=1)
    seconds = time.process_time() - began
    note = f"{WORKERS} workers x {ITEMS:,} items in three phases, in at most {MOST_UNITS:,} batches; limit {run.limit}"
    return {"simulation": {"value": seconds, "unit": "s of one core", "target": 60, "at_most": True, "note": note}}

"""Results of replays, made up for reports."""

from __future__ import annotations

import dataclasses
from typing import Any

from experiments.replay.fidelity import fidelity
from experiments.replay.result import ALL, SCHEMA, Ceiling, RecordedFigures, ReplayPoint, ReplayResult
from experiments.replay.verdict import labels_of, limits_of, verdict_of, warnings_of
from experiments.result import Latency

LOCAL = "local storage (ext4)"
EMULATED = "EMULATED FILER nas-1g, scale 1/1"


def latency(p50: float, calls: int = 1000, **changes: Any) -> Latency:
    """Microseconds; p95 and p99 are twice and four times the p50."""
    made = Latency(
        calls=calls, bytes=calls * 4096, errors=1, p50_us=p50, p95_us=2 * p50, p99_us=4 * p50, max_us=9 * p50
    )
    return dataclasses.replace(made, **changes)


def recorded(streams: int = 4, rate: float = 1000.0) -> RecordedFigures:
    calls = int(rate * 10)
    return RecordedFigures(
        path="/traces/job.edbtrace",
        streams=streams,
        calls=calls,
        errors=7,
        bytes=calls * 4096,
        elapsed_s=10.0,
        calls_per_second=rate,
        latency={"open": latency(300), "read": latency(500), "write": latency(900, calls=50), ALL: latency(400)},
        per_second=tuple(int(rate) + 10 * second for second in range(10)),
        nodes=1234,
        lost=0,
        origin={"job": "1f3c", "filer": {"name": "nas-1g", "scale": 1.0, "digest": "d1"}},
        emulated=EMULATED,
    )


def point(clients: int, rate: float, factor: float = 1.0, top: float | None = 100_000.0, **changes: Any) -> ReplayPoint:
    """`factor`: times the recorded latencies."""
    ceiling = None if top is None else Ceiling(calls=10_000, elapsed_s=10_000 / top, calls_per_second=top)
    service = {"open": latency(300 * factor), "read": latency(500 * factor), ALL: latency(400 * factor)}
    limits = limits_of(rate, ceiling, 0.3, 0.02)
    made = ReplayPoint(
        storage=EMULATED,
        emulated=True,
        clients=clients,
        job_id="0b5c1f6e-0000-4000-8000-000000000000",
        began=1_700_000_000.0,
        prepared_s=1.5,
        elapsed_s=10.0,
        calls=int(rate * 10),
        errors=7,
        bytes=int(rate * 10) * 4096,
        differences={},
        calls_per_second=rate,
        response={op: dataclasses.replace(one, p99_us=one.p99_us * 1.5) for op, one in service.items()},
        service=service,
        per_second=tuple(int(rate) for _ in range(10)),
        late_s=0.004,
        waited_s=0.2,
        client_cpu=0.3,
        run_queue_share=0.02,
        ceiling=ceiling,
        limited=bool(limits),
        limits=limits,
        job={"workers": 1, "versions": {"edbench": "0"}},
    )
    return dataclasses.replace(made, **changes)


def result(*points: ReplayPoint, **changes: Any) -> ReplayResult:
    """Of a trace of four streams, at recorded speed."""
    figures = recorded()
    same = [one for one in points if one.clients == figures.streams]
    judged = fidelity(figures, same[0]) if same else None
    labels = labels_of(points, touched=10**9, memory=10**8)
    made = ReplayResult(
        schema=SCHEMA,
        run_id="replay-20260101-000000-abcdef",
        created=1_700_000_000.0,
        verdict=verdict_of(labels, LOCAL, points, "recorded", judged, changes.get("knee")),
        labels=labels,
        warnings=warnings_of(figures, points, no_ceiling=None, adapted=0),
        conditions={"speed": "recorded", "targets": [{"path": "/mnt/<a & b>"}]},
        recorded=figures,
        points=points,
        fidelity=judged,
    )
    return dataclasses.replace(made, **changes)

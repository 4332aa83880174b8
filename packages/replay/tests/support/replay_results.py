"""Results of replays, made up for reports."""

import dataclasses
from typing import Any

from experiments.result.schema import Latency
from experiments.result.verdict import labels_of, points_of, sentence
from replay.about import ABOUT
from replay.runs import ALL, Load, RecordedFigures, ReplayPoint, ReplayResult, ReplayRun, fidelity
from replay.wording import as_recorded, warnings_of

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


def run(rate: float, factor: float = 1.0, top: float | None = 100_000.0, **changes: Any) -> ReplayRun:
    """`factor`: times the recorded latencies."""
    service = {"open": latency(300 * factor), "read": latency(500 * factor), ALL: latency(400 * factor)}
    made = ReplayRun(
        repeat=0,
        order=0,
        started_at=1_700_000_000.0,
        elapsed_s=10.0,
        worker_cpu=0.3,
        run_queue_share=0.02,
        null_elapsed_s=None if top is None else 10_000 / top,
        latency={op: dataclasses.replace(one, p99_us=one.p99_us * 1.5) for op, one in service.items()},
        emulated=True,
        job_id="0b5c1f6e-0000-4000-8000-000000000000",
        prepared_s=1.5,
        calls=int(rate * 10),
        errors=7,
        bytes=int(rate * 10) * 4096,
        differences={},
        calls_per_second=rate,
        service=service,
        per_second=tuple(int(rate) for _ in range(10)),
        late_s=0.004,
        waited_s=0.2,
        null_calls=None if top is None else 10_000,
        job={"workers": 1, "versions": {"edbench": "0"}},
    )
    return dataclasses.replace(made, **changes)


def point(
    clients: int,
    rate: float,
    factor: float = 1.0,
    top: float | None = 100_000.0,
    storage: str = EMULATED,
    **changes: Any,
) -> ReplayPoint:
    """With one repeat."""
    return repeated(clients, [run(rate, factor, top, emulated=storage == EMULATED, **changes)], storage)


def repeated(clients: int, runs: list[ReplayRun], storage: str = EMULATED) -> ReplayPoint:
    """With these repeats."""
    (found,) = points_of(ABOUT, {Load(storage, clients): runs})
    assert isinstance(found, ReplayPoint)
    return found


def result(*points: ReplayPoint, **changes: Any) -> ReplayResult:
    """Of a trace of four streams, at recorded speed."""
    figures = recorded()
    same = [one for one in points if one.at.clients == figures.streams]
    emulated = [one.at.storage if one.run.emulated else None for one in points]
    labels = labels_of(points, emulated, cached=True)
    knee = changes.get("knee")
    kind = "knee" if knee else "sweep"
    shown = sentence(
        ABOUT, kind, "clients", points, where=LOCAL, pace="at recorded speed", found=[knee] if knee else ()
    )
    made = ReplayResult(
        workload="replay",
        kind="knee" if knee else "sweep",
        axis="clients",
        run_id="replay-20260101-000000-abcdef",
        created=1_700_000_000.0,
        verdict="",
        labels=labels,
        warnings=tuple(warnings_of(figures, points, adapted=0)),
        conditions={
            "configuration": {"pace": "schedule"},
            "trace": {"hash": "t"},
            "targets": [{"path": "/mnt/<a & b>"}],
        },
        recorded=figures,
        points=points,
        fidelity=fidelity(figures, same[0]) if same else None,
    )
    made = dataclasses.replace(made, verdict="; ".join([*labels, shown, *as_recorded(made)]))
    return dataclasses.replace(made, **changes)

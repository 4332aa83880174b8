"""Whether a replay gives what was recorded: calls a second and the latency distribution at p50 and p99, or the elapsed time."""

from __future__ import annotations

from experiments.result.schema import Latency
from experiments.workloads.replay.result import ALL, RATE, Compared, Fidelity, RecordedFigures, ReplayPoint

RATE_BOUND = 0.05  # calls a second
LATENCY_BOUND = 0.10  # p50 and p99 of all calls
ELAPSED = "elapsed"
ELAPSED_BOUND = 0.05  # in a closed loop
_LEAST_CALLS = 100  # of an op, before its p99 is shown: below, it is one call's latency


def fidelity(recorded: RecordedFigures, point: ReplayPoint, *, same_filer: bool = True) -> Fidelity:
    """The replay beside the trace. On another filer than that of the recording (`same_filer`) nothing is judged.

    Compared is the service time: what was recorded is from the actual start to the end, too.
    """
    rate, tail = (RATE_BOUND, LATENCY_BOUND) if same_filer else (None, None)
    rows = [_compared("calls a second", recorded.calls_per_second, point.figures[RATE].median, rate, "calls/s")]
    rows += _latencies("all calls", recorded.latency.get(ALL), point.run.service.get(ALL), tail)
    for op, latency in recorded.latency.items():
        if op != ALL:
            rows += _latencies(op, latency, point.run.service.get(op), None)
    passed = all(row.kept for row in rows if row.bound) if same_filer else None
    return Fidelity(storage=point.storage, rows=tuple(rows), passed=passed)


def closed_fidelity(recorded: RecordedFigures, point: ReplayPoint, *, same_filer: bool) -> Fidelity:
    """The same in a closed loop: judged is how long it took, on the filer of the recording."""
    bound = ELAPSED_BOUND if same_filer else None
    rows = [_compared(ELAPSED, recorded.elapsed_s * 1e6, point.figures["elapsed_s"].median * 1e6, bound, "us")]
    for op, latency in recorded.latency.items():
        rows += _latencies("all calls" if op == ALL else op, latency, point.run.service.get(op), None)
    return Fidelity(storage=point.storage, rows=tuple(rows), passed=rows[0].kept)


def _latencies(name: str, recorded: Latency | None, replayed: Latency | None, bound: float | None) -> list[Compared]:
    if recorded is None or replayed is None or not recorded.calls or not replayed.calls:
        return []
    rows = [_compared(f"{name} p50", recorded.p50_us, replayed.p50_us, bound, "us")]
    if min(recorded.calls, replayed.calls) >= _LEAST_CALLS:
        rows.append(_compared(f"{name} p99", recorded.p99_us, replayed.p99_us, bound, "us"))
    return rows


def _compared(what: str, recorded: float, replayed: float, bound: float | None, unit: str) -> Compared:
    difference = replayed / recorded - 1 if recorded else 0.0
    return Compared(what=what, recorded=recorded, replayed=replayed, difference=difference, bound=bound, unit=unit)

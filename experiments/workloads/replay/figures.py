"""Merged histograms as the latencies of a result."""

from __future__ import annotations

from collections.abc import Mapping

from controller.replay.recorded import Recorded
from core.histogram import Histogram, merged
from core.operations import Op
from core.records import FilerChoice
from experiments.result.latency import latency
from experiments.result.schema import Latency
from experiments.workloads.replay.result import ALL, RecordedFigures
from replay.result import ClientResult
from traces.model import Trace


def replayed_latencies(client_result: ClientResult, *, response: bool) -> dict[str, Latency]:
    """By op label and ALL; response times, or else service times."""

    def histogram(op: Op) -> Histogram:
        return client_result.ops[op].response if response else client_result.ops[op].service

    def longest(op: Op) -> int:
        return client_result.ops[op].response_max_ns if response else client_result.ops[op].service_max_ns

    out = {
        op.label: latency(one.calls, one.bytes, one.errors, histogram(op), longest(op))
        for op, one in client_result.ops.items()
    }
    whole = merged(histogram(op) for op in client_result.ops)
    return _with_all(
        out,
        client_result.calls,
        client_result.bytes,
        client_result.errors,
        whole,
        max(map(longest, client_result.ops), default=0),
    )


def recorded_figures(path: str, trace: Trace, recorded: Recorded) -> RecordedFigures:
    """Of the trace, as the result has them."""
    out = {
        op.label: latency(one.calls, one.bytes, one.errors, one.histogram, one.max_ns)
        for op, one in recorded.by_op.items()
    }
    whole = merged(one.histogram for one in recorded.by_op.values())
    longest = max((one.max_ns for one in recorded.by_op.values()), default=0)
    return RecordedFigures(
        path=path,
        streams=sum(1 for stream in trace.header.streams if stream.calls),
        calls=recorded.calls,
        errors=recorded.errors,
        bytes=recorded.bytes,
        elapsed_s=recorded.elapsed_s,
        calls_per_second=recorded.calls_per_second,
        latency=_with_all(out, recorded.calls, recorded.bytes, recorded.errors, whole, longest),
        per_second=recorded.by_second,
        nodes=len(trace.nodes),
        lost=recorded.lost,
        origin=dict(trace.header.origin),
        emulated=_emulated(trace.header.origin.get("filer")),
        tasks_known=all(stream.idle is not None for stream in trace.header.streams if stream.calls),
    )


def _emulated(filer: object) -> str:
    """The label of the filer that an origin tells of; empty without one."""
    if not isinstance(filer, dict) or not filer.get("digest"):
        return ""
    return FilerChoice(name=str(filer.get("name")), scale=float(filer.get("scale", 1)), digest="known").label


def _with_all(
    by_op: Mapping[str, Latency], calls: int, nbytes: int, errors: int, whole: Histogram, longest: int
) -> dict[str, Latency]:
    return dict(by_op) | ({ALL: latency(calls, nbytes, errors, Histogram(whole.counts), longest)} if calls else {})

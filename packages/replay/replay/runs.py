"""The record of a replay in an experiment: what was observed, and what is computed from it (service times, backlog,
fidelity).

More clients mean the same work distributed over more of them, or more work (`Scaling`). Backlog is how far each client
was behind its intended starts. Fidelity is whether a replay reproduces what was recorded: calls per second and
latencies at p50 and p99, or elapsed time."""

from __future__ import annotations

import enum
import errno
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any

from core.histogram import BUCKETS, Histogram, bucket_of, merged
from core.operations import Op, size_class
from core.plain import grouped
from core.records import FilerChoice
from experiments.report.views import middle
from experiments.result import schema
from experiments.result.latency import call_time_of, latency, marked
from experiments.result.schema import Latency
from experiments.result.steady import by_second, judged_whole
from monitoring.aggregate import CallSum
from replay.local import ReplayClient
from replay.plan import data_sets
from replay.tally import ClientResult, Difference, merge_results
from traces.model import Trace


class Scaling(enum.StrEnum):
    """Scaling of an experiment with one trace, by its numbers of clients."""

    STRONG = "strong"  # one data set, dealt out to them
    WEAK = "weak"  # a data set for each clone of the trace: so many clients, so much work
    MIXED = "mixed"  # one up to as many clients as the trace has streams, clones beyond


_SCALING_TEXTS = {
    Scaling.STRONG: "strong scaling: one data set, its streams distributed over the clients",
    Scaling.WEAK: "weak scaling: one data set for every {streams}",
    Scaling.MIXED: "mixed scaling: one data set up to {streams}, clones of it beyond",
}


def scaling_of(streams: int, clients: Iterable[int]) -> Scaling:
    """Return the scaling of these numbers of clients. Strong: they all replay one data set, also if as many as the
    streams."""
    numbers = set(clients)
    if all(data_sets(streams, number) == 1 for number in numbers):
        return Scaling.STRONG
    return Scaling.WEAK if all(number % streams == 0 for number in numbers) else Scaling.MIXED


def scaling_text(scaling: Scaling, streams: int) -> str:
    """Return the text about the scaling for the first line."""
    return _SCALING_TEXTS[scaling].format(streams=f"{streams} clients" if streams > 1 else "client")


NAME = "replay"
ALL = "all"  # in place of an op's label: all calls together
RATE = "calls_per_second"
LEVELS = "levels"  # in place of a speed: parts of a peak


@dataclass(frozen=True, slots=True, order=True)
class Load(schema.At):
    """Number of clients on one storage; kind `load` adds the level, a share of a peak."""

    storage: str  # "local storage (ext4)", or the emulated filer's label
    clients: int
    percent: int | None = None  # of the peak; 0: as fast as possible, whatever the order has; None: as the order has it
    peak: int | None = None  # calls a second

    @property
    def level(self) -> int | str:
        """Value that distinguishes the load from others on its storage: clients, or the level."""
        return self.clients if self.percent is None else self.on("percent")

    def on(self, axis: str) -> str:
        """Return the value as text; a level as part of the peak."""
        if axis != "percent":
            return schema.At.on(self, axis)
        return f"{self.percent} % of the peak" if self.percent else "full speed"

    def __str__(self) -> str:
        text = f"{self.storage}, {self.on('clients')}"
        return text if self.percent is None else f"{text}, {self.on('percent')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Greatest lag of one client behind its intended starts, over the streams that it replays."""

    client: int
    streams: tuple[str, ...]  # worker/slot
    seconds: float  # the latest start of a call, behind its intended one
    calls: int  # number of calls due and not ended, at the end of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRun(schema.Run):
    """One replay of the trace. `elapsed_s` is from the start of all clients to the end of the last; `latency` the
    response times, from the intended start to the end, by op label, and ALL.

    The null baseline has no think time: it is the highest rate of this host, measured once for each number of
    clients."""

    emulated: bool
    job_id: str  # of the replay; of older versions of its job
    prepared_s: float  # to make the files and the clients' programs, before the start
    calls: int
    errors: int  # recorded ones among them
    bytes: int
    differences: dict[str, int]  # "open ENOENT, recorded OK" → calls that ended otherwise than recorded
    calls_per_second: float
    service: dict[str, Latency]  # from the actual start to the end
    per_second: tuple[int, ...]  # calls that ended in each second since the start
    late_s: float  # the largest delay of a start behind its intended one
    backlog: tuple[Backlog, ...] = ()  # of clients that were behind, the worst first; none where no call had a schedule
    data_sets: int | None = None  # clones of the trace that were played; None in results of older versions
    waited_s: float  # for calls of other clients that had to come first, summed over clients
    null_calls: int | None  # of the null baseline
    due_per_second: tuple[int, ...] = ()  # calls that were to begin in each second; empty as fast as it goes
    offered_per_second: float | None = None  # calls ÷ the last intended start; None as fast as it goes
    response_mean_us: float | None = None  # of all calls; None in results of older versions
    service_mean_us: float | None = None
    job: dict[
        str, Any
    ]  # versions, workers, call_time, an emulated filer's stations, wire; of older versions a job's document

    @property
    def ceiling(self) -> float | None:
        """Calls a second of the null baseline; None without one."""
        return None if self.null_calls is None or not self.null_elapsed_s else self.null_calls / self.null_elapsed_s


def in_calls(run: ReplayRun) -> float | None:
    """Return the share of the clients' time in calls, their only work, in which they did not wait for a CPU."""
    time = run.call_time
    return None if time is None or not time.call_s else 1 - time.processor_s / time.call_s


class ReplayPoint(schema.PointOf[Load, ReplayRun]):
    """All repeats of one (storage, clients)."""

    @property
    def run(self) -> ReplayRun:
        """Repeat that represents the point."""
        return middle(self.repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of the trace and of its replay."""

    what: str
    recorded: float
    replayed: float
    difference: float  # replayed ÷ recorded − 1
    bound: float | None  # limit on the difference; None: shown, not judged
    unit: str  # "calls/s" or "us"

    @property
    def kept(self) -> bool | None:
        """Whether the bound is kept; None without a bound."""
        return None if self.bound is None else abs(self.difference) <= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """Comparison with the trace of a replay at recorded speed, or in a closed loop, with as many clients as there were
    streams."""

    storage: str  # of the point
    rows: tuple[Compared, ...]
    passed: bool | None  # None: not judged, it was recorded on another filer


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFigures:
    """Figures of the trace."""

    path: str
    streams: int
    calls: int
    errors: int
    bytes: int
    elapsed_s: float
    calls_per_second: float
    latency: dict[str, Latency]  # closed-loop, as it was recorded
    per_second: tuple[int, ...]  # calls that began in each second
    nodes: int
    lost: int  # calls that could not be kept
    origin: dict[str, Any]
    emulated: str = ""  # label of the emulated filer of the recording
    tasks_known: bool | None = None  # whether it has when its streams had no task; None in results of older versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult(schema.Result):
    """An experiment with replays of one trace."""

    recorded: RecordedFigures
    points: tuple[ReplayPoint, ...]  # by storage in the order asked for, then by clients
    fidelity: Fidelity | None = None  # None where no point is at recorded speed with the recorded clients
    scaling: Scaling | None = None  # None in results of older versions


def by_storage(points: Iterable[ReplayPoint]) -> dict[str, list[ReplayPoint]]:
    """Group the points by storage, in their order."""
    return grouped(points, lambda point: point.at.storage)


MOST = 32  # clients that a result names
LEAST_SECONDS = 1.0  # a client that was never later is not behind


def backlogs(clients: Sequence[ReplayClient], streams: Sequence[Sequence[str]]) -> tuple[Backlog, ...]:
    """Return the clients that fell behind their schedule, the worst first. `streams`: the streams of each client."""
    found = []
    for client in clients:
        seen = ClientResult.from_json(client.result["found"])
        seconds = seen.lateness_max_ns / 1e9
        if seen.due_by_second and seconds >= LEAST_SECONDS:
            its = tuple(streams[client.client]) if client.client < len(streams) else ()
            found.append(Backlog(client=client.client, streams=its, seconds=seconds, calls=most_behind(seen)))
    return tuple(sorted(found, key=lambda one: (-one.seconds, one.client))[:MOST])


def most_behind(seen: ClientResult) -> int:
    """Return how many calls were due and had not ended, at the end of the second with the most of them."""
    both = zip_longest(seen.due_by_second, seen.by_second, fillvalue=0)
    return max(accumulate(due - ended for due, ended in both), default=0)


def backlog_text(backlog: Backlog) -> str:
    """Describe a backlog: `w1/2 was up to 12.3 s and 1,234 calls behind its intended starts`."""
    name = ", ".join(backlog.streams[:3]) or f"client {backlog.client}"
    more = f" and {len(backlog.streams) - 3} more" if len(backlog.streams) > 3 else ""
    return f"{name}{more} was up to {backlog.seconds:,.1f} s and {backlog.calls:,} calls behind its intended starts"


RATE_BOUND = 0.05  # calls a second
LATENCY_BOUND = 0.10  # p50 and p99 of all calls
ELAPSED = "elapsed"
ELAPSED_BOUND = 0.05  # in a closed loop
_LEAST_CALLS = 100  # least calls of an op for which p99 is shown: below, it is the latency of one call


def fidelity(
    recorded: RecordedFigures, point: ReplayPoint, *, same_filer: bool = True, closed: bool = False
) -> Fidelity:
    """Compare the replay with the trace; for a `closed` loop the elapsed time is judged.

    On another filer than that of the recording (`same_filer`) nothing is judged. The service times are compared: the
    recorded times are from the actual start to the end, too."""
    if closed:
        took, bound, tail = point.figures["elapsed_s"].median * 1e6, ELAPSED_BOUND, None
        rows = [_compared(ELAPSED, recorded.elapsed_s * 1e6, took, bound if same_filer else None, "us")]
    else:
        bound, tail = RATE_BOUND, LATENCY_BOUND if same_filer else None
        rate = point.figures[RATE].median
        rows = [_compared("calls a second", recorded.calls_per_second, rate, bound if same_filer else None, "calls/s")]
    for op in sorted(recorded.latency, key=lambda op: not closed and op != ALL):
        name, judged_by = ("all calls", tail) if op == ALL else (op, None)
        rows += _latencies(name, recorded.latency[op], point.run.service.get(op), judged_by)
    passed = all(row.kept for row in rows if row.bound) if same_filer else None
    return Fidelity(storage=point.at.storage, rows=tuple(rows), passed=passed)


def _latencies(name: str, recorded: Latency, replayed: Latency | None, bound: float | None) -> list[Compared]:
    if replayed is None or not recorded.calls or not replayed.calls:
        return []
    rows = [_compared(f"{name} p50", recorded.p50_us, replayed.p50_us, bound, "us")]
    if min(recorded.calls, replayed.calls) >= _LEAST_CALLS:
        rows.append(_compared(f"{name} p99", recorded.p99_us, replayed.p99_us, bound, "us"))
    return rows


def _compared(what: str, recorded: float, replayed: float, bound: float | None, unit: str) -> Compared:
    difference = replayed / recorded - 1 if recorded else 0.0
    return Compared(what=what, recorded=recorded, replayed=replayed, difference=difference, bound=bound, unit=unit)


def replayed_latencies(client_result: ClientResult, *, response: bool) -> dict[str, Latency]:
    """Return the latencies by op label and ALL: response times, or service times."""
    totals = {}
    for op, one in client_result.ops.items():
        totals[op] = CallSum(
            calls=one.calls,
            bytes=one.bytes,
            errors=one.errors,
            max_ns=one.response_max_ns if response else one.service_max_ns,
            histogram=one.response if response else one.service,
        )
    return _latencies_of(totals)


def _latencies_of(totals: Mapping[Op, CallSum]) -> dict[str, Latency]:
    """Return the latencies by op label, and under ALL those of all calls together."""
    out = {op.label: latency(one.calls, one.bytes, one.errors, one.histogram, one.max_ns) for op, one in totals.items()}
    if not totals:
        return out
    every = totals.values()
    whole = Histogram(merged(one.histogram for one in every).counts)  # without classes of size
    calls, nbytes, errors = (sum(getattr(one, name) for one in every) for name in ("calls", "bytes", "errors"))
    return out | {ALL: latency(calls, nbytes, errors, whole, max(one.max_ns for one in every))}


def recorded_figures(path: str, trace: Trace) -> RecordedFigures:
    """Compute the figures of the trace in one pass, with memory for its seconds only. Raises UsageError if the trace is
    damaged."""
    totals: dict[Op, CallSum] = {}
    cells: dict[Op, Counter[int]] = {}
    seconds: Counter[int] = Counter()
    last_ns = 0
    header = trace.header
    for number in range(len(header.streams)):
        for op, start_ns, duration_ns, nbytes, _, _, _, error, _ in trace.calls(number):
            total = totals.get(op)
            if total is None:
                total, cells[op] = totals.setdefault(op, CallSum()), Counter()
            total.calls += 1
            total.bytes += nbytes
            total.errors += 1 if error else 0
            if duration_ns > total.max_ns:
                total.max_ns = duration_ns
            cells[op][size_class(nbytes) * BUCKETS + bucket_of(duration_ns)] += 1
            seconds[start_ns // 1_000_000_000] += 1
            if start_ns + duration_ns > last_ns:
                last_ns = start_ns + duration_ns
    for op, counts in cells.items():
        totals[op].histogram.add(Histogram(counts))
    calls, elapsed_s = sum(one.calls for one in totals.values()), max(last_ns, header.duration_ns) / 1e9
    return RecordedFigures(
        path=path,
        streams=sum(1 for stream in header.streams if stream.calls),
        calls=calls,
        errors=sum(one.errors for one in totals.values()),
        bytes=sum(one.bytes for one in totals.values()),
        elapsed_s=elapsed_s,
        calls_per_second=calls / elapsed_s if elapsed_s else 0.0,
        latency=_latencies_of({op: totals[op] for op in sorted(totals)}),
        per_second=tuple(seconds[second] for second in range(max(seconds, default=-1) + 1)),
        nodes=len(trace.nodes),
        lost=header.lost,
        origin=dict(header.origin),
        emulated=_emulated(header.origin.get("filer")),
        tasks_known=all(stream.idle is not None for stream in header.streams if stream.calls),
    )


def _emulated(filer: object) -> str:
    """Return the label of the filer that an origin names; empty without one."""
    if not isinstance(filer, dict) or not filer.get("digest"):
        return ""
    return FilerChoice(name=str(filer.get("name")), scale=float(filer.get("scale", 1)), digest="known").label


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Observation of one replay: what each client reported at its end, including its histograms."""

    repeat: int
    order: int
    emulated: bool
    job_id: str
    job: dict[str, Any]  # in the form of `ReplayRun.job`
    processors: float
    clients: tuple[ReplayClient, ...]
    touched: int  # bytes of the files that were made
    adapted: int  # calls of the trace that ended otherwise than the rest of it explains
    opened: int  # files that no call of the trace opened
    streams: tuple[tuple[str, ...], ...] = ()  # streams that each client played, as worker/slot
    data_sets: int | None = None
    hosts: tuple[dict[str, Any], ...] = ()  # members: share, clock, meters (core.crew)
    null_calls: int | None = None  # of the same clients on null storage
    null_elapsed_s: float | None = None


def run_of(seen: Observed) -> ReplayRun:
    """Return the run with all of its figures."""
    results = [client.result for client in seen.clients]
    merged = merge_results(ClientResult.from_json(result["found"]) for result in results)
    time = call_time_of(seen.job)
    inside = sum(one.service_total_ns for one in merged.ops.values()) / 1e9
    return ReplayRun(
        repeat=seen.repeat,
        order=seen.order,
        started_at=min(float(result["start"]) for result in results),
        elapsed_s=merged.elapsed_s,
        worker_cpu=merged.cpu_s / (merged.elapsed_s * seen.processors) if merged.elapsed_s else 0.0,
        run_queue_share=sum(float(result["run_queue_s"]) for result in results) / inside if inside else None,
        null_elapsed_s=seen.null_elapsed_s,
        latency=replayed_latencies(merged, response=True),
        emulated=seen.emulated,
        job_id=seen.job_id,
        prepared_s=max(client.ready for client in seen.clients) - min(client.taken for client in seen.clients),
        calls=merged.calls,
        errors=merged.errors,
        bytes=merged.bytes,
        differences={_text(one): one.calls for one in merged.differences},
        calls_per_second=merged.calls / merged.elapsed_s if merged.elapsed_s else 0.0,
        service=marked(replayed_latencies(merged, response=False), time),
        call_time=time,
        steady=judged_whole(
            "calls", by_second(merged.by_second), merged.elapsed_s, due=by_second(merged.due_by_second)
        ),
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


def _text(difference: Difference) -> str:
    """Describe a difference: `open: recorded ENOENT, replayed OK`."""
    if difference.expected == difference.found:
        return f"{difference.op.label}: fewer bytes than recorded"
    return f"{difference.op.label}: recorded {_name(difference.expected)}, replayed {_name(difference.found)}"


def _name(number: int) -> str:
    return errno.errorcode.get(number, str(number)) if number else "OK"


def _mean_us(merged: ClientResult, totals_ns: Sequence[int]) -> float | None:
    return sum(totals_ns) / merged.calls / 1000 if merged.calls else None

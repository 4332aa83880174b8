"""Sections: latency by op at each load, and the trace beside its replay."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.markup import join, table
from experiments.report.parts import Cell, Part, Section, Series, Tabled, note, paragraph
from experiments.report.views import in_calls, named, percentiles
from experiments.result.schema import Latency, SizedLatency
from experiments.workloads.replay.fidelity import ELAPSED, ELAPSED_BOUND, LATENCY_BOUND, RATE_BOUND
from experiments.workloads.replay.result import Compared, Fidelity, ReplayPoint, ReplayResult, by_storage

_HEADER = ("op", "calls", "errors", "response p50", "p95", "p99", "max", "service p50", "p95", "p99", "max")
_COLUMNS = ("storage", "clients", "op", "calls", "errors", "response_p50_us", "response_p95_us", "response_p99_us",
            "response_max_us", "service_p50_us", "service_p95_us", "service_p99_us", "service_max_us")  # fmt: skip

Times = Latency | SizedLatency


def latencies(result: ReplayResult) -> Section:
    """Response and service time of every op: a table of the recorded ones, and one of every load for each storage."""
    trace = result.recorded
    recorded = [row for op, one in trace.latency.items() for row in _with_sizes(op, one)]
    tables = [
        table(
            ("op", "calls", "errors", "service p50", "p95", "p99", "max"),
            [(op, *_counts(one), *_shown(one)) for op, one in recorded],
            caption=f"Recorded{f' on {trace.emulated}' if trace.emulated else ''}",
        )
    ]
    numbers: list[tuple[Cell, ...]] = [
        (trace.emulated, "recorded", op, one.calls, _errors(one), None, None, None, None, *_times(one))
        for op, one in recorded
    ]
    for storage, points in by_storage(result.points).items():
        rows = [(point.load, *row) for point in points for row in _rows(point)]
        shown = [(load, op, *_counts(response), *_shown(response), *_shown(service))
                 for load, op, response, service in rows]  # fmt: skip
        header = ("clients" if result.levels is None else "level", *_HEADER)
        tables.append(table(header, shown, text_columns=frozenset({1}), caption=storage))
        numbers += [(storage, load, op, response.calls, _errors(response), *_times(response), *_times(service))
                    for load, op, response, service in rows]  # fmt: skip
    tabled = Tabled(table=join(tables), series=Series(name="latency", header=_COLUMNS, rows=tuple(numbers)))
    said = ((named(point, result), in_calls(point.run.call_time)) for point in result.points)
    remarks = [paragraph(f"{name}: {sentence}") for name, sentence in said if sentence is not None]
    return Section(anchor="latency", title="Response and service time, by op", parts=(tabled, *remarks))


def _rows(point: ReplayPoint) -> Iterator[tuple[str, Times, Times]]:
    """Each op with its response and service times, and those of its classes of size."""
    for op, response in point.run.latency.items():
        both = zip(_with_sizes(op, response), _with_sizes(op, point.run.service[op]), strict=True)
        yield from ((name, one, other) for (name, one), (_, other) in both)


def _with_sizes(op: str, one: Latency) -> Iterator[tuple[str, Times]]:
    yield op, one
    for size, of in one.sizes.items():
        yield f"{op} {size}", of


def _counts(one: Times) -> tuple[str, str]:
    errors = _errors(one)
    return words.count(one.calls), "" if errors is None else words.count(errors)


def _shown(one: Times) -> tuple[str, ...]:
    return (*percentiles(one), words.microseconds(one.max_us) if isinstance(one, Latency) else "")


def _errors(one: Times) -> int | None:
    return one.errors if isinstance(one, Latency) else None


def _times(one: Times) -> tuple[float | None, ...]:
    return one.p50_us, one.p95_us, one.p99_us, one.max_us if isinstance(one, Latency) else None


def beside_the_trace(result: ReplayResult) -> Section:
    """What was recorded, what its replay gave, and whether the bounds are kept."""
    parts: tuple[Part, ...]
    if result.fidelity is None:
        parts = (
            paragraph(
                "Not judged: no point was replayed at recorded speed, or in a closed loop, with as many clients as the trace has"
                f" streams (--pace schedule, or job, with --clients {result.recorded.streams} does that)."
            ),
        )
    else:
        parts = (
            paragraph(_verdict(result.fidelity, result.recorded.emulated)),
            _compared(result.fidelity, result.recorded.emulated),
            _remark(result),
        )
    return Section(anchor="beside", title="The trace compared with its replay", parts=parts)


def _verdict(fidelity: Fidelity, recorded_on: str) -> str:
    if fidelity.passed is None and fidelity.rows[0].what == ELAPSED:
        return (
            f"{fidelity.storage}: not judged, because the trace was not recorded on this storage, or it is not known whether it was. The"
            " elapsed time is how long the recorded job's calls and think times take here."
        )
    if fidelity.passed is None:
        there = f" ({recorded_on})" if recorded_on else ""
        return (
            f"{fidelity.storage}: not judged, because the trace was recorded on another filer{there}. The differences show"
            " how the two differ."
        )
    said = "kept" if fidelity.passed else "NOT kept"
    if fidelity.rows[0].what == ELAPSED:
        return f"{fidelity.storage}: bound {said}: elapsed within {words.percent(ELAPSED_BOUND)} of the recorded."
    return (
        f"{fidelity.storage}: bounds {said}: calls a second within {words.percent(RATE_BOUND)} of the recorded, p50 and"
        f" p99 of all calls within {words.percent(LATENCY_BOUND)}."
    )


def _compared(fidelity: Fidelity, recorded_on: str) -> Tabled:
    columns: tuple[Column[Compared], ...] = (
        Column("figure", "figure", lambda row: row.what, text=True),
        Column("unit", None, lambda row: row.unit),
        Column("recorded", None, lambda row: row.recorded),
        Column("replayed", None, lambda row: row.replayed),
        Column("", "recorded", lambda row: _figure(row, row.recorded)),
        Column("", "replayed", lambda row: _figure(row, row.replayed)),
        Column("difference", "difference", lambda row: row.difference,
               lambda share: f"{share * 100:+z.1f} %".replace("-", "\u2212")),
        Column("bound", None, lambda row: row.bound),
        Column("", "bound", lambda row: None if row.bound is None else
               f"{words.percent(row.bound)}: {'kept' if row.kept else 'NOT kept'}", text=True),
    )  # fmt: skip
    on = f"recorded on {recorded_on}, " if recorded_on else ""
    caption = f"{on}replayed on {fidelity.storage}"
    return tabled("beside", columns, fidelity.rows, caption=caption, mark=lambda row: row.kept is False)


def _figure(row: Compared, value: float) -> str:
    return words.microseconds(value) if row.unit == "us" else words.figure(value)


def _remark(result: ReplayResult) -> Part:
    labels = result.recorded.origin.get("labels")
    recorded_on = f" Labels of the recording: {'; '.join(map(str, labels))}." if isinstance(labels, list) else ""
    return note(
        "Compared is the service time, from the actual start of a call to its end, as it was recorded. The bounds can be"
        f" kept only on the storage of the recording.{recorded_on}"
    )

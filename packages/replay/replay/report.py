"""The sections of the report of a replay: backlog, rates, the filer's side, latencies, load levels, timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.report import plots, words
from experiments.report.parts import (
    Cell,
    Column,
    Part,
    Parts,
    Plot,
    Section,
    Series,
    Tabled,
    note,
    paragraph,
    plotted,
    section,
    tabled,
)
from experiments.report.sections import disclosure, knee, steadiness
from experiments.report.sections import points as table_of_points
from experiments.report.style import FAINT, marker, series_colour
from experiments.report.views import PERCENTILES, binned, in_calls, named, percentiles, spread
from experiments.result.schema import Latency, Level, Levels, SizedLatency
from experiments.result.steady import by_second
from experiments.result.verdict import levels_text
from replay import runs
from replay.runs import scaling_text

_BACKLOG: tuple[Column[tuple[str, int, runs.Backlog]], ...] = (
    Column("point", "point", lambda row: row[0], text=True),
    Column("repeat", "repeat", lambda row: row[1]),
    Column("client", "client", lambda row: row[2].client),
    Column("streams", "streams", lambda row: ", ".join(row[2].streams), text=True),
    Column("seconds_behind", "seconds behind", lambda row: row[2].seconds, words.seconds),
    Column("calls_behind", "calls behind", lambda row: row[2].calls, words.count),
)


def backlog(result: runs.ReplayResult) -> Section | None:
    """Return the section with a line for each client behind its schedule, the worst of each run first; None if there
    was none."""
    rows = [(named(p, result), run.repeat + 1, one) for p in result.points for run in p.repeats for one in run.backlog]
    if not rows:
        return None
    remark = note(
        f"Clients whose calls began {words.seconds(runs.LEAST_SECONDS)} or more after their intended starts, the "
        f"{runs.MOST} worst of each run: the latest such start, and the largest number of due calls that had not "
        "ended at the end of a second. For a client with several streams, the figures are of all of them together."
    )
    parts = (tabled("backlog", _BACKLOG, rows), remark)
    return Section(anchor="backlog", title="Streams behind their intended starts", parts=parts)


LINES = ("response p50", "response p99", "service p50", "service p99")
_STYLES = {"p99": "-", "p50": "--"}
_RANGE = 1000.0  # largest ÷ smallest time, above which only powers of ten are marked


def curves(result: runs.ReplayResult) -> Section:
    """Return the section that draws calls a second, and response and service time, against the number of clients: a
    curve for each storage."""
    remark = note(
        (
            "Medians of the repeats. Response time starts when a call was due, so it includes waiting for a late "
            "previous call (no coordinated omission); service time starts when the call was made. Percentiles are at "
            "most 3.2 % off."
        )
        + (
            ""
            if result.scaling is None
            else f" More clients are {scaling_text(result.scaling, result.recorded.streams)}."
        )
    )
    return Section(anchor="curves", title="Load and response time, by clients", parts=(_curves_plot(result), remark))


def lines_of(point: runs.ReplayPoint) -> dict[str, float]:
    """Return the lines of a point in the latency panels: microseconds by name, medians of its repeats."""
    names = {line: f"{line.replace(' ', '_')}_us" for line in LINES}
    return {line: point.figures[name].median for line, name in names.items() if name in point.figures}


def rate_of(point: runs.ReplayPoint) -> float:
    """Return the median of the calls a second of a point."""
    return point.figures[runs.RATE].median


def _curves_plot(result: runs.ReplayResult) -> Plot:
    together = runs.by_storage(result.points)
    clients = [point.at.clients for point in result.points]
    with plots.figure_of(2, 2, height=5.6) as (figure, (rate, key, response, service)):
        for number, points in enumerate(together.values()):
            _rates(rate, points, number)
        rate.axhline(result.recorded.calls_per_second, color=FAINT.light, linewidth=1, linestyle=":")
        rate.set_title("calls a second (dotted: as recorded)")
        plots.from_zero(rate)
        service.sharey(response)  # before anything is drawn, so that the range covers both
        for axes, what in ((response, "response"), (service, "service")):
            _curves_times(axes, what, together)
        for axes in (rate, response, service):
            plots.counts_on_x(axes, clients, "clients")
        _key(key, list(together))
    rows: list[tuple[Cell, ...]] = [
        (p.at.storage, p.at.clients, rate_of(p), p.figures["elapsed_s"].median, *(lines_of(p).get(name) for name in LINES),
         int(p.limited))
        for p in result.points
    ]  # fmt: skip
    header = ("storage", "clients", "calls_per_s", "elapsed_s", *(f"{n.replace(' ', '_')}_us" for n in LINES),
              "limited")  # fmt: skip
    return plotted("curves", figure, _curves_sentence(result), header, rows)


def _rates(axes: plots.Axes, points: Sequence[runs.ReplayPoint], number: int) -> None:
    """Draw the rates; points that the storage did not limit are hollow."""
    colour, dot = series_colour(number), marker(number)
    axes.plot([p.at.clients for p in points], [rate_of(p) for p in points], color=colour, marker=dot,
              markersize=5)  # fmt: skip
    limited = [point for point in points if point.limited]
    axes.plot([p.at.clients for p in limited], [rate_of(p) for p in limited], linestyle="none", marker=dot,
              markersize=5, markerfacecolor="white", color=colour)  # fmt: skip


def _curves_times(axes: plots.Axes, what: str, together: Mapping[str, Sequence[runs.ReplayPoint]]) -> None:
    for number, points in enumerate(together.values()):
        for tail, style in _STYLES.items():
            name = f"{what} {tail}"
            line = [(p.at.clients, max(figures[name], 1.0)) for p in points if name in (figures := lines_of(p))]
            axes.plot([n for n, _ in line], [us for _, us in line], color=series_colour(number), linestyle=style,
                      marker=marker(number), markersize=5)  # fmt: skip
    axes.set_title(f"{what} time")
    axes.set_yscale("log")
    low, high = axes.dataLim.y0, axes.dataLim.y1
    marks = (1, 2, 5) if high < _RANGE * low else (1,)
    plots.written(axes.yaxis, words.microseconds, most=12, subs=marks)


def _key(axes: plots.Axes, storages: Sequence[str]) -> None:
    """Draw the legend of colours and lines in the panel without data."""
    axes.axis("off")
    for number, storage in enumerate(storages):
        axes.plot([], [], color=series_colour(number), marker=marker(number), markersize=5, label=storage)
    for tail, style in _STYLES.items():
        axes.plot([], [], color=FAINT.light, linestyle=style, label=tail)
    axes.legend(loc="center left", alignment="left")


def _curves_sentence(result: runs.ReplayResult) -> str:
    sentences = []
    for storage, points in runs.by_storage(result.points).items():
        shown = points if len(points) <= 3 else (points[0], points[-1])
        sentences.append(f"{storage}: {'; '.join(map(_rate_clause, shown))}.")
    on = f" on {result.recorded.emulated}" if result.recorded.emulated else ""
    hollow = " Hollow points are GENERATOR-LIMITED." if any(point.limited for point in result.points) else ""
    recorded = f"Recorded{on}: {words.figure(result.recorded.calls_per_second)} calls a second."
    return f"{' '.join([*sentences, recorded])}{hollow}"


def _rate_clause(point: runs.ReplayPoint) -> str:
    latency = lines_of(point)
    return (
        f"{words.many(point.at.clients, 'client')} {words.figure(rate_of(point))} calls a second, response p99"
        f" {words.microseconds(latency.get('response p99', 0.0))}, service p99"
        f" {words.microseconds(latency.get('service p99', 0.0))}"
    )


_STATIONS: tuple[Column[tuple[runs.ReplayPoint, str, dict[str, float]]], ...] = (
    Column("storage", "storage", lambda row: row[0].at.storage, text=True),
    Column("clients", "clients", lambda row: row[0].at.clients),
    Column("station", "station", lambda row: row[1]),
    Column("busy", "busy", lambda row: row[2]["utilisation"], words.percent),
    Column("mean_wait", "mean wait", lambda row: row[2]["mean_wait_us"], words.microseconds),
    Column("calls", "calls", lambda row: int(row[2]["calls"]), words.count),
)
_WIRE: tuple[Column[tuple[runs.ReplayPoint, dict[str, Any]]], ...] = (
    Column("storage", "storage", lambda row: row[0].at.storage, text=True),
    Column("clients", "clients", lambda row: row[0].at.clients),
    Column("read_by_calls", "read by calls", lambda row: row[1]["call_read_bytes"], words.size),
    Column("over_the_wire", "over the wire", lambda row: row[1]["wire_read_bytes"], words.size),
    Column(
        "wire_by_call",
        "wire ÷ call",
        lambda row: row[1]["ratio"],
        show=lambda row: row[1].get("why", "–") if row[1]["ratio"] is None else words.figure(row[1]["ratio"]),
    ),
)


def filer_side(result: runs.ReplayResult) -> Section | None:
    """Return the section with a line for each station of each point, and one for the wire; None if there is neither."""
    parts: list[Part] = []
    served = ((point, point.run.job.get("filer") or {}) for point in result.points)
    stations = [(point, name, one) for point, filer in served for name, one in filer.get("stations", {}).items()]
    if stations:
        parts.append(tabled("stations", _STATIONS, stations))
        parts.append(note("Stations of the emulated filer over the whole job; they are idle while files are prepared."))
    wire = [(point, point.run.job["wire"]["total"]) for point in result.points if point.run.job.get("wire")]
    if wire:
        parts.append(tabled("wire", _WIRE, wire))
        parts.append(
            note(
                "NFS mounts of the paths, on all hosts, with reads of all programs; a value well below 1 means "
                "that a client's cache answered."
            )
        )
    return Section(anchor="filer", title="Activity of the filer", parts=tuple(parts)) if parts else None


Times = Latency | SizedLatency


@dataclass(frozen=True, slots=True)
class _Timed:
    """Times of one op, or of one of its size classes; recorded ones have no response times."""

    storage: str
    load: int | str
    op: str
    response: Times | None
    service: Times


def _times_of(kind: str) -> Iterator[Column[_Timed]]:
    """Yield the columns with percentiles and maximum of `response` or `service` times; they are marked if most of the
    time is waiting for a core."""

    def times(row: _Timed) -> Times | None:
        return row.response if kind == "response" else row.service

    for place, name in enumerate(PERCENTILES):
        yield Column(
            f"{kind}_{name}_us",
            f"{kind} {name}",
            partial(lambda name, row: getattr(times(row), f"{name}_us", None), name),
            show=partial(lambda place, row: "–" if (of := times(row)) is None else percentiles(of)[place], place),
        )
    yield Column(f"{kind}_max_us", f"{kind} max", lambda row: getattr(times(row), "max_us", None), words.microseconds)


def latencies(result: runs.ReplayResult) -> Section:
    """Return the section with response and service time of every op: the recorded ones, then those of every load of
    each storage."""
    trace = result.recorded
    load = "clients" if result.levels is None else "level"
    columns: tuple[Column[_Timed], ...] = (
        Column("storage", "storage", lambda row: row.storage, text=True),
        Column("clients", load, lambda row: row.load, text=True),
        Column("op", "op", lambda row: row.op, text=True),
        Column("calls", "calls", lambda row: row.service.calls, words.count),
        Column("errors", "errors", lambda row: getattr(row.service, "errors", None), words.count, missing=""),
        *_times_of("response"),
        *_times_of("service"),
    )
    rows = [
        _Timed(trace.emulated, "recorded", name, None, one)
        for op, of in trace.latency.items()
        for name, one in _with_sizes(op, of)
    ]
    for point in (point for points in runs.by_storage(result.points).values() for point in points):
        for op, response in point.run.latency.items():
            both = zip(_with_sizes(op, response), _with_sizes(op, point.run.service[op]), strict=True)
            rows += [_Timed(point.at.storage, point.at.level, name, one, other) for (name, one), (_, other) in both]
    sentences = ((named(point, result), in_calls(point.run.call_time)) for point in result.points)
    remarks = [paragraph(f"{name}: {sentence}") for name, sentence in sentences if sentence is not None]
    parts: list[Part] = [tabled("latency", columns, rows), *remarks]
    return Section(anchor="latency", title="Response and service time, by op", parts=tuple(parts))


def _with_sizes(op: str, one: Latency) -> Iterator[tuple[str, Times]]:
    yield op, one
    for size, of in one.sizes.items():
        yield f"{op} {size}", of


@section("beside", "The trace compared with its replay")
def trace_comparison(result: runs.ReplayResult) -> Parts:
    """Return the section that compares the trace with its replay and judges the bounds."""
    if (found := result.fidelity) is None:
        return (
            paragraph(
                "Not judged: no point was replayed at recorded speed, or in a closed loop, with as many clients as "
                f"the trace has streams (use --pace schedule, or job, with --clients {result.recorded.streams})."
            ),
        )
    caption = compared_on(result, found)
    compared = tabled("beside", COMPARED, found.rows, caption=caption, mark=lambda row: row.kept is False)
    return paragraph(_verdict(found, result.recorded.emulated)), compared, _remark(result)


def _verdict(fidelity: runs.Fidelity, recorded_on: str) -> str:
    if fidelity.passed is None and fidelity.rows[0].what == runs.ELAPSED:
        return (
            f"{fidelity.storage}: not judged, because the trace was not, or not verifiably, recorded on this "
            "storage. The elapsed time is the time that the recorded job's calls and think times take here."
        )
    if fidelity.passed is None:
        there = f" ({recorded_on})" if recorded_on else ""
        return (
            f"{fidelity.storage}: not judged, because the trace was recorded on another filer{there}. The differences show"
            " how the two differ."
        )
    kept = "kept" if fidelity.passed else "NOT kept"
    if fidelity.rows[0].what == runs.ELAPSED:
        return f"{fidelity.storage}: bound {kept}: elapsed within {words.percent(runs.ELAPSED_BOUND)} of the recorded."
    return (
        f"{fidelity.storage}: bounds {kept}: calls a second within {words.percent(runs.RATE_BOUND)} of the recorded, p50 and"
        f" p99 of all calls within {words.percent(runs.LATENCY_BOUND)}."
    )


COMPARED: tuple[Column[runs.Compared], ...] = (
    Column("figure", "figure", lambda row: row.what, text=True),
    Column("unit", None, lambda row: row.unit),
    Column("recorded", "recorded", lambda row: row.recorded, show=lambda row: _figure(row, row.recorded)),
    Column("replayed", "replayed", lambda row: row.replayed, show=lambda row: _figure(row, row.replayed)),
    Column("difference", "difference", lambda row: row.difference,
           lambda share: f"{share * 100:+z.1f} %".replace("-", "\u2212")),
    Column("bound", "bound", lambda row: row.bound, text=True, show=lambda row: "–" if row.bound is None else
           f"{words.percent(row.bound)}: {'kept' if row.kept else 'NOT kept'}"),
)  # fmt: skip


def compared_on(result: runs.ReplayResult, fidelity: runs.Fidelity) -> str:
    """Return the caption of the comparison."""
    on = f"recorded on {result.recorded.emulated}, " if result.recorded.emulated else ""
    return f"{on}replayed on {fidelity.storage}"


def _figure(row: runs.Compared, value: float) -> str:
    return words.microseconds(value) if row.unit == "us" else words.figure(value)


def _remark(result: runs.ReplayResult) -> Part:
    labels = result.recorded.origin.get("labels")
    recorded_on = f" Labels of the recording: {'; '.join(map(str, labels))}." if isinstance(labels, list) else ""
    return note(
        "The service time is compared, from the actual start of a call to its end. The bounds can be kept only on "
        f"the storage of the recording.{recorded_on}"
    )


_TIMES = {
    "response_mean_us": "response mean",
    "response_p50_us": "p50",
    "response_p99_us": "p99",
    "service_mean_us": "service mean",
    "service_p50_us": "p50",
    "service_p99_us": "p99",
}
_LINES = (
    ("response_p99_us", "response p99"),
    ("response_mean_us", "response mean"),
    ("service_mean_us", "service mean"),
)


def levels(result: runs.ReplayResult, measured: Levels) -> Section:
    """Return the section on load levels: a table, two panels, and how the figure was computed."""
    remark = note(
        "Overall response time: the area under mean response time against achieved load, up to the last level "
        "before one that was not reached, divided by the load achieved there; below the lowest level its response "
        f"time is assumed down to zero load. A level is reached if at most {words.percent(measured.tolerance)} of "
        "the offered calls a second are missing."
    )
    return Section(
        anchor="levels",
        title="Offered against achieved load, and response time",
        parts=(_table(result, measured), _levels_plot(result, measured), remark),
    )


def _table(result: runs.ReplayResult, measured: Levels) -> Tabled:
    def median(name: str, level: Level) -> float | None:
        figures = result.points[level.point].figures
        return figures[name].median if name in figures else None

    columns: tuple[Column[Level], ...] = (
        Column("percent", "level", lambda level: level.percent, "{} %".format),
        Column("offered_per_s", "offered", lambda level: level.offered, words.figure),
        Column("achieved_per_s", "achieved", lambda level: level.achieved, words.figure),
        Column("reached", "", lambda level: int(level.reached), lambda it: "" if it else "not reached", text=True),
        *(Column(name, title, partial(median, name), words.microseconds) for name, title in _TIMES.items()),
    )
    return tabled("levels", columns, measured.levels, caption="Calls a second", mark=lambda level: not level.reached)


def _levels_plot(result: runs.ReplayResult, measured: Levels) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with plots.figure_of(2, height=3.4) as (figure, (reached, times)):
        _reached(reached, measured)
        for number, (name, title) in enumerate(_LINES):
            line = [(level.achieved, result.points[level.point].figures[name].median)
                    for level in measured.levels if name in result.points[level.point].figures]  # fmt: skip
            times.plot([x for x, _ in line], [max(y, 1.0) for _, y in line], color=series_colour(number),
                       marker=marker(number), markersize=5, label=title)  # fmt: skip
            rows += [(name, x, y) for x, y in line]
        times.set_yscale("log")
        plots.written(times.yaxis, words.microseconds)
        times.set_xlabel("achieved calls a second")
        times.set_xlim(left=0)
        times.legend(loc="upper left")
    series = Series(name="levels-times", header=("time", "achieved_per_s", "us"), rows=tuple(rows))
    text = levels_text(measured)
    hollow = " Hollow points were not reached." if not all(level.reached for level in measured.levels) else ""
    return Plot(name="levels", figure=figure, sentence=f"{text[0].upper()}{text[1:]}.{hollow}", series=series)


def _reached(axes: plots.Axes, measured: Levels) -> None:
    """Draw the reached rates; levels that were not reached are hollow, and the offered rate is the dotted line."""
    offered, achieved = ([getattr(level, name) for level in measured.levels] for name in ("offered", "achieved"))
    axes.plot([0, *offered], [0, *offered], color=FAINT.light, linewidth=1, linestyle=":")
    axes.plot(offered, achieved, color=series_colour(0), marker=marker(0), markersize=5)
    missed = [level for level in measured.levels if not level.reached]
    axes.plot([level.offered for level in missed], [level.achieved for level in missed], linestyle="none",
              marker=marker(0), markersize=5, markerfacecolor="white", color=series_colour(0))  # fmt: skip
    axes.set_title("achieved calls a second (dotted: offered)")
    axes.set_xlabel("offered calls a second")
    axes.xaxis.set_major_formatter(lambda value, _: plots.plain(value))
    axes.set_xlim(left=0)
    plots.from_zero(axes)


NAME = "timeline"
_MOST_LINES = 5


def timeline(result: runs.ReplayResult) -> Section:
    """Return a section with a figure for each storage; it has a line for the trace and one for each number of
    clients."""
    together = runs.by_storage(result.points)
    names = [NAME] if len(together) == 1 else [f"{NAME}-{number}" for number in range(1, len(together) + 1)]
    parts = [
        _timeline_plot(result, storage, points, name)
        for name, (storage, points) in zip(names, together.items(), strict=True)
    ]
    return Section(anchor=NAME, title="Calls a second over time, compared with the recorded ones", parts=tuple(parts))


def _timeline_plot(result: runs.ReplayResult, storage: str, points: Sequence[runs.ReplayPoint], name: str) -> Plot:
    shown = spread(points, _MOST_LINES)
    trace = result.recorded
    longest = max([trace.elapsed_s, *(point.run.elapsed_s for point in result.points)])
    length, unit = plots.time_unit(longest)
    there = f"recorded on\n{trace.emulated}" if trace.emulated and trace.emulated != storage else "recorded"
    with plots.figure_of(height=3.4) as (figure, (axes,)):
        line, step = binned(by_second(trace.per_second))
        axes.fill_between([at / length for at, _ in line], [calls for _, calls in line], color=FAINT.light, alpha=0.25,
                          linewidth=0, label=there)  # fmt: skip
        for number, point in enumerate(shown):
            line, own = binned(by_second(point.run.per_second))
            step = max(step, own)
            plots.draw_line(axes, line, number, point.at.on(result.axis), length)
        plots.over_time(axes, unit, "calls a second", start="the start")
        axes.set_title(storage)
        plots.legend_right(axes)
    rows: list[tuple[Cell, ...]] = [
        (trace.emulated, "recorded", at, calls) for at, calls in enumerate(trace.per_second)
    ]
    for point in shown:
        rows += [(storage, point.at.level, at, calls) for at, calls in enumerate(point.run.per_second)]
    sentence = f"{storage}: {_timeline_sentence(result, points, step)}"
    return plotted(name, figure, sentence, ("storage", "clients", "second", "calls"), rows)


def _timeline_sentence(result: runs.ReplayResult, points: Sequence[runs.ReplayPoint], step: int) -> str:
    recorded = result.recorded
    on = f" on {recorded.emulated}" if recorded.emulated else ""
    clauses = [f"recorded{on}: {words.count(recorded.calls)} calls in {words.seconds(recorded.elapsed_s)}"]
    for point in points if len(points) <= 3 else (points[0], points[-1]):
        clauses.append(
            f"{point.at.on(result.axis)}: {words.count(point.run.calls)} in {words.seconds(point.run.elapsed_s)}"
        )
    averaged = f" Lines are means over {step} s." if step > 1 else ""
    return "; ".join(clauses) + "." + averaged


def sections(result: runs.ReplayResult) -> list[Section]:
    """Return the sections in reading order. The knee's is included only with bounds, levels in place of curves, backlog
    and filer if they have data."""
    parts: list[Section | None] = [
        table_of_points(result),
        knee(result) if result.knees_found else None,
        steadiness(result),
        curves(result) if result.levels is None else levels(result, result.levels),
        timeline(result),
        backlog(result),
        trace_comparison(result),
        latencies(result),
        filer_side(result),
        disclosure(result),
    ]
    return [section for section in parts if section is not None]

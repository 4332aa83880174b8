"""Section: what more clients give on each storage, and what it costs in response time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.report import words
from experiments.report.palette import FAINT, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, note
from experiments.report.plots import Axes, counts_on_x, drawing, from_zero, new_figure, written
from experiments.workloads.replay.result import RATE, ReplayPoint, ReplayResult, by_storage
from experiments.workloads.replay.scaling import said

ANCHOR, TITLE = "curves", "Load and response time, by clients"
LINES = ("response p50", "response p99", "service p50", "service p99")
_STYLES = {"p99": "-", "p50": "--"}
_RANGE = 1000.0  # largest ÷ smallest time, above which only powers of ten are marked


def curves(result: ReplayResult) -> Section:
    """Calls a second, and response and service time, against the number of clients: a curve for each storage."""
    remark = note(
        "Medians of the repeats. Response time runs from the moment at which a call was to be made, so that waiting for a late call before it"
        " counts (no coordinated omission); service time runs from the moment at which it was made. Percentiles are at"
        " most 3.2 % off."
        + ("" if result.scaling is None else f" More clients are {said(result.scaling, result.recorded.streams)}.")
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(result), remark))


def lines_of(point: ReplayPoint) -> dict[str, float]:
    """What the latency panels show of a point, microseconds by the line's name: medians of its repeats."""
    names = {line: f"{line.replace(' ', '_')}_us" for line in LINES}
    return {line: point.figures[name].median for line, name in names.items() if name in point.figures}


def rate_of(point: ReplayPoint) -> float:
    """Calls a second, the median of its repeats."""
    return point.figures[RATE].median


def _plot(result: ReplayResult) -> Plot:
    together = by_storage(result.points)
    clients = [point.clients for point in result.points]
    with drawing():
        figure, (rate, key, response, service) = new_figure(2, 2, height=5.6)
        for number, points in enumerate(together.values()):
            _rates(rate, points, number)
        rate.axhline(result.recorded.calls_per_second, color=FAINT.light, linewidth=1, linestyle=":")
        rate.set_title("calls a second (dotted: as recorded)")
        from_zero(rate)
        service.sharey(response)  # before anything is drawn, so that the range covers both
        for axes, what in ((response, "response"), (service, "service")):
            _times(axes, what, together)
        for axes in (rate, response, service):
            counts_on_x(axes, clients, "clients")
        _key(key, list(together))
    rows: list[tuple[Cell, ...]] = [
        (p.storage, p.clients, rate_of(p), p.figures["elapsed_s"].median, *(lines_of(p).get(name) for name in LINES),
         int(p.limited))
        for p in result.points
    ]  # fmt: skip
    header = ("storage", "clients", "calls_per_s", "elapsed_s", *(f"{n.replace(' ', '_')}_us" for n in LINES),
              "limited")  # fmt: skip
    return Plot(name="curves", figure=figure, sentence=_sentence(result),
                series=Series(name="curves", header=header, rows=tuple(rows)))  # fmt: skip


def _rates(axes: Axes, points: Sequence[ReplayPoint], number: int) -> None:
    """Points that say nothing about the storage are drawn hollow."""
    colour, dot = series_colour(number), marker(number)
    axes.plot([p.clients for p in points], [rate_of(p) for p in points], color=colour, marker=dot,
              markersize=5)  # fmt: skip
    limited = [point for point in points if point.limited]
    axes.plot([p.clients for p in limited], [rate_of(p) for p in limited], linestyle="none", marker=dot,
              markersize=5, markerfacecolor="white", color=colour)  # fmt: skip


def _times(axes: Axes, what: str, together: Mapping[str, Sequence[ReplayPoint]]) -> None:
    for number, points in enumerate(together.values()):
        for tail, style in _STYLES.items():
            name = f"{what} {tail}"
            line = [(p.clients, max(figures[name], 1.0)) for p in points if name in (figures := lines_of(p))]
            axes.plot([n for n, _ in line], [us for _, us in line], color=series_colour(number), linestyle=style,
                      marker=marker(number), markersize=5)  # fmt: skip
    axes.set_title(f"{what} time")
    axes.set_yscale("log")
    low, high = axes.dataLim.y0, axes.dataLim.y1
    marks = (1, 2, 5) if high < _RANGE * low else (1,)
    written(axes.yaxis, words.microseconds, most=12, subs=marks)


def _key(axes: Axes, storages: Sequence[str]) -> None:
    """What colours and lines mean, in the panel that has no data."""
    axes.axis("off")
    for number, storage in enumerate(storages):
        axes.plot([], [], color=series_colour(number), marker=marker(number), markersize=5, label=storage)
    for tail, style in _STYLES.items():
        axes.plot([], [], color=FAINT.light, linestyle=style, label=tail)
    axes.legend(loc="center left", alignment="left")


def _sentence(result: ReplayResult) -> str:
    said = []
    for storage, points in by_storage(result.points).items():
        shown = points if len(points) <= 3 else (points[0], points[-1])
        said.append(f"{storage}: {'; '.join(map(_told, shown))}.")
    on = f" on {result.recorded.emulated}" if result.recorded.emulated else ""
    hollow = " Hollow points are GENERATOR-LIMITED." if any(point.limited for point in result.points) else ""
    recorded = f"Recorded{on}: {words.figure(result.recorded.calls_per_second)} calls a second."
    return f"{' '.join([*said, recorded])}{hollow}"


def _told(point: ReplayPoint) -> str:
    latency = lines_of(point)
    return (
        f"{words.many(point.clients, 'client')} {words.figure(rate_of(point))} calls a second, response p99"
        f" {words.microseconds(latency.get('response p99', 0.0))}, service p99"
        f" {words.microseconds(latency.get('service p99', 0.0))}"
    )

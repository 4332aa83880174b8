"""Section: response time against load, with the bounds of `--max-p99`."""

from __future__ import annotations

from experiments.replay.result import ReplayKnee, ReplayResult
from experiments.report import words
from experiments.report.palette import WARN, line_style, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, missing
from experiments.report.plots import counts_on_x, drawing, new_figure, plain

ANCHOR, TITLE = "knee", "The largest load within the bounds on response time"


def knee_section(result: ReplayResult) -> Section:
    """Response p99 of each bounded op against the number of clients."""
    if result.knee is None:
        return missing(ANCHOR, TITLE, "no bound was set (--max-p99 read=20ms does that).")
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(result, result.knee),))


def _plot(result: ReplayResult, found: ReplayKnee) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    clients = [point.clients for point in result.points]
    with drawing():
        figure, panels = new_figure(len(found.bounds_us), height=3.2)
        for number, (axes, (op, bound)) in enumerate(zip(panels, found.bounds_us.items(), strict=True)):
            line = [(p.clients, p.response[op].p99_us) for p in result.points if op in p.response]
            axes.plot([n for n, _ in line], [us / 1000 for _, us in line], color=series_colour(number),
                      linestyle=line_style(number), marker=marker(number), markersize=5)  # fmt: skip
            axes.axhline(bound / 1000, color=WARN.light, linewidth=1, linestyle="--")
            axes.set_title(f"{op}, bound {plain(bound / 1000)} ms")
            axes.set_ylabel("response p99 (ms)" if number == 0 else "")
            axes.set_ylim(0, 1.1 * max(bound, *(us for _, us in line)) / 1000 if line else bound / 1000)
            counts_on_x(axes, clients, "clients")
            rows += [(op, bound, n, us) for n, us in line]
    series = Series(name="knee", header=("op", "bound_us", "clients", "response_p99_us"), rows=tuple(rows))
    return Plot(name="knee", figure=figure, sentence=_sentence(found), series=series)


def _sentence(found: ReplayKnee) -> str:
    kept = "No load keeps every bound" if found.clients is None else (
        f"{words.many(found.clients, 'client')} {'is' if found.clients == 1 else 'are'} the most that keep every bound"
    )  # fmt: skip
    return f"{kept} ({found.broken or 'nothing was broken up to the highest load'})."

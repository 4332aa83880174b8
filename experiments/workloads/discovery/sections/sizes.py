"""Sizes before and after discovery, with GB/hour (R1's Figure 4)."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series
from experiments.report.plots import drawing, new_figure, plain
from experiments.report.style import series_colour
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.views import middle_run, point_name, total

ANCHOR, TITLE = "sizes", "Sizes before and after, with GB/hour"


def sizes(result: Result) -> Section:
    """Bars of raw and discovered size, and of both rates, for each point."""
    rows: list[tuple[Cell, ...]] = []
    for point in result.points:
        run = middle_run(point)
        raw, after, index = (total(run, field) for field in ("raw_bytes", "discovered_bytes", "index_bytes"))
        key = (point.workers, point.slots, point.databases)
        rows.append((*key, raw, after, index, point.gb_per_hour_raw.median, point.gb_per_hour_discovered.median))
    unit, length = _unit(max(float(row[4] or 0) for row in rows))
    names = [point_name(point, result.points) for point in result.points]
    with drawing():
        figure, (left, right) = new_figure(2, height=1.2 + 0.42 * len(rows), share_y=True)
        for axes, before, after, scale in ((left, 3, 4, length), (right, 6, 7, 1.0)):
            for offset, column, label in ((-0.19, before, "raw"), (0.19, after, "discovered")):
                places = [number + offset for number in range(len(rows))]
                widths = [float(row[column] or 0) / scale for row in rows]
                drawn = axes.barh(places, widths, height=0.34, label=label, color=series_colour(int(offset > 0)))
                axes.bar_label(drawn, [words.figure(width) for width in widths], padding=3, fontsize=8)
            axes.margins(x=0.18)
            axes.set_xlim(left=0)
            axes.grid(visible=False, axis="y")
            axes.xaxis.set_major_formatter(lambda value, _: plain(value))
        left.set_yticks(range(len(rows)), names)
        left.invert_yaxis()
        left.set_xlabel(f"size ({unit})")
        right.set_xlabel("GB/hour")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    header = ("workers", "slots", "databases", "raw_bytes", "discovered_bytes", "index_bytes", "gb_per_hour_raw",
              "gb_per_hour_discovered")  # fmt: skip
    series = Series(name="sizes", header=header, rows=tuple(rows))
    plot = Plot(name="sizes", figure=figure, sentence=_sentence(result), series=series)
    return Section(anchor=ANCHOR, title=TITLE, parts=(plot,))


def _unit(largest: float) -> tuple[str, float]:
    return ("GB", 1e9) if largest >= 1e9 else ("MB", 1e6)


def _sentence(result: Result) -> str:
    best = max(result.points, key=lambda point: point.gb_per_hour_discovered.median)
    run = middle_run(best)
    raw, after, index = (total(run, field) for field in ("raw_bytes", "discovered_bytes", "index_bytes"))
    expansion = f"expansion {words.figure(after / raw)}×" if raw else "no expansion"
    return (
        f"{words.size(raw)} become {words.size(after)} ({expansion}; R1: 45 GB to 75 GB, 1.67×), the index of "
        f"{words.size(index)} not counted; the highest rate is {words.figure(best.gb_per_hour_discovered.median)} discovered "
        f"GB/hour ({words.figure(best.gb_per_hour_raw.median)} raw) with {point_name(best, result.points)}."
    )

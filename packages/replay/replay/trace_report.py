"""The page of `edbench trace info --html`: a trace in charts and tables, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from core.errors import RunFailed, system_errors
from core.histogram import bucket_bounds
from experiments.report import words
from experiments.report.parts import table, tag
from experiments.report.plots import (
    draw_line,
    figure_of,
    figure_svg,
    from_zero,
    legend_right,
    over_time,
    time_unit,
    written,
)
from experiments.report.style import document, series_colour
from replay.trace_tables import OPS, op_rows, totals

MOST_LINES = 6
_BAR = 0.8

Drawn = tuple[str, str, Figure, str]  # name, title, figure, the sentence under it


def trace_figures(info: Mapping[str, Any]) -> Iterator[Drawn]:
    """Yield every figure for which the trace has data."""
    if info["ops"]:
        most = sorted(info["ops"].items(), key=lambda pair: -pair[1]["calls"])[:3]
        mix = words.listed(f"{op} {words.percent(of['share'])}" for op, of in most)
        sentence = f"{words.count(info['calls'])} calls; {mix} of them."
        yield "ops", "Calls by operation", op_mix(info["ops"]), sentence
        yield "time", "Calls per second over time", calls_over_time(info["timeline"]), _time_sentence(info)
        yield "flight", "Calls in flight over time", in_flight(info["timeline"]), _flight_sentence(info)
    moved = {op: access for op, access in info["sizes"].items() if access["calls"]}
    if moved:
        yield "sizes", "Bytes of a read and of a write", sizes(moved, "calls", "bytes moved"), _size_sentence(moved)
    if info["think"]["histogram"]:
        yield "think", "Think time", think_time(info["think"]), _think_sentence(info)
    tree = info["tree"]
    files = {name: tree[key] for name, key in (("were there", "existing"), ("made", "made")) if tree[key]["files"]}
    if files:
        yield "files", "Sizes of the files", sizes(files, "files", "size of the file"), _files_sentence(tree)
        deep = words.many(tree["directories"], "directory", "directories")
        fullest = words.many(tree["most_entries"], "entry", "entries")
        yield "depth", "Depth of the files", depths(tree["files_by_depth"]), f"{deep}; the fullest has {fullest}."


def op_mix(ops: Mapping[str, Any]) -> Figure:
    """Draw each op's share of the calls and of their time."""
    busy = sum(of["busy_s"] for of in ops.values()) or 1.0
    names = list(ops)
    with figure_of(height=0.6 + 0.36 * len(names)) as (figure, (axes,)):
        for number, (label, shares) in enumerate(
            (
                ("of the calls", [ops[op]["share"] for op in names]),
                ("of their time", [ops[op]["busy_s"] / busy for op in names]),
            )
        ):
            places = [place + (number - 0.5) * _BAR / 2 for place in range(len(names))]
            axes.barh(places, shares, height=_BAR / 2, color=series_colour(number), label=label)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_xlabel("share")
        legend_right(axes)
    return figure


def calls_over_time(timeline: Mapping[str, Any]) -> Figure:
    """Draw a line for each of the most frequent ops, and one for the others."""
    width = timeline["bin_s"]
    by_op = sorted(timeline["calls"].items(), key=lambda pair: -sum(pair[1]))
    lines = by_op[: MOST_LINES - 1] if len(by_op) > MOST_LINES else by_op
    if len(lines) < len(by_op):
        lines.append(("others", [sum(counts) for counts in zip(*(c for _, c in by_op[len(lines) :]), strict=True)]))
    with figure_of() as (figure, (axes,)):
        length, unit = time_unit(width * len(lines[0][1]))
        for number, (op, counts) in enumerate(lines):
            draw_line(axes, _samples([count / width for count in counts], width), number, op, length)
        over_time(axes, unit, "calls a second", start="the first call")
        legend_right(axes)
    return figure


def in_flight(timeline: Mapping[str, Any]) -> Figure:
    """Draw the mean number of calls in flight, bin by bin."""
    width = timeline["bin_s"]
    with figure_of(height=2.4) as (figure, (axes,)):
        length, unit = time_unit(width * len(timeline["in_flight"]))
        draw_line(axes, _samples(timeline["in_flight"], width), 0, "calls in flight", length)
        over_time(axes, unit, "calls in flight", start="the first call")
    return figure


def sizes(by_name: Mapping[str, Any], what: str, label: str) -> Figure:
    """Draw bars by size class, from one power of two to the next; one series for each name."""
    classes = sorted({(one["from"], one["below"]) for of in by_name.values() for one in of["by_size"]})
    with figure_of() as (figure, (axes,)):
        for number, (name, of) in enumerate(by_name.items()):
            counts = {one["from"]: one[what] for one in of["by_size"]}
            total = sum(counts.values())
            width = _BAR / len(by_name)
            places = [place + (number - (len(by_name) - 1) / 2) * width for place in range(len(classes))]
            heights = [counts.get(low, 0) / total for low, _ in classes]
            axes.bar(places, heights, width=width, color=series_colour(number), label=name)
        axes.set_xticks(
            range(len(classes)),
            [words.binary(low).removesuffix("B").rstrip() for low, _ in classes],
            rotation=60 if len(classes) > 14 else 0,
        )
        axes.set_xlabel(f"{label}, from … to below the next")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_ylabel(f"share of the {what}")
        legend_right(axes)
    return figure


def think_time(think: Mapping[str, Any]) -> Figure:
    """Draw the share of pauses that are no longer than a given time."""
    counts = sorted((int(bucket), count) for bucket, count in think["histogram"].items())
    total = sum(count for _, count in counts)
    ends = [max(bucket_bounds(bucket)[1], 1) / 1e3 for bucket, _ in counts]
    with figure_of(height=2.6) as (figure, (axes,)):
        shares = [below / total for below in accumulate(count for _, count in counts)]
        axes.step([ends[0], *ends], [0.0, *shares], where="post", color=series_colour(0))
        axes.set_xscale("log")
        written(axes.xaxis, words.microseconds, most=9)
        axes.set_xlabel("pause before a call")
        axes.set_ylabel("share of the calls")
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return figure


def depths(files: Mapping[Any, int]) -> Figure:
    """Draw the number of files by the directories above them."""
    counts = sorted((int(depth), number) for depth, number in files.items())
    with figure_of(height=2.4) as (figure, (axes,)):
        axes.bar([depth for depth, _ in counts], [number for _, number in counts], color=series_colour(0), width=_BAR)
        axes.set_xticks([depth for depth, _ in counts])
        axes.set_xlabel("parts of the path below its root")
        axes.set_ylabel("files")
        from_zero(axes, whole=True)
    return figure


def _samples(values: Sequence[float], width: float) -> list[tuple[float, float]]:
    return [((place + 0.5) * width, float(value)) for place, value in enumerate(values)]


def _time_sentence(info: Mapping[str, Any]) -> str:
    timeline = info["timeline"]
    totals = [sum(counts) for counts in zip(*timeline["calls"].values(), strict=True)]
    peak = max(totals) / timeline["bin_s"]
    mean = info["calls"] / max(info["duration_s"], 1e-9)
    over = words.seconds(timeline["bin_s"])
    return f"{words.count(mean)} calls per second on average, at most {words.count(peak)} over {over}."


def _flight_sentence(info: Mapping[str, Any]) -> str:
    flight = info["concurrency"]
    return (
        f"{words.figure(flight['mean_in_flight'])} calls in flight on average, at most {words.figure(flight['peak_in_flight'])} "
        f"over {words.seconds(flight['over_s'])}; {words.many(flight['streams'], 'stream')}."
    )


def _size_sentence(moved: Mapping[str, Any]) -> str:
    info = (
        f"{words.percent(access['sequential_share'])} of {words.count(access['calls'])} {op}s continue at the end of the previous one"
        for op, access in moved.items()
    )
    return f"{'; '.join(info)}."


def _think_sentence(info: Mapping[str, Any]) -> str:
    think = info["think"]
    return (
        f"Time between the end of a call and the next call of its stream: p50 {words.microseconds(think['p50_us'])}, p99 "
        f"{words.microseconds(think['p99_us'])}; {words.percent(think['share'])} of the streams' time."
    )


def _files_sentence(tree: Mapping[str, Any]) -> str:
    existing, made = tree["existing"], tree["made"]
    return (
        f"{words.many(existing['files'], 'file')} of {words.size(existing['bytes'])} existed; the calls create "
        f"{words.count(made['files'])} of {words.size(made['bytes'])}."
    )


def write_trace_page(info: Mapping[str, Any], name: str, target: Path) -> None:
    """Write the page of a trace; `info` is the result of `replay.trace_summary.trace_info`. Raises RunFailed if the
    file cannot be written."""
    with system_errors(RunFailed, f"cannot write {target}"):
        target.write_text(trace_page(info, name), encoding="utf-8")


def trace_page(info: Mapping[str, Any], name: str) -> str:
    """Return the self-contained page; well-formed as XML and as HTML."""
    lost = f" {info['lost']:,} calls were lost during recording." if info["lost"] else ""
    made = f"{datetime.fromtimestamp(info['created'], UTC):%Y-%m-%d %H:%M} UTC"
    return document(
        f"edbench trace: {name}",
        tag("p", totals(info), class_="verdict", role="note"),
        tag("h1", f"edbench trace {name}"),
        tag("p", f"Recorded {made}.{lost}", class_="facts"),
        *(
            tag("section", tag("h2", title),
                tag("figure", figure_svg(figure, name, sentence), tag("figcaption", sentence)), id=name)
            for name, title, figure, sentence in trace_figures(info)
        ),
        tag("section", tag("h2", "Latency by operation"), table(OPS, op_rows(info))),
    )  # fmt: skip

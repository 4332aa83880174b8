"""The page of `edbench trace info --html`: a trace in pictures and tables, in one file, in the report's style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import RunFailed
from experiments.report import words
from experiments.report.markup import Html, table, tag
from experiments.report.style import document
from experiments.report.svg import figure_svg
from experiments.report.trace_figures import Drawn, trace_figures


def write_trace_page(info: Mapping[str, Any], name: str, totals: str, target: Path) -> None:
    """`info` is what `traces.as_data.trace_info` gives. Raises RunFailed when the file cannot be written."""
    page = trace_page(info, name, totals)
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"cannot write {target}: {error.strerror}") from error


def trace_page(info: Mapping[str, Any], name: str, totals: str) -> str:
    """The whole self-contained page; well-formed as XML and as HTML."""
    made = f"{datetime.fromtimestamp(info['created'], UTC):%Y-%m-%d %H:%M} UTC"
    return document(
        f"edbench trace: {name}",
        tag("p", totals, class_="verdict", role="note"),
        tag("h1", f"edbench trace {name}"),
        tag("p", f"Recorded {made}.{_lost(info)}", class_="facts"),
        *(_section(drawn) for drawn in trace_figures(info)),
        tag("section", tag("h2", "Latency by operation"), _latency(info)),
    )


def _lost(info: Mapping[str, Any]) -> str:
    return f" {info['lost']:,} calls were lost during recording." if info["lost"] else ""


def _section(drawn: Drawn) -> Html:
    name, title, figure, sentence = drawn
    shown = tag("figure", figure_svg(figure, name, sentence), tag("figcaption", sentence))
    return tag("section", tag("h2", title), shown, id=name)


def _latency(info: Mapping[str, Any]) -> Html:
    header = ("operation", "calls", "errors", "bytes", "p50", "p95", "p99", "longest")
    rows: list[tuple[str, ...]] = []
    for op, of in info["ops"].items():
        counts = (words.count(of["calls"]), words.count(of["errors"]), words.size(of["bytes"]))
        rows.append((op, *counts, *_percentiles(of), words.microseconds(of["max_us"])))
        for size, sized in of["latency_by_size"].items():
            rows.append((f"{op} {size}", words.count(sized["calls"]), "", "", *_percentiles(sized), ""))
    return table(header, rows)


def _percentiles(of: Mapping[str, Any]) -> Iterator[str]:
    return (words.microseconds(of[key]) for key in ("p50_us", "p95_us", "p99_us"))

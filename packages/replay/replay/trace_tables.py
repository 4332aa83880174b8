"""The tables that `edbench trace info` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cli.output import bytes_text, print_lines, table
from experiments.report import words

if TYPE_CHECKING:
    from rich.console import Console

STREAMS_SHOWN = 16


def show_trace(console: Console, name: str, info: Mapping[str, Any]) -> None:
    """Print a line of totals, then tables; `info` is the result of `replay.trace_summary.trace_info`."""
    print_lines(console, f"{name}: {totals(info)}", *_remarks(info))
    for title, columns, rows in _tables(info):
        if rows:
            console.print()
            console.print(title)
            console.print(table(columns, rows, right=tuple(range(1, len(columns)))))


def totals(info: Mapping[str, Any]) -> str:
    """Return the totals: `7 streams, 12,345 calls in 1:02 min, 1.2 GB moved; 9.8 MB, 7.9 MB per million calls`."""
    return (
        f"{words.many(len(info['streams']), 'stream')}, {words.many(info['calls'], 'call')} in "
        f"{words.seconds(info['duration_s'])}, {bytes_text(info['moved_bytes'])} moved; file size "
        f"{bytes_text(info['bytes'])}, {bytes_text(info['bytes_per_million_calls'])} per million calls"
    )


def _remarks(info: Mapping[str, Any]) -> Iterator[str]:
    if info["lost"]:
        yield f"LOST: {info['lost']:,} calls were lost during recording"
    think, flight = info["think"], info["concurrency"]
    yield (
        f"in flight: {words.figure(flight['mean_in_flight'])} calls on average, at most "
        f"{words.figure(flight['peak_in_flight'])} over {words.seconds(flight['over_s'])}"
    )
    yield (
        f"think time: {words.percent(think['share'])} of the streams' time; between calls p50 "
        f"{words.microseconds(think['p50_us'])}, p95 {words.microseconds(think['p95_us'])}, p99 "
        f"{words.microseconds(think['p99_us'])}"
    )
    if think["overlapping_calls"]:
        yield f"{think['overlapping_calls']:,} calls began before the previous call of their stream returned"


def _tables(info: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], list[tuple[object, ...]]]]:
    yield "calls by op", OPS, list(op_rows(info))
    if len(info["phases"]) > 1:
        yield "calls by phase", ("phase", "calls", "errors", "bytes", "busy s", "most calls"), [
            _phase(phase, ops) for phase, ops in info["phases"].items()
        ]  # fmt: skip
    for op, access in info["sizes"].items():
        title = f"bytes of a {op}; {words.percent(access['sequential_share'])} continue where the last one ended"
        yield title, ("size", "calls", "share"), [
            (size_class(one), one["calls"], f"{one['calls'] / access['calls']:.1%}")
            for one in access["by_size"]
            if one["calls"]
        ]  # fmt: skip
    tree = info["tree"]
    yield "tree", ("", "number", "bytes", "median size"), [
        _files("existing files", tree["existing"]),
        _files("created files", tree["made"]),
        ("existing directories", tree["directories"] - tree["directories_made"], "", ""),
        ("created directories", tree["directories_made"], "", ""),
        ("names without a file", tree["missing"], "", ""),
        ("most entries of a directory", tree["most_entries"], "", ""),
        ("mean length of a name", f"{tree['mean_name_bytes']:.1f}", "", ""),
        ("compressed ÷ raw bytes", f"{tree['ratio']:.2f}", "", ""),
    ]  # fmt: skip
    yield "depth of files", ("directories above", "files"), list(tree["files_by_depth"].items())
    streams = info["streams"]
    more = f", the first {STREAMS_SHOWN} of {len(streams):,}" if len(streams) > STREAMS_SHOWN else ""
    yield f"streams{more}", ("worker", "slot", "calls", "busy s"), [
        (s["worker"], s["slot"], s["calls"], f"{s['busy_s']:.3f}") for s in streams[:STREAMS_SHOWN]
    ]  # fmt: skip


OPS = ("op", "calls", "share", "errors", "bytes", "busy s", "p50", "p95", "p99", "longest")


def op_rows(info: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of table OPS: one for each op, and one for each of its size classes below it."""
    for op, of in info["ops"].items():
        times = (f"{of['busy_s']:.3f}", *_percentiles(of), words.microseconds(of["max_us"]))
        yield op, of["calls"], f"{of['share']:.1%}", of["errors"], bytes_text(of["bytes"]), *times
        for size, sized in of["latency_by_size"].items():
            yield f"  {size}", sized["calls"], "", "", "", "", *_percentiles(sized), ""


def _percentiles(of: Mapping[str, Any]) -> Iterator[str]:
    return (words.microseconds(of[name]) for name in ("p50_us", "p95_us", "p99_us"))


def _phase(phase: str, ops: Mapping[str, Any]) -> tuple[object, ...]:
    most = max(ops, key=lambda op: int(ops[op]["calls"]))
    return (
        phase,
        sum(of["calls"] for of in ops.values()),
        sum(of["errors"] for of in ops.values()),
        bytes_text(sum(of["bytes"] for of in ops.values())),
        f"{sum(of['busy_s'] for of in ops.values()):.3f}",
        f"{most} {ops[most]['calls']:,}",
    )


def _files(name: str, files: Mapping[str, Any]) -> tuple[object, ...]:
    low, high = files["median_class"]
    median = size_class({"from": low, "below": high}) if files["files"] else ""
    return name, files["files"], bytes_text(files["bytes"]), median


def size_class(one: Mapping[str, int]) -> str:
    """Return a size class as text, such as `4 KiB to 8 KiB`; classes are powers of two."""
    return "0 B" if not one["from"] else f"{words.binary(one['from'])} to {words.binary(one['below'])}"

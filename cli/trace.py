"""`edbench trace`: record, show, convert and merge traces of storage calls. `replay` is in `cli.replay`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.context import CommandContext, shared, with_options
from cli.output import bytes_text, flush, print_json, table
from cli.tree import Commands, writable_file
from core.errors import UsageError
from core.reading import read_problem
from experiments.report import words
from traces.as_data import trace_info
from traces.converters.export import ExportFormat, export_trace
from traces.converters.jsonl import FORMAT, import_jsonl
from traces.converters.strace.importing import Imported, import_strace
from traces.merge import Align, merge_traces
from traces.read import open_trace
from traces.summary import summarise

if TYPE_CHECKING:
    from rich.console import Console

    from controller.databases import JobHandle
    from controller.jobs.figures import TraceFigures

commands = Commands()

NAMES_SHOWN, STREAMS_SHOWN = 8, 16

TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", readable=False, help="a trace file")]
NewTrace = Annotated[Path, typer.Option("--output-file", metavar="TRACE", help="Write the trace to this file.")]


@commands.add("record", "edbench trace record last")
def record(
    ctx: typer.Context, job: opt.JobArgument, storage: opt.StorageRoot = None, output: opt.TableOrJson = "table"
) -> None:
    """Write the trace of a job that was created with --trace.

    `discover` and `job resume` write it themselves when they wait for the job. It can be written again at any time.
    """
    from cli.installation import installation  # the other commands here need no database
    from cli.summary import trace_text
    from controller.jobs.results import job_result
    from controller.observe.trace_collection import collect_trace, trace_figures

    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    traces: list[tuple[JobHandle, TraceFigures]] = []
    with installation(settings) as installed:
        handles = installed.find(job).each
        for handle in handles:
            if not handle.job.options.trace:
                raise UsageError(f"job {handle.id} recorded no calls: create the job with `edbench discover --trace`")
            if not handle.job.state.over:
                raise UsageError(f"job {handle.id} is {handle.job.state}: its trace can be written when it is over")
        for handle in handles:
            labels = job_result(handle, installed.settings).labels
            gathered = collect_trace(handle, installed.settings, context.clock, labels=labels, ours=installed.embedded)
            traces.append((handle, trace_figures(gathered)))
    if output == "json":
        print_json([trace.to_json() | {"job": str(handle.id)} for handle, trace in traces])
        return
    for _, trace in traces:
        context.out.print(trace_text(trace), markup=False, soft_wrap=True)
    flush()


@commands.add("info", "edbench trace info job.edbtrace --html trace.html")
def info(
    ctx: typer.Context,
    trace: TraceFile,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with charts to FILE, too.")
    ] = None,
    output: opt.TableOrJson = "table",
) -> None:
    """Show a trace: operations, sizes, think time, concurrency, files."""
    writable_file(html, "--html")
    with open_trace(trace) as opened:
        found = trace_info(summarise(opened), opened.size)
    if html is not None:
        from experiments.report.trace_page import write_trace_page  # imports matplotlib

        write_trace_page(found, trace.name, totals(found), html)
    if output == "json":
        print_json(found)
    else:
        show_trace(shared(ctx).out, trace.name, found)
        flush()


@commands.add("export", "edbench trace export job.edbtrace fio-job --format fio")
def export(
    ctx: typer.Context,
    trace: TraceFile,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="the file to write; for fio a new directory")],
    form: Annotated[
        ExportFormat, typer.Option("--format", help="Write this format; only jsonl is lossless.")
    ] = ExportFormat.JSONL,
) -> None:
    """Convert a trace to JSON lines, a fio job, or an elbencho tree file.

    The command prints what the format cannot represent, with numbers.
    """
    context = shared(ctx)
    if form is not ExportFormat.FIO:
        writable_file(target, "TARGET")
    with open_trace(trace) as opened:
        done = export_trace(opened, form, target)
    console = context.out
    for file in done.files[:NAMES_SHOWN]:
        console.print(str(file), markup=False, soft_wrap=True)
    if len(done.files) > NAMES_SHOWN:
        console.print(f"… and {len(done.files) - NAMES_SHOWN:,} more", markup=False)
    for line in done.losses or ("nothing",):
        console.print(f"lost: {line}", markup=False, soft_wrap=True)
    console.print(f"use: {done.usage}", markup=False, soft_wrap=True)
    flush()


@commands.add("import", "edbench trace import app.log --under /data --output-file app.edbtrace")
def import_(
    ctx: typer.Context,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", readable=False, help="one strace log, all logs of strace -ff, or one JSONL export"
        ),
    ],
    output_file: NewTrace,
    under: Annotated[
        list[Path] | None,
        typer.Option("--under", metavar="DIR", help="Keep only calls on files below DIR; repeatable."),
    ] = None,
    start_directory: Annotated[
        Path | None, typer.Option("--cwd", metavar="DIR", help="Resolve relative paths from DIR.  [default: unknown]")
    ] = None,
) -> None:
    """Convert an strace log, or a JSONL export, to a trace.

    The log is of any program under `strace -f -ttt -T`.

    The calls of each process or thread become a stream. The command prints which calls a trace cannot represent, with numbers.
    """
    context = shared(ctx)
    writable_file(output_file, "--output-file")
    if output_file.resolve() in {log.resolve() for log in logs}:
        raise UsageError(f"--output-file {output_file} is one of the logs: give the trace another name")
    if _is_jsonl(logs[0]):
        if len(logs) > 1 or under or start_directory:
            raise UsageError("a JSONL export is imported alone: remove the other LOGs, --under and --cwd")
        import_jsonl(logs[0], output_file)
    else:
        _report(context, import_strace(logs, output_file, under=under or (), start_directory=start_directory))
    _written(context, output_file)


def _is_jsonl(path: Path) -> bool:
    """Whether the first line is that of an export. Raises UsageError."""
    try:
        with path.open("rb") as file:
            line = file.readline(1 << 20)
    except OSError as error:
        raise UsageError(read_problem(path, error)) from error
    try:
        first = json.loads(line)
    except ValueError:
        return line.startswith(b'{"type": "trace"')  # cut inside the first line: the import says so
    return isinstance(first, dict) and str(first.get("format")).partition("/")[0] == FORMAT.partition("/")[0]


def _report(context: CommandContext, done: Imported) -> None:
    """What the trace has of the log, on standard error."""
    context.say(f"{done.log_calls:,} system calls read; {done.header.calls:,} calls on {done.nodes:,} paths kept")
    if done.not_carried:
        context.say(f"omitted, a trace has no operation for them: {_listed(done.not_carried)}")
    if done.elsewhere:
        context.say(f"omitted, on pipes, sockets, devices and excluded paths: {done.elsewhere:,}")
    if done.unknown_descriptors:
        context.say(f"omitted, on descriptors whose open call is not in the log: {done.unknown_descriptors:,}")
    if done.other:
        context.say(f"omitted, not about files or unknown: {_listed(done.other)}")
    if done.never_ended:
        context.say(f"omitted, did not return before the end of the process or the log: {done.never_ended:,}")
    if done.malformed:
        context.say(f"omitted, syntax errors: {done.malformed:,} lines, the first is {done.first_malformed}")
    if done.steps_back:
        context.say(f"the clock was set back: {done.steps_back:,} calls get the start time of the call before")


def _listed(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{name} {count:,}" for name, count in most[:NAMES_SHOWN])
    rest = most[NAMES_SHOWN:]
    return shown + (f", {len(rest)} more kinds {sum(count for _, count in rest):,}" if rest else "")


@commands.add("merge", "edbench trace merge a.edbtrace b.edbtrace --output-file both.edbtrace")
def merge(
    ctx: typer.Context,
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", readable=False, help="two or more trace files")],
    output_file: NewTrace,
    align: Annotated[
        Align, typer.Option("--align", help="Align the traces by wall clock, or start all at once.")
    ] = Align.CLOCK,
) -> None:
    """Merge traces of several jobs or hosts into one.

    The streams of all traces are in it.
    """
    context = shared(ctx)
    writable_file(output_file, "--output-file")
    done = merge_traces(traces, output_file, align)
    for path, shift in zip(traces, done.shifts_ns, strict=True):
        context.say(f"{path.name} starts {shift / 1e9:.3f} s into it")
    _written(context, output_file)


def _written(context: CommandContext, target: Path) -> None:
    with open_trace(target) as opened:
        header = opened.header
        console = context.out
        console.print(
            f"{target}: {len(header.streams):,} streams, {header.calls:,} calls in {header.duration_ns / 1e9:.3f} s, "
            f"{bytes_text(opened.size)}",
            markup=False,
            soft_wrap=True,
        )
    flush()


def show_trace(console: Console, name: str, said: Mapping[str, Any]) -> None:
    """A line of totals, then tables; `said` is the value of `traces.as_data.trace_info` gives."""
    console.print(f"{name}: {totals(said)}", markup=False, soft_wrap=True)
    for line in _remarks(said):
        console.print(line, markup=False, soft_wrap=True)
    for title, columns, rows in _tables(said):
        if rows:
            console.print()
            console.print(title, markup=False)
            console.print(table(columns, rows, right=tuple(range(1, len(columns)))))


def totals(said: Mapping[str, Any]) -> str:
    """`7 streams, 12,345 calls in 1:02 min, 1.2 GB moved; 9.8 MB, 7.9 MB per million calls`."""
    return (
        f"{words.many(len(said['streams']), 'stream')}, {words.many(said['calls'], 'call')} in "
        f"{words.seconds(said['duration_s'])}, {bytes_text(said['moved_bytes'])} moved; file size "
        f"{bytes_text(said['bytes'])}, {bytes_text(said['bytes_per_million_calls'])} per million calls"
    )


def _remarks(said: Mapping[str, Any]) -> Iterator[str]:
    if said["lost"]:
        yield f"LOST: {said['lost']:,} calls were lost during recording"
    think, flight = said["think"], said["concurrency"]
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


def _tables(said: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], list[tuple[object, ...]]]]:
    times = ("busy s", "p50", "p95", "p99", "longest")
    yield "calls by op", ("op", "calls", "share", "errors", "bytes", *times), [
        row for op, of in said["ops"].items() for row in _op(op, of)
    ]  # fmt: skip
    if len(said["phases"]) > 1:
        yield "calls by phase", ("phase", "calls", "errors", "bytes", "busy s", "most calls"), [
            _phase(phase, ops) for phase, ops in said["phases"].items()
        ]  # fmt: skip
    for op, access in said["sizes"].items():
        title = f"bytes of a {op}; {words.percent(access['sequential_share'])} continue where the last one ended"
        yield title, ("size", "calls", "share"), [
            (size_class(one), one["calls"], f"{one['calls'] / access['calls']:.1%}")
            for one in access["by_size"]
            if one["calls"]
        ]  # fmt: skip
    tree = said["tree"]
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
    streams = said["streams"]
    more = f", the first {STREAMS_SHOWN} of {len(streams):,}" if len(streams) > STREAMS_SHOWN else ""
    yield f"streams{more}", ("worker", "slot", "calls", "busy s"), [
        (s["worker"], s["slot"], s["calls"], f"{s['busy_s']:.3f}") for s in streams[:STREAMS_SHOWN]
    ]  # fmt: skip


def _op(op: str, of: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """An op's row, and one for each class of size under it."""
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
    """`4 KiB to 8 KiB`; sizes are counted in powers of two."""
    return "0 B" if not one["from"] else f"{_binary(one['from'])} to {_binary(one['below'])}"


def _binary(value: int) -> str:
    for unit, bits in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 1 << bits:
            return f"{value >> bits} {unit}"
    return f"{value} B"

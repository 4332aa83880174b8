"""`edbench trace`: look at a trace, export it, import one, merge several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.context import CommandContext, shared, writable_file
from cli.options import AsJson
from cli.output import bytes_text, flush, print_json
from cli.traces.collect import collect
from cli.traces.tables import show_trace, totals
from core.errors import UsageError
from traces.as_data import trace_info
from traces.converters.export import ExportFormat, export_trace
from traces.converters.jsonl import FORMAT, import_jsonl
from traces.converters.strace.importing import Imported, import_strace
from traces.merge import Align, merge_traces
from traces.read import open_trace
from traces.summary import summarise

NAMES_SHOWN = 8

TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", readable=False, help="a trace")]


def info(
    ctx: typer.Context,
    trace: TraceFile,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="write a page with pictures there, too")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what a trace holds: op mix, sizes, think time, calls in flight, files and the shape of their tree.

    The whole trace is read once.
    """
    writable_file(html, "--html")
    with open_trace(trace) as opened:
        said = trace_info(summarise(opened), opened.size)
    if html is not None:
        from experiments.report.trace_page import write_trace_page  # imports matplotlib

        write_trace_page(said, trace.name, totals(said), html)
    if as_json:
        print_json(said)
    else:
        show_trace(shared(ctx).out, trace.name, said)
        flush()


def export(
    ctx: typer.Context,
    trace: TraceFile,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="a file; for fio a directory of its own")],
    form: Annotated[ExportFormat, typer.Option("--format", help="what to write")] = ExportFormat.JSONL,
) -> None:
    """Write a trace as JSON lines (lossless), as a fio job with its files, or as a tree file of elbencho.

    What a format cannot carry is said, with its numbers.
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


def import_(
    ctx: typer.Context,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG…", readable=False, help="a log of strace, or all of strace -ff; or one JSONL export"
        ),
    ],
    target: Annotated[Path, typer.Option("--output", "-o", metavar="TRACE", help="the trace to write")],
    under: Annotated[
        list[Path] | None, typer.Option("--under", metavar="DIR", help="keep only calls on what lies there; repeatable")
    ] = None,
    start_directory: Annotated[
        Path | None, typer.Option("--cwd", metavar="DIR", help="where the program was started  [default: not known]")
    ] = None,
) -> None:
    """Make a trace of an `strace -f -ttt -T` log of any program, or of a JSONL export.

    The calls of each process or thread become a stream. What of the log a trace cannot hold is said, with its numbers.
    """
    context = shared(ctx)
    writable_file(target, "--output")
    if target.resolve() in {log.resolve() for log in logs}:
        raise UsageError(f"--output {target} is what is to be imported: give the trace another name")
    if _is_jsonl(logs[0]):
        if len(logs) > 1 or under or start_directory:
            raise UsageError("a JSONL export is imported by itself, as it is")
        import_jsonl(logs[0], target)
    else:
        _said(context, import_strace(logs, target, under=under or (), start_directory=start_directory))
    _written(context, target)


def _is_jsonl(path: Path) -> bool:
    """Whether the first line is that of an export. Raises UsageError."""
    try:
        with path.open("rb") as file:
            line = file.readline(1 << 20)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        first = json.loads(line)
    except ValueError:
        return line.startswith(b'{"type": "trace"')  # cut inside the first line: the import says so
    return isinstance(first, dict) and str(first.get("format")).partition("/")[0] == FORMAT.partition("/")[0]


def _said(context: CommandContext, done: Imported) -> None:
    """What became of the log, on standard error."""
    context.say(f"{done.log_calls:,} system calls read; {done.header.calls:,} calls on {done.nodes:,} paths kept")
    if done.not_carried:
        context.say(f"not carried, calls on files that a trace has no op for: {_listed(done.not_carried)}")
    if done.elsewhere:
        context.say(f"left out, on pipes, sockets, devices and paths that are not looked at: {done.elsewhere:,}")
    if done.unknown_descriptors:
        context.say(f"left out, on descriptors whose opening the log does not show: {done.unknown_descriptors:,}")
    if done.other:
        context.say(f"left out, not about files or unknown: {_listed(done.other)}")
    if done.never_ended:
        context.say(f"left out, had not returned at the end of their process or of the log: {done.never_ended:,}")
    if done.malformed:
        context.say(f"left out, not understood: {done.malformed:,} lines, the first is {done.first_malformed}")
    if done.steps_back:
        context.say(f"the clock was set back: {done.steps_back:,} calls begin when the one before them began")


def _listed(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{name} {count:,}" for name, count in most[:NAMES_SHOWN])
    rest = most[NAMES_SHOWN:]
    return shown + (f", {len(rest)} more kinds {sum(count for _, count in rest):,}" if rest else "")


def merge(
    ctx: typer.Context,
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE…", readable=False, help="two traces or more")],
    target: Annotated[Path, typer.Option("--output", "-o", metavar="TRACE", help="the trace to write")],
    align: Annotated[
        Align, typer.Option("--align", help="by the wall clock they were made at, or all starting together")
    ] = Align.CLOCK,
) -> None:
    """Put several traces, of several jobs or hosts, into one: streams side by side, trees beside each other."""
    context = shared(ctx)
    writable_file(target, "--output")
    done = merge_traces(traces, target, align)
    for path, shift in zip(traces, done.shifts_ns, strict=True):
        context.say(f"{path.name} starts {shift / 1e9:.3f} s into it")
    _written(context, target)


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


def trace_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(
        rich_markup_mode=None, help="Look at a trace of storage calls, export it, import one, merge several."
    )
    app.command("collect", epilog="Example: edbench trace collect last")(collect)
    app.command("info", epilog="Example: edbench trace info job.edbtrace --html trace.html")(info)
    app.command("export", epilog="Example: edbench trace export job.edbtrace fio-job --format fio")(export)
    app.command("import", epilog="Example: edbench trace import app.log --under /data -o app.edbtrace")(import_)
    app.command("merge", epilog="Example: edbench trace merge a.edbtrace b.edbtrace -o both.edbtrace")(merge)
    return app

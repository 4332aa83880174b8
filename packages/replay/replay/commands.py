"""`edbench trace`: show, convert, merge and replay traces of storage calls. `record` is in `cli.trace`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.experiment import Experiment
from cli.output import await_answer
from cli.tree import Commands
from core import texts
from core.errors import UsageError
from core.texts import many

if TYPE_CHECKING:
    from rich.console import Console

    from core.settings import Settings
    from experiments.kinds import Plan
    from experiments.result.schema import Result
    from replay.orders import ReplayOrder, ReplayStudyOrder
    from replay.workload import Replays

from cli.output import bytes_text, flush, print_lines
from cli.tree import writable_file
from replay.jsonl import ExportFormat
from replay.merge import Align, merge_traces
from replay.strace.importing import Imported, import_strace
from replay.trace_summary import TraceSummary, trace_info
from replay.trace_tables import show_trace
from traces.file import open_trace

commands = Commands()

NAMES_SHOWN = 8
TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", readable=False, help="a trace file")]
NewTrace = Annotated[Path, typer.Option("--to", metavar="TRACE", help=texts.TO)]


@commands.add("info", "edbench trace info job.edbtrace --html trace.html")
def info(
    ctx: typer.Context,
    trace: TraceFile,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts to FILE.")
    ] = None,
) -> None:
    """Show a trace: operations, sizes, think time, concurrency, files."""
    writable_file(html, "--html")
    with open_trace(trace) as opened:
        found = trace_info(TraceSummary(opened), opened.size)
    if html is not None:
        from replay.trace_report import write_trace_page  # imports matplotlib

        write_trace_page(found, trace.name, html)
    context = shared(ctx)
    if not context.document(found):
        show_trace(context.out, trace.name, found)
        flush()


@commands.add("export", "edbench trace export job.edbtrace fio-job --format fio")
def export(
    ctx: typer.Context,
    trace: TraceFile,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="the file to write; for fio a new directory")],
    form: Annotated[ExportFormat, typer.Option("--format", help=texts.FORMAT)] = ExportFormat.JSONL,
) -> None:
    """Convert a trace to JSON lines, a fio job, or an elbencho tree file.

    Only jsonl is lossless; the command prints what the other formats cannot represent, with numbers."""
    context = shared(ctx)
    if form is not ExportFormat.FIO:
        writable_file(target, "TARGET")
    from replay.exports import export_trace

    with open_trace(trace) as opened:
        done = export_trace(opened, form, target)
    if context.document(done):
        return
    console = context.out
    print_lines(console, *map(str, done.files[:NAMES_SHOWN]))
    if len(done.files) > NAMES_SHOWN:
        console.print(f"… and {len(done.files) - NAMES_SHOWN:,} more")
    print_lines(console, *(f"lost: {line}" for line in done.losses or ("nothing",)), f"use: {done.usage}")
    flush()


@commands.add("import", "edbench trace import app.log --under /data --to app.edbtrace")
def import_(
    ctx: typer.Context,
    log: Annotated[Path, typer.Argument(metavar="LOG", readable=False, help="an strace log")],
    to: NewTrace,
    under: Annotated[
        list[Path] | None,
        typer.Option("--under", metavar="DIR", help="Keep only calls on files below DIR; repeatable."),
    ] = None,
    start_directory: Annotated[
        Path | None, typer.Option("--cwd", metavar="DIR", help="Resolve relative paths from DIR.  [default: unknown]")
    ] = None,
) -> None:
    """Convert an strace log to a trace.

    The log is of any program under `strace -f -ttt -T`.

    The calls of each process or thread become a stream. The command prints which calls a trace cannot represent, with
    numbers."""
    context = shared(ctx)
    writable_file(to, "--to")
    if to.resolve() == log.resolve():
        raise UsageError(f"--to {to} is the log; give the trace another name")
    _report(context, import_strace(log, to, under=under or (), start_directory=start_directory))
    _written(context, to)


def _report(context: CommandContext, done: Imported) -> None:
    """Report on standard error what the trace contains of the log."""
    context.say(
        f"{many(done.log_calls, 'system call')} read; {many(done.header.calls, 'call')} on {many(done.nodes, 'path')} kept"
    )
    for what, found in (
        ("a trace has no operation for them", done.not_carried),
        ("on pipes, sockets, devices and excluded paths", done.elsewhere),
        ("on descriptors whose open call is not in the log", done.unknown_descriptors),
        ("not about files or unknown", done.other),
        ("no return before the end of the process or the log", done.never_ended),
    ):
        if found:
            context.say(f"omitted, {what}: {f'{found:,}' if isinstance(found, int) else _listed(found)}")
    if done.malformed:
        context.say(f"omitted, syntax errors: {many(done.malformed, 'line')}, the first is {done.first_malformed}")
    if done.steps_back:
        context.say(f"the clock was set back: {done.steps_back:,} calls get the start time of the previous call")


def _listed(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{name} {count:,}" for name, count in most[:NAMES_SHOWN])
    rest = most[NAMES_SHOWN:]
    return shown + (f", {len(rest)} more kinds {sum(count for _, count in rest):,}" if rest else "")


@commands.add("merge", "edbench trace merge a.edbtrace b.edbtrace --to both.edbtrace")
def merge(
    ctx: typer.Context,
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", readable=False, help="two or more trace files")],
    to: NewTrace,
    align: Annotated[
        Align, typer.Option("--align", help="Align the traces by wall clock, or start all at once.")
    ] = Align.CLOCK,
) -> None:
    """Merge traces of several jobs or hosts into one.

    The streams of all traces are in it."""
    context = shared(ctx)
    writable_file(to, "--to")
    for path, shift in zip(traces, merge_traces(traces, to, align), strict=True):
        context.say(f"{path.name} starts {shift / 1e9:.3f} s into it")
    _written(context, to)


@dataclass(frozen=True, slots=True)
class WrittenTrace:
    """A written trace file."""

    path: str
    streams: int
    calls: int
    seconds: float
    bytes: int


def _written(context: CommandContext, target: Path) -> None:
    with open_trace(target) as opened:
        header = opened.header
        of = WrittenTrace(str(target), len(header.streams), header.calls, header.duration_ns / 1e9, opened.size)
    if not context.document(of):
        print_lines(
            context.out,
            f"{target}: {many(of.streams, 'stream')}, {many(of.calls, 'call')} in {of.seconds:.3f} s, {bytes_text(of.bytes)}",
        )
    flush()


@commands.add(
    "replay",
    "edbench trace replay job.edbtrace --path /mnt/filer/replay --clients 1,4,16",
    "replay.orders:ReplayStudyOrder",
)
def replay(
    ctx: typer.Context,
    *,
    trace: TraceFile,
    path: Annotated[list[Path], typer.Option("--path", metavar="DIR", help=texts.PATH)],
    order: ReplayStudyOrder,
    shared_files: Annotated[
        bool,
        typer.Option(
            "--shared/--private", help="Let all clones of the trace read the same files, or give each its own."
        ),
    ] = False,
    not_empty: Annotated[
        bool, typer.Option("--not-empty", help="Accept a directory that is not empty; its files are kept.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the files that the replay creates.")] = False,
    storage: opt.StorageRoot = None,
    experiment: Experiment,
) -> None:
    """Run the storage calls of a trace again.

    Client processes run the calls without the work between them.

    The command creates files of the same sizes and depths below each --path and removes them afterwards. It keeps the
    intended start times, so response times include waiting; --pace job measures how long the job would take on this
    storage. Several numbers of clients, and several filers, run one after another in random order into one report,
    whose path is the last line."""
    from cli.bench import given_stages, print_result
    from replay.orders import ReplayOrder, parse_pace
    from replay.tree import check_paths

    context = shared(ctx)
    settings = context.settings(storage=storage)
    settings = dataclasses.replace(settings, filer_cache=opt.declared_cache(order.filer_cache, settings))
    pace = parse_pace(order.pace)
    wanted = ReplayOrder(
        trace=trace.absolute(),
        paths=tuple(one.absolute() for one in path),
        speed=pace.speed,
        closed=pace.closed,
        shared=shared_files,
        seed=order.seed,
        not_empty=not_empty,
        keep=keep,
    )
    filers = filers_of(order.filer, settings)
    if order.stages is not None:
        stages = given_stages(ctx, "clients", order.stages, "max_p99", "levels")
        if len(filers) > 1:
            raise UsageError("--stages takes one --filer", field="stages")
        order = order.model_copy(update={"clients": ",".join(str(load) for load, _ in stages)})
    wish = wish_of(wanted, order, filers)
    check_paths(wanted.paths, not_empty=not_empty)
    experiment.begin("replay")
    replayed = _replayed(context, settings, wanted, wish, experiment, order.workers)
    print_result(context, *replayed, experiment, show_fidelity)


def filers_of(text: str | None, settings: Settings) -> tuple[str, ...]:
    """Return each filer once, in the given order. Raises UsageError."""
    from core.filer.model import load_filer

    if text is None:
        return (settings.filer,)
    names = [text] if Path(text).is_file() else [part.strip() for part in text.split(",")]
    if not all(names):
        raise UsageError(f"--filer is {text!r}; it must be names such as none,titan")
    found: dict[str, str] = {}
    for name in names:
        model = load_filer(name)
        label, source = ("", "none") if model is None else (model.choice.label, model.source)
        if found.setdefault(label, source) != source:
            raise UsageError(f"--filer: two filers have the name {label}; rename one of them")
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Wish:
    """Requested points: numbers of clients, or bounds on response time and the limits of a search."""

    filers: tuple[str, ...]
    order: ReplayStudyOrder
    clients: Sequence[int]
    bounds_us: dict[str, float] | None = None

    def plan(self, replays: Replays) -> Plan:
        """Return the points."""
        from experiments.kinds import Plan, in_stages, knee, parse_stages, sweep

        asked = self.order
        if asked.stages is not None:
            (base,) = replays.loads()
            return in_stages(base, "clients", parse_stages(asked.stages))
        if asked.levels is not None:
            (base,) = replays.loads(*self.clients)
            return Plan(
                kind="load", axis="percent", points=(base.values(),), repeats=asked.repeats, seed=asked.seed,
                levels=asked.levels, peak=asked.peak,
            )  # fmt: skip
        if self.bounds_us is None:
            return sweep(replays.loads(), "clients", self.clients, repeats=asked.repeats, seed=asked.seed)
        (base,), most = replays.loads(), max(self.clients)
        return knee([base], "clients", self.bounds_us, most=most, repeats=asked.repeats)


def wish_of(order: ReplayOrder, asked: ReplayStudyOrder, filers: tuple[str, ...]) -> Wish:
    """Check the options before anything is started. Raises UsageError for invalid ones."""
    from experiments.kinds import parse_bounds
    from replay.plan import plan_replay
    from traces.file import open_trace

    bounds, clients = asked.max_p99, asked.clients
    with open_trace(order.trace) as opened:
        header = opened.header
    if asked.levels is None and asked.peak is not None:
        raise UsageError("--peak requires --levels N")
    if asked.levels is not None and (bounds is not None or order.speed != 1.0 or order.closed):
        raise UsageError("--levels sets the pace: remove --max-p99 and --pace")
    if bounds is not None:
        if clients is not None:
            raise UsageError("--clients and --max-p99 exclude each other: the search finds the number of clients")
        if len(filers) > 1:
            raise UsageError("--max-p99 searches for the largest load of one storage: give one --filer")
        return Wish(filers, asked, (asked.max_clients,), parse_bounds(bounds))
    streams = sum(1 for stream in header.streams if stream.calls)
    many = tuple(opt.numbers(clients, "--clients", digits=9)) if clients is not None else (max(1, streams),)
    for number in many:
        plan_replay(header, clients=number, paths=len(order.paths), speed=order.speed or None)
    if asked.levels is not None and (len(filers) > 1 or len(many) > 1):
        raise UsageError("--levels takes one --filer and one number of --clients")
    return Wish(filers, asked, many)


def _replayed(
    context: CommandContext,
    settings: Settings,
    order: ReplayOrder,
    wish: Wish,
    experiment: Experiment,
    workers: int | None,
) -> tuple[Result, Path]:
    from experiments.crew.system import Wanted, taken_system
    from experiments.study import conduct
    from replay.workload import Replays

    await_answer(*order.paths)
    array, asked, system, many = experiment.counters(context), wish.order, None, 1
    with contextlib.ExitStack() as stack:
        if experiment.listen is not None or not settings.embedded:
            wanted = Wanted(workers=workers or 1, databases=1, slots=1)
            taken = taken_system(settings, context.env, order.paths[0], wanted, context.say, experiment.ways)
            system, _ = stack.enter_context(taken)
            many = workers or sum(member.workers for member in system.admission.crew.present())
        replays = Replays(settings, system, many, order, wish.filers, wish.bounds_us or (), context.clock, context.say)
        return conduct(replays, wish.plan(replays), asked.min_seconds, fail_if=asked.fail_if or (), array=array)


def show_fidelity(console: Console, result: Result) -> None:
    """Print the comparison of the trace with its replay; nothing if they cannot be compared."""
    from cli.output import column_table
    from replay.report import COMPARED, compared_on
    from replay.runs import ReplayResult

    if not isinstance(result, ReplayResult) or result.fidelity is None:
        return
    console.print(f"\n{compared_on(result, result.fidelity)}")
    console.print(column_table(COMPARED, result.fidelity.rows))

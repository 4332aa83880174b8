"""`edbench replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli import options as opt
from cli.context import CommandContext, installation, shared, with_options, writable_file
from cli.experiment import numbers
from cli.output import flush, write_json
from cli.table import table
from controller.jobs.progress import Snapshot
from controller.jobs.rates import duration
from controller.replay.order import ReplayOrder, parse_speed
from controller.replay.run import Stage
from core.errors import UsageError
from core.filer.load import load_filer, profile_names
from core.settings import Settings
from experiments.knee import parse_bounds
from experiments.replay.conduct import Loads, Replays
from experiments.replay.report import write_replay_report
from experiments.replay.result import ALL, ReplayPoint, ReplayResult, by_storage, to_json
from experiments.report import words
from replay.plan import MAX_CLIENTS, plan_replay
from replay.room import check_paths
from traces.read import open_trace

_SHOWN_SECONDS = 5.0
_LEAST_SECONDS = 1.0  # before this, another replay begins

Trace = Annotated[Path, typer.Argument(metavar="TRACE", readable=False, help="what `discover --trace` wrote")]
Paths = Annotated[
    list[Path], typer.Option("--path", metavar="DIR", help="an empty directory on the storage under test; repeatable")
]
Clients = Annotated[
    str | None,
    typer.Option(
        "--clients", metavar="N,N,…", help="client processes, one number after another  [default: as recorded]"
    ),
]
Speed = Annotated[str, typer.Option(metavar="SPEED", help="recorded, max (no think time), or a factor such as x2")]
Shared = Annotated[
    bool, typer.Option("--shared/--private", help="whether clones of the trace read the same files or each its own")
]
Force = Annotated[bool, typer.Option("--force", help="also where a directory is not empty; what is there stays")]
Keep = Annotated[bool, typer.Option("--keep", help="leave the files that were made")]
Bounds = Annotated[
    str | None,
    typer.Option(
        "--max-p99", metavar="OP=TIME,…", help="search the largest load with response p99 within, as read=20ms"
    ),
]
Filers = Annotated[
    str | None,
    typer.Option(
        "--filer",
        metavar="NAME,NAME,…",
        help=f"emulated filer: {', '.join(profile_names())}, or a file in TOML; several are replayed on one after"
        " another  [default: EDBENCH_FILER or none]",
    ),
]
MaxClients = Annotated[int, typer.Option(min=1, max=MAX_CLIENTS, help="the highest load that is tried with --max-p99")]
Workers = Annotated[int, typer.Option(min=1, max=512, help="worker processes the clients are spread over (embedded)")]
JobName = Annotated[str, typer.Option(help="name of the job  [default: from the trace]")]
Seed = Annotated[int, typer.Option(min=0, help="of the files' contents")]


def replay(
    ctx: typer.Context,
    trace: Trace,
    path: Paths,
    clients: Clients = None,
    speed: Speed = "recorded",
    shared_files: Shared = False,
    max_p99: Bounds = None,
    max_clients: MaxClients = 32,
    force: Force = False,
    keep: Keep = False,
    filer: Filers = None,
    workers: Workers = 1,
    seed: Seed = 0,
    storage: opt.StorageRoot = None,
    json_file: opt.JsonFile = None,
    name: JobName = "",
) -> None:
    """Make the storage calls of a trace again, from client processes, without the work between them.

    A tree of files of the same sizes and depths is prepared below each --path and removed afterwards. Intended start
    times are kept, so that response time includes waiting. Several numbers of clients, and several filers, run one
    after another into one report, whose path is the last line printed.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    filers = _filers(filer, settings)
    writable_file(json_file, "--json")
    order = ReplayOrder(
        trace=trace.absolute(),
        paths=tuple(one.absolute() for one in path),
        speed=parse_speed(speed),
        shared=shared_files,
        seed=seed,
        force=force,
        keep=keep,
        name=name,
    )
    loads = _loads(order, clients, max_p99, max_clients, filers)
    check_paths(order.paths, force=force)
    result, directory = _replay(context, settings, order, loads, workers)
    show_replay(context.out, result)
    if json_file is not None:
        write_json(json_file, to_json(result))
    page = write_replay_report(result, directory)
    flush()
    print(page)


def _filers(text: str | None, settings: Settings) -> tuple[str, ...]:
    """Each filer once, in the order asked for; raises UsageError."""
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
            raise UsageError(f"--filer: two of the filers are called {label}; give one of them another name")
    if len(found) > 1 and settings.databases:
        raise UsageError(
            f"--filer {text}: with the workers of another system (EDBENCH_DATABASES) a replay is on their one filer;"
            " name only that"
        )
    return tuple(found.values())


def _loads(order: ReplayOrder, clients: str | None, bounds: str | None, most: int, filers: tuple[str, ...]) -> Loads:
    """What is to be replayed; raises UsageError for what cannot be, before anything is started."""
    with open_trace(order.trace) as opened:
        header = opened.header
    streams = sum(1 for stream in header.streams if stream.calls)
    if bounds is not None:
        if clients is not None:
            raise UsageError("--clients and --max-p99 exclude each other: the search finds the number of clients")
        if len(filers) > 1:
            raise UsageError("--max-p99 searches the largest load of one storage: give it one --filer")
        return Loads(bounds_us=parse_bounds(bounds), most=most, filers=filers)
    many = tuple(numbers(clients, "--clients", digits=9)) if clients is not None else (max(1, streams),)
    for number in many:
        plan_replay(header, clients=number, paths=len(order.paths), speed=order.speed or None)
    return Loads(clients=many, filers=filers)


def _replay(
    context: CommandContext, settings: Settings, order: ReplayOrder, loads: Loads, workers: int
) -> tuple[ReplayResult, Path]:
    most = loads.most if loads.bounds_us is not None else max(loads.clients)
    with installation(settings, slots=most) as installed:
        stage = Stage(
            settings=installed.settings,
            database=installed.first(1)[0],
            ours=installed.embedded,
            workers=workers,
            env=context.env,
            clock=context.clock,
            show=_Progress(context.err).show,
            say=context.say,
        )
        return Replays(stage, order, loads).conduct()


class _Progress:
    """A plain line every five seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next: float | None = None

    def show(self, snapshot: Snapshot, at: float) -> None:
        """`at`: second of a monotonic clock."""
        if self._next is None or snapshot.elapsed_s < _LEAST_SECONDS:
            self._next = at + _SHOWN_SECONDS
        if at < self._next:
            return
        self._next = at + _SHOWN_SECONDS
        rate = snapshot.calls_per_second
        doing = f"{rate:,.0f} calls/s" if rate else "files are being prepared"
        self._console.print(f"{snapshot.phase}: {doing}, {duration(snapshot.elapsed_s)} elapsed", markup=False)


def show_replay(console: Console, result: ReplayResult) -> None:
    """The verdict, one line a point, the trace beside its replay, warnings."""
    console.print(result.verdict, markup=False, soft_wrap=True)
    console.print()
    columns = ("clients", "calls/s", "elapsed", "response p50", "p99", "service p50", "p99", "ceiling", "limit")
    for storage, points in by_storage(result.points).items():
        console.print(storage, markup=False)
        console.print(table(columns, [_row(point) for point in points], right=range(8)))
        console.print()
    if result.fidelity is not None:
        on = f"recorded on {result.recorded.emulated}, " if result.recorded.emulated else ""
        console.print(f"{on}replayed on {result.fidelity.storage}", markup=False)
        rows = [
            (
                row.what,
                _figure(row.unit, row.recorded),
                _figure(row.unit, row.replayed),
                f"{row.difference * 100:+z.1f} %",
                "" if row.bound is None else f"{row.bound:.0%} {'kept' if row.kept else 'NOT KEPT'}",
            )
            for row in result.fidelity.rows
        ]
        console.print(table(("figure", "recorded", "replayed", "difference", "bound"), rows, right=range(1, 4)))
    for point in result.points:
        for reason in point.limits:
            where = f"on {point.storage} with {words.many(point.clients, 'client')}"
            console.print(f"GENERATOR-LIMITED {where}: {reason}", markup=False, soft_wrap=True)
    for warning in result.warnings:
        console.print(f"note: {warning}", markup=False, soft_wrap=True)


def _figure(unit: str, value: float) -> str:
    return words.microseconds(value) if unit == "us" else words.figure(value)


def _row(point: ReplayPoint) -> tuple[object, ...]:
    response, service = point.response.get(ALL), point.service.get(ALL)
    times = [words.microseconds(us) for one in (response, service) if one for us in (one.p50_us, one.p99_us)]
    return (
        point.clients,
        words.figure(point.calls_per_second),
        words.seconds(point.elapsed_s),
        *(times or ["–"] * 4),
        "not known" if point.ceiling is None else words.count(point.ceiling.calls_per_second),
        "GENERATOR-LIMITED" if point.limited else "",
    )

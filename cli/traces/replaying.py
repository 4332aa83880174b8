"""What `edbench replay` does: the points that were wished for, carried out and shown."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cli.answering import await_answer
from cli.context import CommandContext
from cli.installation import installation
from cli.options import numbers
from cli.output import flush, write_json
from cli.show.study import show_study, show_warnings
from cli.show.table import table
from controller.filer.choice import refuse_site
from controller.jobs.progress import Snapshot
from controller.jobs.rates import duration
from controller.replay.order import ReplayOrder, parse_pace
from controller.replay.run import Stage
from core.errors import UsageError
from core.filer.load import load_filer
from core.settings import Settings
from experiments.hosts.players import players
from experiments.hosts.wanted import Wanted
from experiments.kinds.kind import Kind
from experiments.kinds.knee import KneeSearch, parse_bounds
from experiments.kinds.load import LoadLevels
from experiments.kinds.sweep import sweep
from experiments.package.finish import finish
from experiments.report import words
from experiments.result.codec import to_json
from experiments.result.schema import Result
from experiments.result.steady import MIN_SECONDS
from experiments.study import conduct
from experiments.workloads.replay import ABOUT
from experiments.workloads.replay.result import ReplayResult
from experiments.workloads.replay.scaling import Scaling, parse_scaling, refuse_other_scaling
from experiments.workloads.replay.workload import Replays
from replay.plan import plan_replay
from replay.room import check_paths
from traces.read import open_trace

_SHOWN_SECONDS = 5.0
_LEAST_SECONDS = 1.0  # before this, another replay begins

__all__ = ["ReplayOrder", "Wish", "carry_out", "filers_of", "parse_pace", "parse_scaling", "wish_of", "with_levels"]


def carry_out(
    context: CommandContext, settings: Settings, order: ReplayOrder, wish: Wish, workers: int, json_file: Path | None
) -> None:
    """Replay, and print the result; the report's path is the last line. Raises UsageError for directories in use."""
    check_paths(order.paths, force=order.force)
    result, directory = _replay(context, settings, order, wish, workers)
    show_study(context.out, result)
    show_fidelity(context.out, result)
    show_warnings(context.out, result)
    if json_file is not None:
        write_json(json_file, to_json(result))
    page = finish(result, directory)
    flush()
    print(page)


def filers_of(text: str | None, settings: Settings) -> tuple[str, ...]:
    """Each filer once, in the order asked for; raises UsageError."""
    if text is None:
        refuse_site(settings.filer)
        return (settings.filer,)
    names = [text] if Path(text).is_file() else [part.strip() for part in text.split(",")]
    if not all(names):
        raise UsageError(f"--filer is {text!r}; it must be names such as none,titan")
    found: dict[str, str] = {}
    for name in names:
        refuse_site(name)
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


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for: numbers of clients, or bounds on response time and the most that a search may try."""

    filers: tuple[str, ...]
    repeats: int
    clients: Sequence[int]
    bounds_us: dict[str, float] | None = None
    min_seconds: float = MIN_SECONDS
    levels: int | None = None  # of load, up to the peak
    peak: int | None = None  # calls a second; None: it is found
    hosts: Wanted | None = None  # that play; None: this one

    def kind(self, replays: Replays, seed: int) -> Kind:
        """Which points."""
        if self.levels is not None:
            (base,) = replays.loads(*self.clients)
            return LoadLevels(base, self.levels, repeats=self.repeats, seed=seed, rate=ABOUT.rate, peak=self.peak)
        if self.bounds_us is None:
            return sweep(replays.loads(), "clients", self.clients, repeats=self.repeats, seed=seed)
        (base,), most = replays.loads(), max(self.clients)
        return KneeSearch(base, "clients", self.bounds_us, most=most, repeats=self.repeats, rate=ABOUT.rate)


def wish_of(
    order: ReplayOrder, clients: str | None, bounds: str | None, most: int, filers: tuple[str, ...], repeats: int,
    scaling: Scaling | None,
) -> Wish:  # fmt: skip
    """Raises UsageError for what cannot be, before anything is started."""
    with open_trace(order.trace) as opened:
        header = opened.header
    streams = sum(1 for stream in header.streams if stream.calls)
    if bounds is not None:
        if clients is not None:
            raise UsageError("--clients and --max-p99 exclude each other: the search finds the number of clients")
        if len(filers) > 1:
            raise UsageError("--max-p99 searches the largest load of one storage: give it one --filer")
        if scaling is not None:
            raise UsageError("--scaling and --max-p99 exclude each other: the search finds the number of clients")
        return Wish(filers, repeats, (most,), parse_bounds(bounds))
    many = tuple(numbers(clients, "--clients", digits=9)) if clients is not None else (max(1, streams),)
    for number in many:
        plan_replay(header, clients=number, paths=len(order.paths), speed=order.speed or None)
        refuse_other_scaling(scaling, streams, number)
    return Wish(filers, repeats, many)


def with_levels(wish: Wish, levels: int | None, peak: int | None, order: ReplayOrder) -> Wish:
    """Raises UsageError where levels are asked for beside what they decide themselves."""
    if levels is None:
        if peak is not None:
            raise UsageError("--peak is of --levels")
        return wish
    if wish.bounds_us is not None or order.speed != 1.0 or order.closed:
        raise UsageError("--levels decides how fast calls come: not with --max-p99 or --pace")
    if len(wish.filers) > 1 or len(wish.clients) > 1:
        raise UsageError("--levels is of one storage and one number of clients")
    return dataclasses.replace(wish, levels=levels, peak=peak)


def _replay(
    context: CommandContext, settings: Settings, order: ReplayOrder, wish: Wish, workers: int
) -> tuple[Result, Path]:
    most, wanted = max(wish.clients), wish.hosts
    with contextlib.ExitStack() as stack:
        if wanted is not None and settings.databases:
            raise UsageError("--hosts brings workers of its own: unset EDBENCH_DATABASES and EDBENCH_BROKER")
        await_answer(*order.paths)
        listen = "" if wanted is None else wanted.address
        most *= 1 if wanted is None else wanted.hosts
        installed = stack.enter_context(installation(settings, slots=most, listen=listen))
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
        playing = None
        if wanted is not None:
            with open_trace(order.trace) as opened:
                streams = sum(1 for stream in opened.header.streams if stream.calls)
            where = (stage.settings, stage.database, order.paths, streams)
            playing = stack.enter_context(players(wanted, *where, context.env, context.say))
        replays = Replays(stage, order, wish.filers, wish.bounds_us or (), playing)
        return conduct(replays, wish.kind(replays, order.seed), wish.min_seconds)


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


def show_fidelity(console: Console, result: Result) -> None:
    """The trace beside its replay; nothing where they cannot be held against each other."""
    if not isinstance(result, ReplayResult) or result.fidelity is None:
        return
    on = f"recorded on {result.recorded.emulated}, " if result.recorded.emulated else ""
    console.print(f"\n{on}replayed on {result.fidelity.storage}", markup=False)
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


def _figure(unit: str, value: float) -> str:
    return words.microseconds(value) if unit == "us" else words.figure(value)

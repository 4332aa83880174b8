"""Replays of one trace as a workload of the experiment engine: its clients are on this host, or at members of a system's crew."""

from __future__ import annotations

import contextlib
import math
import platform
import secrets
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import to_builtins

from controller.filer import watched_filer
from controller.labels.rules import filer_cache
from controller.observe.call_time import split
from core.clock import Clock
from core.crew import Act, Place, Prepare, place_at, raw
from core.errors import Interrupted, RunFailed, StorageFault, SystemFault, UsageError, system_errors
from core.extensions import installed_version
from core.filer import FilerModel, load_filer
from core.mounts import read_mountinfo, storage_label
from core.operations import Op
from core.settings import Settings
from experiments.conditions import emulated
from experiments.crew.admission import BACK_SECONDS, described, usable
from experiments.crew.lease import Working
from experiments.crew.system import System
from experiments.package.manifest import file_hash
from experiments.result.schema import At
from experiments.workload import HostLost, Observe, Turn, Workload
from monitoring.aggregate import CallSum
from monitoring.machine import client_memory, host, place, usable_processors
from replay.about import ABOUT
from replay.local import PLACE, Order, Played, ReplayClient, players
from replay.member import PACKAGE, Start, Wanted
from replay.orders import ReplayOrder, pace_text
from replay.plan import ReplayChoice, ReplayPlan, recorded_rate
from replay.program import Program, compile_replay
from replay.runs import ALL, LEVELS, Load, Observed, RecordedFigures, recorded_figures
from replay.tally import ClientResult, merge_results
from replay.tree import Target, check_room, remove_trees
from traces.file import FileTrace, open_trace

_AHEAD_SECONDS = 0.5  # time for an order to play to reach a member
_RUN_DIGITS = 16
_COPY = "trace"


def numbers_by_member(plan: ReplayPlan, members: int) -> list[list[int]]:
    """Distribute the clients over the first members, in whole clones of the trace, whose clients share memory; members
    that would have none are omitted."""
    out: list[list[int]] = [[] for _ in plan.clones[:members]]
    first = 0
    for clone in plan.clones:
        last = first + len(clone.clients)
        out[clone.number % len(out)] += range(first, last)
        first = last
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Hosts on which the clients of a run play."""

    play: Callable[[], list[Played]]  # all start, and are through when it returns
    processors: float
    hosts: Callable[[], tuple[dict[str, Any], ...]] = tuple  # counts of each member, once all are through


class Replays(Workload):
    """Replays of a trace, one for each load.

    `system`: its crew has the clients; None: this host has them. `workers`: number of workers whose hosts are used;
    `filers`: filers to emulate one after another, each a source as in the settings; `bounded`: ops with a bound."""

    about = ABOUT

    def __init__(
        self, settings: Settings, system: System | None, workers: int, order: ReplayOrder, filers: Sequence[str],
        bounded: Iterable[str], clock: Clock, say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._settings, self._system, self._workers = settings if system is None else system.settings, system, workers
        self.storage, self.clock, self.say = self._settings.storage, clock, say
        self._order, self._bounded = order, tuple(bounded)
        self._filers: dict[str, FilerModel | None] = {}  # by the storage's name
        self._sources: dict[str, str] = {}
        for source in filers:
            filer = load_filer(source)
            name = storage_label(order.paths[0], read_mountinfo()) if filer is None else filer.choice.label
            self._filers[name], self._sources[name] = filer, source
        self._levels = False  # whether the load is offered by levels
        self._ceilings: dict[int, dict[str, Any]] = {}  # by clients: it is the same for every storage and repeat
        self._discarded: dict[int, int] = {}  # bytes written on null storage, by clients
        self._no_baseline: str | None = None  # reason why no run has a null baseline
        self._trace: FileTrace
        self._shown: Path  # a directory that members see, with a copy of the trace
        self._recorded: RecordedFigures

    def loads(self, clients: int = 1) -> list[Load]:
        """Return the loads: so many clients on each storage, in the requested order."""
        return [Load(storage, clients) for storage in self._filers]

    @contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """Open the trace, and copy it to where members see it."""
        with contextlib.ExitStack() as stack:
            self._trace = stack.enter_context(open_trace(self._order.trace))
            self._recorded = recorded_figures(str(self._order.trace), self._trace)
            refuse_bounds_on_nothing(self._bounded, self._recorded)
            if self._system is not None:
                self._shown = stack.enter_context(_shown(self._order.trace, self.storage))
            yield

    @contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """Yield the function that runs the repeat."""
        yield lambda: self._observed(turn)

    def _observed(self, turn: Turn) -> Observed:
        """Run the repeat. Raises UsageError before anything is made, StorageFault, RunFailed if a client died,
        Interrupted."""
        at, order = cast(Load, turn.at), self._order
        choice = replace(order, speed=self._speed(at)).choice(at.clients)
        self._levels |= at.percent is not None
        target = Target(paths=order.paths, replay_id=uuid.uuid4().hex[:_RUN_DIGITS])
        settings = replace(self._settings, filer=self._sources[at.storage], run=target.replay_id)
        with self._program(choice) as program:
            check_room(program, order.paths, not_empty=order.not_empty)
            try:
                with (
                    watched_filer(settings) as filer,
                    self._players(choice, settings, program, target.replay_id) as site,
                ):
                    played = site.play()
                    emulated = filer()
                hosts = site.hosts()
            except KeyboardInterrupt as error:
                raise Interrupted(
                    "the replay was stopped; it cannot be resumed, because its time would be wrong"
                ) from error
            finally:
                self._clear(target)
            plan, streams = program.plan, self._trace.header.streams
            clients = sorted((one for each in played for one in each.clients), key=lambda one: one.client)
            return Observed(
                repeat=turn.repeat,
                order=turn.order,
                emulated=self._filers[at.storage] is not None,
                job_id=target.replay_id,
                job=emulated | self._remaining_facts(clients, played),
                processors=site.processors,
                clients=tuple(clients),
                touched=sum(room.bytes for room in program.rooms),
                adapted=program.adapted,
                opened=program.unrecorded_opens,
                streams=tuple(
                    tuple(f"{streams[n].worker}/{streams[n].slot}" for n in its)
                    for clone in plan.clones
                    for its in clone.clients
                ),
                data_sets=len(plan.clones),
                hosts=hosts,
            )

    @contextmanager
    def _program(self, choice: ReplayChoice) -> Iterator[Program]:
        """Compile the program on scratch."""
        scratch = self._settings.scratch
        scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch) as directory:
            yield compile_replay(self._trace, choice.plan(self._trace.header), Path(directory) / "program")

    def _remaining_facts(self, clients: Sequence[ReplayClient], played: Sequence[Played]) -> dict[str, Any]:
        """Return the remaining facts of a run, for `ReplayRun.job`."""
        merged = merge_results(ClientResult.from_json(one.result["found"]) for one in clients)
        over = [one.wire_read_bytes for one in played if one.wire_read_bytes is not None]
        read = merged.ops[Op.READ].bytes if Op.READ in merged.ops else 0
        wire = {
            "seconds": merged.elapsed_s, "call_read_bytes": read, "wire_read_bytes": sum(over),
            "ratio": round(sum(over) / read, 4) if read else None, "why": None if read else "nothing was read by calls",
        }  # fmt: skip
        versions = {"edbench": installed_version(), "python": platform.python_version(), "kernel": platform.release()}
        return {
            "versions": versions,
            "workers": 1 if self._system is None else self._workers,
            "call_time": _call_time(clients, merged),
            **(
                {"wire": {"total": {key: value for key, value in wire.items() if key != "why" or value}}}
                if over
                else {}
            ),
        }

    def _clear(self, target: Target) -> None:
        """Remove the trees, unless they are kept. The members' clients have ended, or end when they notice that their
        lease is over."""
        if self._order.keep:
            for home in target.homes():
                self.say(f"kept: {home}")
            return
        try:
            remove_trees(target)
        except StorageFault as error:
            self.say(f"not everything was removed: {error}")

    @contextmanager
    def _players(
        self, choice: ReplayChoice, settings: Settings, program: Program | None, replay: str
    ) -> Iterator[Site]:
        """Yield clients that are ready to play. `program`: None on null storage."""
        if self._system is not None:
            with self._at_members(self._system, choice, settings.filer, replay) as site:
                yield site
            return
        real = program is not None
        order = Order(
            trace=str(self._order.trace), scratch=str(settings.scratch), choice=choice, null=not real,
            program="" if program is None else str(program.directory), replay_id=replay if real else "",
            cold=real and settings.filer == "none", emulated=real and settings.filer != "none",
        )  # fmt: skip
        with players(order, env=settings.environment()) as (_, play):
            yield Site(play=lambda: [play()], processors=usable_processors())

    @contextmanager
    def _at_members(self, system: System, choice: ReplayChoice, filer: str, replay: str) -> Iterator[Site]:
        """Yield the site whose clients are at members. Raises UsageError for a path that members do not see, HostLost,
        SystemFault."""
        places = [place_at(Path(path), system.admission.roots) for path in choice.paths]
        if None in places:
            raise UsageError(f"the members do not see every --path; each must be below {system.settings.storage}")
        admission = system.admission
        seats = admission.await_workers(self._workers, BACK_SECONDS)
        if choice.paths:
            system.refuse_filer(filer, seats)
        numbers = numbers_by_member(choice.plan(self._trace.header), len(seats))
        members = [seat.member for seat in seats[: len(numbers)]]
        named = system.named_filer(filer, self._shown) if choice.paths else "none"
        trace = Place(root="storage", path=f"{self._shown.name}/{_COPY}")
        wanted = (
            Wanted(trace=trace, paths=tuple(filter(None, places)), choice=replace(choice, paths=()),
                   numbers=tuple(its), filer=named)
            for its in numbers
        )  # fmt: skip
        with Working(admission, members, replay) as working:
            working.facts = [{"clients": len(its)} for its in numbers]
            working.order((Prepare(run=replay, package=PACKAGE, order=raw(one)) for one in wanted), math.inf)

            def play() -> list[Played]:
                start = time.time() + _AHEAD_SECONDS
                starts = (Start(start + working.offsets[member.id][0]) for member in members)
                acts = (Act(run=replay, order=raw(one)) for one in starts)
                return msgspec.convert(working.order(acts, math.inf), list[Played])

            yield Site(play=play, processors=usable(members, "processors"), hosts=lambda: tuple(working.left))

    def _speed(self, at: Load) -> float:
        """Return the speed at which the trace's calls come at the level's rate; without levels, the order's speed."""
        if at.percent is None:
            return self._order.speed
        plan = replace(self._order, speed=1.0).choice(at.clients).plan(self._trace.header)
        return (at.peak or 0) * at.percent / 100 / recorded_rate(self._trace.header, plan)

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """Measure the same clients without think time on null storage."""
        clients = cast(Load, turn.at).clients
        if clients not in self._ceilings:
            try:
                found = self._ceiling(clients)
            except HostLost:
                raise  # the engine repeats it
            except (RunFailed, SystemFault) as fault:
                self._no_baseline, self._ceilings[clients] = str(fault), {}
            else:
                written = found.ops.get(Op.WRITE)
                self._discarded[clients] = 0 if written is None else written.bytes
                self._ceilings[clients] = {"null_calls": found.calls, "null_elapsed_s": found.elapsed_s}
        return self._ceilings[clients]

    def _ceiling(self, clients: int) -> ClientResult:
        """Measure the clients on null storage, all at the same time. Raises RunFailed, SystemFault."""
        choice = replace(self._order.choice(clients), paths=(), speed=0.0, closed=False)
        replay = secrets.token_hex(_RUN_DIGITS // 2)
        with self._players(choice, replace(self._settings, filer="none"), None, replay) as site:
            return merge_results(one.merged for one in site.play())

    def surroundings(self) -> dict[str, Any]:
        """Return the settings, the trace and the places."""
        order = self._order
        cache = filer_cache(order.paths[0], self._settings.filer_cache)
        filers = [emulated(filer) for filer in self._filers.values()]
        hosts = None if self._system is None else self._system.admission.admitted
        return {
            "configuration": {
                "pace": LEVELS if self._levels else pace_text(order.speed, order.closed),
                "clones": "shared files" if order.shared else "private files",
            },
            "trace": {
                "path": str(order.trace),
                "bytes": order.trace.stat().st_size,
                "hash": file_hash(order.trace),
                "origin": self._recorded.origin,
            },
            "recorded": to_builtins(self._recorded),
            "seed": order.seed,
            "storage": place(order.paths[0]),
            "targets": [place(path) for path in order.paths],
            "emulated_filer": filers[0] if len(filers) == 1 else filers,
            "digests": {name: "" if filer is None else filer.digest for name, filer in self._filers.items()},
            "cache": {
                "client_memory_bytes": client_memory() if hosts is None else usable(hosts, "memory_bytes"),
                "filer_cache_bytes": cache.declared,
                "filer_caches_itself": cache.possible,
            },
            "null_storage": {
                "paired": self._no_baseline is None,
                "why_not": self._no_baseline,
                "place": str(PLACE),
                "reads": "zeros generated by the system; no file contains data",
                "writes": "discarded; files have the length that they would have with data",
                "discarded_bytes": {str(clients): size for clients, size in self._discarded.items()},
            },
            "hosts": [host()] if hosts is None else described(hosts),
        }


@contextlib.contextmanager
def _shown(trace: Path, storage: Path) -> Iterator[Path]:
    """Yield a directory below the storage root with a copy of the trace; remove it afterwards. Raises StorageFault."""
    there = storage / f".edbench-replay-{secrets.token_hex(8)}"
    with system_errors(StorageFault, f"the trace cannot be copied to {storage}"):
        there.mkdir()
        shutil.copyfile(trace, there / _COPY)
    try:
        yield there
    finally:
        shutil.rmtree(there, ignore_errors=True)


def _call_time(clients: Sequence[ReplayClient], merged: ClientResult) -> dict[str, Any] | None:
    """Split the time inside calls, from what each client read of itself before and after its calls."""
    step = math.ceil(merged.elapsed_s) + 1
    calls = {
        int(op): CallSum(calls=one.calls, bytes=one.bytes, errors=one.errors, total_ns=one.service_total_ns,
                         max_ns=one.service_max_ns, histogram=one.service)
        for op, one in merged.ops.items()
    }  # fmt: skip
    readings = {f"client {one.client}": [(-1, {"busy_s": 0.0}), (step - 1, one.result["reading"])] for one in clients}
    times = split({0: calls}, readings, step)
    return None if times is None else times.to_json()


def refuse_bounds_on_nothing(bounded: Iterable[str], trace: RecordedFigures) -> None:
    """Raise UsageError for a bound on an op that the trace lacks: every load would keep it."""
    lacking = [op for op in bounded if op not in trace.latency]
    if lacking:
        there = ", ".join(op for op in trace.latency if op != ALL)
        raise UsageError(f"--max-p99: the trace has no {lacking[0]} call; it has {there}")

"""Analysis-replay: a recorded trace played by clients at once over one to all of the paths (report R5)."""

from __future__ import annotations

import functools
import itertools
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from core.errors import UsageError
from core.plain import grouped
from experiments.package.manifest import file_hash
from experiments.report import words
from experiments.report.parts import Column, Section, note, paragraph, tabled
from experiments.report.views import middle, named
from experiments.result.schema import At, PointOf, ResultOf
from experiments.result.steady import by_second, judged_whole
from experiments.workload import ELAPSED, Figure, Turn, percentile
from monitoring.machine import processors
from replay.local import Order, players
from replay.orders import parse_pace
from replay.plan import ReplayChoice
from replay.program import Program, compile_replay
from replay.tally import ClientResult
from storage_tests.about import ProfileWording, Published, about_test
from storage_tests.devices import Tuned, tuned
from storage_tests.fio import rate_by
from storage_tests.profile import RAW, Arena, Profile, ProfileRun, ProfileSettings, Room, figured
from traces.file import open_trace

NAME = "analysis-replay"
RATE = "calls_per_s"
AS_IT_IS = "as it is"
HELPS = 0.05  # least gain in rate for which more paths are said to help


@dataclass(frozen=True, slots=True)
class AnalysisLoad(At):
    """Number of clients and paths, with the requested scheduler and read-ahead."""

    paths: int
    clients: int
    scheduler: str
    read_ahead: str  # "128 KiB"

    @property
    def line(self) -> str:
        """Series of the load: all but the paths, such as "16 clients, scheduler none"."""
        asked = [f"{name} {value}" for name, value in (("scheduler", self.scheduler), ("read-ahead", self.read_ahead))
                 if value != AS_IT_IS]  # fmt: skip
        return ", ".join([self.on("clients"), *asked])

    def __str__(self) -> str:
        return f"{self.on('paths')}, {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRun(ProfileRun):
    """One run at a number of clients and paths."""

    paths: int
    data_sets: int  # clones of the trace
    adapted: int  # calls that the trace does not explain
    tuned: tuple[Tuned, ...]
    trace_sha256: str
    found: dict[str, Any] | None = field(default=None, metadata=RAW)  # of all clients, as replay.tally has it
    touched_bytes: int | None = field(default=None, metadata=RAW)  # bytes of the prepared files
    calls: int = 0
    bytes: int = 0
    errors: int = 0
    differences: int = 0  # calls that ended otherwise than recorded


CALLS_PER_S = Figure(
    RATE, "calls/s", lambda run: run.calls / run.elapsed_s if run.elapsed_s else None, headline=True, write=words.figure
)
AnalysisPoint = PointOf[AnalysisLoad, AnalysisRun]
AnalysisResult = ResultOf[AnalysisPoint]


def run_of(seen: AnalysisRun) -> AnalysisRun:
    """Return the run with all of its figures."""
    from replay.runs import replayed_latencies  # modules that read traces are slow to import

    assert seen.found is not None
    found = ClientResult.from_json(seen.found)
    return figured(
        seen,
        latency=replayed_latencies(found, response=False),
        steady=judged_whole("calls", by_second(found.by_second), found.elapsed_s),
        calls=found.calls,
        bytes=found.bytes,
        errors=found.errors,
        differences=sum(one.calls for one in found.differences),
    )


def lines(points: Sequence[AnalysisPoint]) -> dict[tuple[int, str, str], list[AnalysisPoint]]:
    """Group the points that differ only in their number of paths, fewest first."""
    ordered = sorted(points, key=lambda point: point.at.paths)
    return grouped(ordered, lambda point: (point.at.clients, point.at.scheduler, point.at.read_ahead))


def enough(line: Sequence[AnalysisPoint]) -> int | None:
    """Return the fewest paths beyond which no number has 5 % more calls a second; None if one number was tried."""
    rates = [(point.at.paths, point.figures[RATE].median) for point in line]
    if len(rates) < 2:
        return None
    return next(paths for place, (paths, rate) in enumerate(rates)
                if all(more <= rate * (1 + HELPS) for _, more in rates[place + 1 :]))  # fmt: skip


class AnalysisWording(ProfileWording):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[AnalysisPoint]) -> str:
        """Return the answers of all series of points that differ only in their paths."""
        return "; ".join(answer(line) for line in lines(points).values())

    def warnings(self, points: Sequence[AnalysisPoint]) -> Sequence[str]:
        """Return the warnings: settings that were not in force, calls that ended otherwise than recorded, shared
        devices."""
        runs = [run for point in points for run in point.repeats]
        refused = dict.fromkeys(why for run in runs for one in run.tuned for why in one.refused)
        asked = [f"the requested settings were not in force: {why}" for why in refused]
        differing = max((run.differences for run in runs), default=0)
        if differing:
            asked.append(f"at most {differing:,} calls of a run ended differently than recorded")
        disks = {one.device for run in runs for one in run.tuned if one.device}
        most = max((point.at.paths for point in points), default=1)
        if most > 1 and disks and len(disks) < most:
            asked.append(
                f"{most} paths are on {words.many(len(disks), 'device')} ({', '.join(sorted(disks))}): more paths do not mean more disks"
            )
        return (*super().warnings(points), *asked)


def answer(line: Sequence[AnalysisPoint]) -> str:
    """Return the answer of one series."""
    last, named = line[-1], line[0].at.line
    rate = f"{words.figure(last.figures[RATE].median)} calls/s on {last.at.on('paths')}"
    paths = enough(line)
    if paths is None:
        return f"{named}: {rate}"
    if paths == last.at.paths:
        return f"{named}: more paths help up to {paths}, all that were given ({rate})"
    best = next(point for point in line if point.at.paths == paths)
    made = words.figure(best.figures[RATE].median)
    return (
        f"{named}: {best.at.on('paths')} {'is' if paths == 1 else 'are'} enough, more do not help ({made} calls/s;"
        f" {rate}, no {words.percent(HELPS)} more)"
    )


_SPARE = 1.1
_NAME_BYTES = 2_048  # memory for a file without data, with its name
_HOW = "edbench discover DIR --workers 1 --slots 1 --trace"


class AnalysisSettings(ProfileSettings):
    """Settings of profile `analysis-replay`."""

    trace: str = Field("", description=f"trace to replay: {_HOW}")
    clients: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        (16,), min_length=1, description="clients at once, one point each; report R5 had 64"
    )
    paths: tuple[Annotated[int, Field(ge=1, le=64)], ...] = Field(
        (), description="number of paths used, one point each; none: every number from 1"
    )
    schedulers: tuple[str, ...] = Field(
        (), description="schedulers of the paths' devices, one point each, such as mq-deadline,none; empty: unchanged"
    )
    read_ahead_kb: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        (),
        description="read-ahead of the paths' devices in KiB, one point each; report R5 had 128 and 512; empty: unchanged",
    )
    pace: Literal["max", "job", "schedule"] = Field(
        "max", description="max: no think time between calls; job: with think times; schedule: at recorded starts"
    )
    cold: bool = Field(True, description="drop the files from the page cache before the first call")
    seed: int = Field(0, ge=0, description="seed of the file contents")


class AnalysisReplay(Profile[AnalysisSettings]):
    """Replay over one to all of the paths; each path is a disk."""

    name: ClassVar[str] = "analysis-replay"
    report: ClassVar[str] = "R5"
    does: ClassVar[str] = (
        "Replays a recorded trace with many clients at once over one to all of the paths, with each scheduler and "
        "read-ahead; shows the number of paths beyond which more do not help."
    )
    writes: ClassVar[str] = "The files of the trace, once for each clone of it, before each run; removed after the run."
    needs: ClassVar[str] = (
        f"A trace: {_HOW}. Empty directories, each on a disk of its own. Root to set schedulers and read-ahead."
    )
    settings_type: ClassVar[type[ProfileSettings]] = AnalysisSettings
    small: ClassVar[Mapping[str, Any]] = {"clients": (2,)}
    axis: ClassVar[str] = "paths"

    def check(self) -> None:
        """Check the settings. Raises UsageError without a trace, and for a trace that cannot be divided among so many
        paths."""
        if not self.settings.trace:
            raise UsageError(f"analysis-replay replays a trace: --set trace=FILE; {_HOW} records one")
        numbers = self._numbers
        if max(numbers) > max(1, len(self.targets.paths)):
            raise UsageError(f"--set paths={max(numbers)}: there are {len(self.targets.paths)}; give more with --path")
        if max(numbers) > 1:
            self._compiled(min(self.settings.clients), max(numbers))

    @property
    def _numbers(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.settings.paths))) or tuple(range(1, max(1, len(self.targets.paths)) + 1))

    def points(self) -> list[AnalysisLoad]:
        """Return a load for every number of paths and clients under every setting."""
        s = self.settings
        ahead = [f"{one} KiB" for one in dict.fromkeys(s.read_ahead_kb)] or [AS_IT_IS]
        varied = itertools.product(sorted(set(s.clients)), s.schedulers or (AS_IT_IS,), ahead, self._numbers)
        return [AnalysisLoad(paths, clients, scheduler, one) for clients, scheduler, one, paths in varied]

    def _choice(self, clients: int, paths: int) -> ReplayChoice:
        pace = parse_pace(self.settings.pace)
        return ReplayChoice(clients=clients, paths=("path",) * paths, speed=pace.speed, closed=pace.closed,
                            shared=False, seed=self.settings.seed)  # fmt: skip

    def _compiled(self, clients: int, paths: int) -> Program:
        """Compile the trace in a temporary directory, for its figures only. Raises UsageError if the file is no trace,
        StorageFault if it cannot be written."""
        with (
            tempfile.TemporaryDirectory(prefix="edbench-analysis-") as directory,
            open_trace(Path(self.settings.trace)) as trace,
        ):
            return compile_replay(trace, self._choice(clients, paths).plan(trace.header), Path(directory))

    @functools.cached_property
    def _room(self) -> Room:
        if not self.settings.trace:
            return Room(bytes=0, files=0, seconds=0.0)
        program = self._compiled(max(self.settings.clients), 1)
        (room,) = program.rooms
        points = len(set(self.points()))
        return Room(bytes=math.ceil(room.bytes * _SPARE), files=room.inodes, seconds=points * program.duration_ns / 1e9)

    def room(self) -> Room:
        """Return the space of all files on one path, and the trace's duration, which clients without think time do not
        need."""
        return self._room

    def touched(self) -> int:
        """Return the bytes of all files of the fewest clients, on any paths."""
        (room,) = self._compiled(min(self.settings.clients), 1).rooms
        return room.bytes

    def on_null(self) -> AnalysisReplay:
        """Return the replay on names in memory without data: the highest rate of the clients themselves."""
        return _OnNull(self.settings, self.targets)

    def observe(self, turn: Turn, arena: Arena) -> AnalysisRun:
        """Run one replay. Raises RunFailed, StorageFault."""
        at = turn.at
        assert isinstance(at, AnalysisLoad)
        s, paths = self.settings, arena.paths[: at.paths]
        choice = replace(self._choice(at.clients, at.paths), paths=tuple(map(str, paths)))
        order = Order(trace=s.trace, scratch=str(arena.scratch), choice=choice, null=arena.null,
                      cold=s.cold and not arena.null)  # fmt: skip
        scheduler = "" if at.scheduler == AS_IT_IS or arena.null else at.scheduler
        ahead = None if at.read_ahead == AS_IT_IS or arena.null else int(at.read_ahead.split()[0])
        started = time.time()
        with tuned(paths, scheduler, ahead) as queues:
            arena.show(str(at))
            with players(order, lambda: arena.show("")) as (ready, play):
                merged = play().merged
        elapsed = merged.elapsed_s
        return AnalysisRun(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=merged.cpu_s / (elapsed * processors()) if elapsed else 0.0, paths=at.paths, found=merged.to_json(),
            data_sets=ready.data_sets, touched_bytes=ready.touched, adapted=ready.adapted, tuned=queues,
            trace_sha256=self._hash,
        )  # fmt: skip

    @functools.cached_property
    def _hash(self) -> str:
        return file_hash(Path(self.settings.trace))


class _OnNull(AnalysisReplay):
    """Replay on null storage: files have their sizes and no data."""

    def room(self) -> Room:
        """Return the space of the names."""
        return Room(bytes=self._room.files * _NAME_BYTES, files=self._room.files, seconds=0.0)


def _answers(result: AnalysisResult) -> Section:
    answers = [paragraph(f"{answer(line)}.") for line in lines(result.points).values()]
    remark = note(
        f"More paths help where some larger number of them has over {words.percent(HELPS)} more calls a second, by "
        "the medians. Report R5: more than 8 disks did not help 64 analysis jobs, 3 or 4 met their needs, and the "
        "scheduler mattered a lot."
    )
    return Section(anchor="paths", title="How many paths help", parts=(*answers, remark))


def _queues(result: AnalysisResult) -> Section:
    rows = [(named(point, result), one) for point in result.points for one in middle(point.repeats).tuned]
    shown = tabled(
        "queues",
        (
            Column("point", "point", lambda row: row[0], text=True),
            Column("path", "path", lambda row: row[1].path),
            Column("device", "device", lambda row: row[1].device or "none on this host", text=True),
            Column("scheduler", "scheduler", lambda row: row[1].scheduler or "not known", text=True),
            Column(
                "read_ahead_kb", "read-ahead", lambda row: row[1].read_ahead_kb, "{:,} KiB".format, missing="not known"
            ),
            Column("refused", "not set", lambda row: "; ".join(row[1].refused), text=True),
        ),
        rows,
        mark=lambda row: bool(row[1].refused),
    )
    remark = note("The values in force during the run, read from the kernel; restored after it.")
    return Section(anchor="queues", title="Schedulers and read-ahead", parts=(shown, remark))


_R5_CLIENTS = 64


def _enough_for_r5(result: AnalysisResult) -> float | None:
    """Answer with the report's number of clients, for the settings that reach the most calls a second."""
    of = [line for (clients, *_), line in lines(result.points).items() if clients == _R5_CLIENTS]
    if not of:
        return None
    best = max(of, key=lambda line: max(point.figures[RATE].median for point in line))
    return enough(best)


AnalysisReplay.ABOUT = about_test(
    AnalysisReplay,
    AnalysisLoad,
    AnalysisRun,
    run_of=run_of,
    figures=(
        CALLS_PER_S,
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6 if run.elapsed_s else None,
               write=words.figure),
        ELAPSED,
        percentile("p50", "all"),
        percentile("p99", "all", headline=True),
        Figure(name="paths", title="paths", of=lambda run: float(run.paths), write=words.count, aside=True),
    ),
    sections=lambda result: [_answers(result), rate_by(result, "paths", "line", CALLS_PER_S, lambda at: at.line), _queues(result)],
    ceilings=(RATE,),
    published=(
        Published(what="disks of a stripe, with 64 jobs, beyond which more did not help", figure="paths", value=8.0,
                  ours=_enough_for_r5, remark="3 or 4 met the jobs' needs; ours are paths, not a stripe"),
    ),
    notes={"calls": lambda run: run.calls, "errors": lambda run: run.errors, "not_as_recorded": lambda run: run.differences,
           "data_sets": lambda run: run.data_sets, "trace": lambda run: run.trace_sha256[:12]},
    wording=AnalysisWording,
    makers="clients",
)  # fmt: skip

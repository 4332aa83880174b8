"""Runs profile `analysis-replay`: clients play a recorded trace over the first so many paths, by the replay engine."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from controller.replay.order import JOB, MOST, SCHEDULE, parse_pace
from core.errors import UsageError
from core.records import ReplayChoice
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.profiles.queues import tuned
from experiments.workload import Turn
from experiments.workloads.analysis_replay.playing import Order, play
from experiments.workloads.analysis_replay.result import AS_IT_IS, AnalysisLoad, AnalysisSeen
from monitoring.processes import processors
from replay.host import plan_of
from replay.program import Program, compile_replay
from replay.result import ClientResult
from traces.read import open_trace

_SPARE = 1.1
_NAME_BYTES = 2_048  # of memory that a file without data takes, with its name
_HOW = "edbench discover DIR --workers 1 --slots 1 --trace"


class AnalysisSettings(ProfileSettings):
    """Of profile `analysis-replay`."""

    trace: Annotated[str, Field(description=f"trace to replay: {_HOW}")] = ""
    clients: Annotated[
        tuple[Annotated[int, Field(ge=1, le=4096)], ...],
        Field(min_length=1, description="clients at once, one point each; report R5 had 64"),
    ] = (16,)
    paths: Annotated[
        tuple[Annotated[int, Field(ge=1, le=64)], ...],
        Field(description="number of paths used, one point each; none: every number from 1"),
    ] = ()
    schedulers: Annotated[
        tuple[str, ...],
        Field(
            description="schedulers of the paths' devices, one point each, such as mq-deadline,none; empty: unchanged"
        ),
    ] = ()
    read_ahead_kb: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        Field(
            description="read-ahead of the paths' devices in KiB, one point each; report R5 had 128 and 512; empty: unchanged"
        ),
    ] = ()
    pace: Annotated[
        Literal["max", "job", "schedule"],
        Field(description="max: no think time between calls; job: with think times; schedule: at recorded starts"),
    ] = "max"
    cold: Annotated[bool, Field(description="drop the files from the page cache before the first call")] = True
    seed: Annotated[int, Field(ge=0, description="seed of the file contents")] = 0


class AnalysisReplay(Profile[AnalysisSettings]):
    """Each path is a disk."""

    name: ClassVar[str] = "analysis-replay"
    report: ClassVar[str] = "R5"
    does: ClassVar[str] = (
        "Replays a recorded trace with many clients at once over one to all of the paths, with each scheduler and read-ahead; shows from"
        " which number of paths on more do not help."
    )
    writes: ClassVar[str] = "The files of the trace, once for each clone of it, before each run; removed after it."
    needs: ClassVar[str] = (
        f"A trace: {_HOW}. Empty directories, each on a disk of its own. Root to set schedulers and read-ahead."
    )
    settings_type: ClassVar[type[ProfileSettings]] = AnalysisSettings
    small: ClassVar[Mapping[str, Any]] = {"clients": (2,)}

    def check(self) -> None:
        """Raises UsageError without a trace, and for one that cannot be divided among so many paths."""
        if not self.settings.trace:
            raise UsageError(f"analysis-replay plays a trace: --set trace=FILE; {_HOW} records one")
        numbers = self._numbers
        if max(numbers) > max(1, len(self.targets.paths)):
            raise UsageError(f"--set paths={max(numbers)}: there are {len(self.targets.paths)}; name more with --path")
        if max(numbers) > 1:
            self._compiled(min(self.settings.clients), max(numbers))

    @property
    def _numbers(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.settings.paths))) or tuple(range(1, max(1, len(self.targets.paths)) + 1))

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of paths and clients under every setting."""
        s = self.settings
        ahead = [f"{one} KiB" for one in dict.fromkeys(s.read_ahead_kb)] or [AS_IT_IS]
        points = [AnalysisLoad(paths, clients, scheduler, one)
                  for clients, scheduler, one, paths in itertools.product(
                      sorted(set(s.clients)), s.schedulers or (AS_IT_IS,), ahead, self._numbers)]  # fmt: skip
        return Cases("paths", points, repeats=repeats, seed=seed)

    def _choice(self, clients: int, paths: int) -> ReplayChoice:
        pace = parse_pace({"max": MOST, "job": JOB, "schedule": SCHEDULE}[self.settings.pace])
        return ReplayChoice(clients=clients, paths=("path",) * paths, speed=pace.speed, closed=pace.closed,
                            shared=False, seed=self.settings.seed)  # fmt: skip

    def _program(self, clients: int, paths: int, directory: Path) -> Program:
        """Raises UsageError for a file that is no trace, StorageFault where scratch is full."""
        with open_trace(Path(self.settings.trace)) as trace:
            return compile_replay(trace, plan_of(trace.header, self._choice(clients, paths)), directory)

    def _compiled(self, clients: int, paths: int) -> Program:
        """To be asked, not to be played."""
        with tempfile.TemporaryDirectory(prefix="edbench-analysis-") as directory:
            return self._program(clients, paths, Path(directory))

    @functools.cached_property
    def _room(self) -> Room:
        if not self.settings.trace:
            return Room(bytes=0, files=0, seconds=0.0)
        program = self._compiled(max(self.settings.clients), 1)
        (room,) = program.rooms
        points = len(self.kind(1, 0).points())
        return Room(bytes=math.ceil(room.bytes * _SPARE), files=room.inodes, seconds=points * program.duration_ns / 1e9)

    def room(self) -> Room:
        """All files on one path; as long as the trace lasts, which clients without think time do not take."""
        return self._room

    def touched(self) -> int:
        """All files of the fewest clients, on whichever paths."""
        (room,) = self._compiled(min(self.settings.clients), 1).rooms
        return room.bytes

    def on_null(self) -> AnalysisReplay:
        """Names in memory and no data: what the clients make of calls at most."""
        return _OnNull(self.settings, self.targets)

    def observe(self, turn: Turn, arena: Arena) -> AnalysisSeen:
        """One replay. Raises RunFailed, StorageFault."""
        at = turn.at
        assert isinstance(at, AnalysisLoad)
        s = self.settings
        directory = arena.scratch / "program"
        shutil.rmtree(directory, ignore_errors=True)
        arena.tell(f"{at}: the trace is compiled")
        program = self._program(at.clients, at.paths, directory)
        paths = arena.paths[: at.paths]
        order = Order(program=str(directory), paths=tuple(map(str, paths)), replay_id=uuid.uuid4().hex, null=arena.null,
                      cold=s.cold and not arena.null)  # fmt: skip
        scheduler = "" if at.scheduler == AS_IT_IS or arena.null else at.scheduler
        ahead = None if at.read_ahead == AS_IT_IS or arena.null else int(at.read_ahead.split()[0])
        started = time.time()
        with tuned(paths, scheduler, ahead) as queues:
            arena.tell(str(at))
            found = play(order, lambda: arena.tell(""))
        merged = ClientResult.from_json(found)
        elapsed = merged.elapsed_s
        return AnalysisSeen(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=merged.cpu_s / (elapsed * processors()) if elapsed else 0.0, paths=at.paths, found=found,
            data_sets=len(program.plan.clones), touched_bytes=sum(room.bytes for room in program.rooms),
            adapted=program.adapted, tuned=queues, trace_sha256=self._hash,
        )  # fmt: skip

    @functools.cached_property
    def _hash(self) -> str:
        with Path(self.settings.trace).open("rb") as trace:
            return hashlib.file_digest(trace, "sha256").hexdigest()


class _OnNull(AnalysisReplay):
    """Files there have their sizes and hold nothing."""

    def room(self) -> Room:
        """Names."""
        return Room(bytes=self._room.files * _NAME_BYTES, files=self._room.files, seconds=0.0)

"""A replay's program on scratch: one script for each client of a clone, and the table of nodes.

Clones that play the same streams in the same way share scripts; each such kind has a directory."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.errors import StorageFault, UsageError
from core.operations import Op
from core.records import Phase
from replay import script
from replay.order import Order, Play
from replay.plan import Clone, ReplayPlan, Spread
from replay.script import ScriptWriter
from replay.table import CallTable, Growth, Layout, prepared_volume, write_table
from replay.waits import Thinking, Waits
from replay.world import READ_CREATED, WRITE_OPENED, WRITTEN, Survey, World
from traces.model import Trace, TraceHeader

_PROGRAM = "program.json"


class Room(NamedTuple):
    """Space that one target path needs for a whole replay, all clones together."""

    bytes: int  # in whole blocks: prepared, and the most that is written in addition
    inodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Clones that share scripts."""

    calls: int
    adapted: int
    unrecorded_opens: int
    slots: tuple[int, ...]  # by client: most descriptors open at a time
    own: tuple[Room, ...]  # of one clone, by place
    shared: tuple[Room, ...]  # of shared files, by place


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Result of `compile_replay` in `directory`; small, and easy to pickle. `open_program` reads it again."""

    directory: Path
    plan: ReplayPlan
    duration_ns: int  # of the trace
    kinds: dict[str, Kind]  # by `Clone.key`
    longest: int  # bytes of the longest path below a tree
    most_read: int  # bytes of one call
    most_written: int

    def kind(self, clone: Clone) -> Kind:
        return self.kinds[clone.key]

    @property
    def calls(self) -> int:
        """Number of calls of all clients of all clones."""
        return sum(self.kind(clone).calls for clone in self.plan.clones)

    @property
    def adapted(self) -> int:
        """Number of calls whose recorded outcome the other calls do not explain: they are expected to end otherwise."""
        return sum(self.kind(clone).adapted for clone in self.plan.clones)

    @property
    def unrecorded_opens(self) -> int:
        """Number of opens that are not in the trace (see ClientResult)."""
        return sum(self.kind(clone).unrecorded_opens for clone in self.plan.clones)

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Space needed on each target path."""
        paths = self.plan.paths
        needed = [[room.bytes, room.inodes] for room in self.kind(self.plan.clones[0]).shared]
        for clone in self.plan.clones:
            for place, room in enumerate(self.kind(clone).own):
                path = needed[(place + clone.number) % paths]
                path[0] += room.bytes
                path[1] += room.inodes
        return tuple(Room(bytes=size, inodes=inodes) for size, inodes in needed)

    def scripts(self, clone: Clone) -> Path:
        """Return the directory of a clone's scripts and table."""
        return self.directory / clone.key

    def table(self, clone: Clone) -> CallTable:
        """Return the table of a clone. Raises UsageError."""
        return CallTable(self.scripts(clone))

    def script(self, clone: Clone, position: int) -> Path:
        """Return the script of one of the clone's clients."""
        return self.scripts(clone) / script_name(position)


def script_name(position: int) -> str:
    """Return the file name of the client at that position in its clone."""
    return f"client-{position}"


def compile_replay(trace: Trace, plan: ReplayPlan, directory: Path) -> Program:
    """Write the program of a plan into `directory` (created if missing; on scratch, never the filer).

    It reads the trace once, and once more for each kind of clone (one or two); memory is bounded by the trace's nodes
    (about 170 bytes each), not its calls. Call it once for each host: every client of the host reads the result. Raises
    UsageError for a damaged trace, StorageFault if scratch is full."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _PROGRAM).unlink(missing_ok=True)
        survey = Survey(trace)
        layout = Layout(trace.nodes)
        spread = Spread(survey, plan)
        kinds = {}
        for clone in plan.clones:
            if clone.key not in kinds:
                kinds[clone.key] = _compile_kind(trace, plan, clone, survey, spread, layout, directory / clone.key)
        program = Program(
            directory=directory,
            plan=plan,
            duration_ns=trace.header.duration_ns,
            kinds=kinds,
            longest=layout.longest,
            most_read=survey.most_read,
            most_written=survey.most_written,
        )
        (directory / _PROGRAM).write_bytes(msgspec.json.encode(program, enc_hook=str))
    except OSError as e:
        raise StorageFault(
            f"cannot write the replay's program to {directory}: {e.strerror or e}; free space on scratch",
            errno=e.errno or errno.EIO,
        ) from e
    return program


def _compile_kind(
    trace: Trace, plan: ReplayPlan, clone: Clone, survey: Survey, spread: Spread, layout: Layout, directory: Path
) -> Kind:
    directory.mkdir(exist_ok=True)
    world = World(survey)
    streams = sorted(stream for client in clone.clients for stream in client)
    order = Order(trace, streams, world, survey.parents)
    growth = Growth(survey, spread, plan.paths)
    whole = not trace.header.lost and len(streams) == sum(1 for stream in trace.header.streams if stream.calls)
    with _Scripts(directory, clone, survey, whole, trace.header, closed=plan.closed) as scripts:
        for play in order:
            growth.follow(play)
            scripts.add(play)
    write_table(directory, layout, survey, spread, world)
    with CallTable(directory) as table:
        own_bytes, own_files, shared_bytes, shared_files = prepared_volume(table, plan.paths)
    return Kind(
        calls=scripts.calls,
        adapted=order.adapted,
        unrecorded_opens=scripts.unrecorded_opens,
        slots=tuple(scripts.slots),
        own=_rooms(own_bytes, growth.bytes, own_files, growth.files),
        shared=_rooms(shared_bytes, [0] * plan.paths, shared_files, [0] * plan.paths),
    )


def _rooms(held: list[int], grown: list[int], files: list[int], made: list[int]) -> tuple[Room, ...]:
    return tuple(Room(bytes=h + g, inodes=f + m) for h, g, f, m in zip(held, grown, files, made, strict=True))


class _Scripts(contextlib.ExitStack):
    """Scripts of one clone's clients, written together."""

    def __init__(
        self, directory: Path, clone: Clone, survey: Survey, whole: bool, header: TraceHeader, *, closed: bool
    ) -> None:
        """Open the scripts; `closed`: for a replay in a closed loop."""
        super().__init__()
        self._traits = survey.traits
        self._any = 0 if whole else WRITTEN  # if calls are missing, the open of a file shows less about its use
        self._client = {stream: k for k, streams in enumerate(clone.clients) for stream in streams}
        self._waits = Waits(survey.parents, len(clone.clients))
        self._thinking = Thinking(header, self._client) if closed else None
        self._indexing = {k for k, phase in enumerate(header.phases) if phase == Phase.INDEX}
        self._free: list[list[int]] = [[] for _ in clone.clients]
        self.slots = [0] * len(clone.clients)
        self.calls = self.unrecorded_opens = 0
        self._writers = [
            self.enter_context(ScriptWriter(directory / script_name(k))) for k in range(len(clone.clients))
        ]

    def add(self, play: Play) -> None:
        """Add the next call in the order."""
        client, call = self._client[play.stream], play.call
        if play.adopts:
            self._waits.skip(client)
        waits, first, time_ns = self._timed(client, play)
        slot = self._slot(client, play)
        write = self._writers[client].add
        if play.adopts:
            self.unrecorded_opens += 1
            code = script.ADOPT if play.opened and play.opened.directory else script.ADOPT_TO_WRITE
            write((code, 0, first, len(waits), slot, call.node, 0, 0, 0, time_ns), waits)
            waits, first, time_ns = (), 0, time_ns if self._thinking is None else 0
        other = max(call.other, 0)
        code = self._form(play) | (script.INDEXING if call.phase in self._indexing else 0)
        fields = (code, play.expected, first, len(waits), slot, call.node, other)
        write((*fields, call.bytes, max(call.argument, 0), time_ns), waits)
        self.calls += 1

    def _timed(self, client: int, play: Play) -> tuple[Sequence[tuple[int, int]], int, int]:
        """Return a call's waits, whether they come before its think time, and its time, as a step has them."""
        if self._thinking is None:
            return self._waits.next(client, play), 0, play.start_ns
        awaited = self._thinking.awaited(play)
        waits = self._waits.next(client, play, awaited.steps)
        think_ns, first = self._thinking.think_ns(play, awaited, waits)
        self._thinking.made(play, self._waits.steps(client))
        return waits, int(first), think_ns

    def _form(self, play: Play) -> int:
        traits = self._traits[play.call.node]
        if play.code == Op.OPEN and traits & (WRITE_OPENED | self._any) and not (play.opened and play.opened.directory):
            return script.OPEN_TO_WRITE
        if traits & READ_CREATED or self._any:
            wider = {int(Op.CREATE): script.CREATE_TO_READ, script.REPLACE: script.REPLACE_TO_READ}
            return wider.get(play.code, play.code)
        return play.code

    def _slot(self, client: int, play: Play) -> int:
        """Return the client's slot for the file that this call opens or uses."""
        opened = play.opened
        if opened is None:
            return script.NO_SLOT
        if play.adopts or play.call.op in (Op.OPEN, Op.CREATE):
            opened.slot = self._take(client)
        if play.call.op is Op.CLOSE and opened.slot != script.NO_SLOT:
            self._free[client].append(opened.slot)
        return opened.slot

    def _take(self, client: int) -> int:
        if self._free[client]:
            return self._free[client].pop()
        self.slots[client] += 1
        return self.slots[client] - 1


def open_program(directory: Path) -> Program:
    """Return the program that another process compiled. Raises UsageError if there is none, or an incomplete one."""
    try:
        raw = (directory / _PROGRAM).read_bytes()
        return msgspec.json.decode(raw, type=Program, dec_hook=lambda kind, text: kind(text))
    except (OSError, msgspec.MsgspecError) as e:
        raise UsageError(f"the replay program in {directory} is incomplete or missing: {e}") from e

"""Makes one trace of the parts that the slots of all workers wrote (docs/dev/trace-format.md)."""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from core.errors import SourceFileError, StorageFault, UsageError, read_problem
from core.storage.layer import Storage
from traces.blocks import Damaged
from traces.compressibility import Ratios
from traces.model import NO_NODE, Call, Stream, TraceHeader
from traces.nodes import NodeTree
from traces.spool import SpoolHead, read_spool
from traces.write import TraceWriter

LEAST_IDLE_NS: Final = 50_000_000  # a commit, a message and a claim take less, if no thread waits for a CPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A trace as it was written."""

    path: Path
    bytes: int
    calls: int
    lost: int  # calls that are missing from it
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """What a trace is made from. Paths of calls are as the workers saw them."""

    parts: Sequence[Path]
    roots: Sequence[bytes]  # absolute: the source, the storage root
    phases: Sequence[str]
    origin: Mapping[str, Any]
    counted: int  # calls that the job made, by its counters; 0 if they were not counted
    # Of each worker's slot the tasks that it did: from, to, seconds since the epoch, in order. None: unknown.
    tasks: Mapping[tuple[str, int], Sequence[tuple[float, float]]] | None = None


@dataclass(slots=True)
class _Part:
    path: Path
    head: SpoolHead
    first_ns: int  # start of its first call: of its host's monotonic clock …
    wall_ns: int = 0  # … plus this: of the common one

    @property
    def start_ns(self) -> int:
        return self.first_ns + self.wall_ns


@dataclass(slots=True)
class _Totals:
    calls: list[int] = field(default_factory=list)  # by stream
    end_ns: int = 0


def gather_trace(gathering: Gathering, storage: Storage, target: Path) -> Gathered:
    """Write the trace of these parts to `target`, replacing one that is there.

    `storage` looks at files for their kind and compressibility. Raises UsageError when the trace cannot be written.
    """
    parts = _parts(gathering.parts)
    streams = _streams(parts)
    start = min((part.start_ns for part in parts), default=0)
    tree = NodeTree(gathering.roots)
    phases = list(gathering.phases)
    totals = _Totals()
    with TraceWriter(target) as writer:
        for number, of_stream in enumerate(streams.values()):
            calls = _calls(of_stream, start, tree, phases)
            totals.calls.append(_write(calls, number, tree, writer, totals))
        tree.finish()
        _look_at_unclear(tree, storage)
        header = TraceHeader(
            created=start / 1e9,
            duration_ns=totals.end_ns,
            phases=tuple(phases),
            streams=tuple(
                Stream(worker=key[0], slot=key[1], calls=count, idle=_idle(gathering, key, start))
                for key, count in zip(streams, totals.calls, strict=True)
            ),
            origin=gathering.origin,
            lost=max(0, gathering.counted - sum(totals.calls)),
        )
        size = writer.finish(header, tree.nodes(Ratios(tree, storage).of))
    return Gathered(path=target, bytes=size, calls=header.calls, lost=header.lost, nodes=len(tree))


def _parts(paths: Iterable[Path]) -> list[_Part]:
    """Those with calls in them, in order of time."""
    out = []
    for path in paths:
        try:
            head, blocks = read_spool(path)
            first = next(blocks, None)
        except Damaged:  # its slot died while it began
            continue
        except OSError as e:
            raise UsageError(read_problem(f"{path}, a part of the trace,", e)) from e
        if first is not None:
            out.append(_Part(path, head, first.calls[0].start_ns))
    _set_clocks(out)
    return sorted(out, key=lambda part: (part.start_ns, part.path))


def _set_clocks(parts: Iterable[_Part]) -> None:
    """One wall clock for all parts of a host, so that what its slots did to each other stays in order though the wall
    clock is set meanwhile: that of its first part."""
    of_boot: dict[str, int] = {}
    for part in sorted(parts, key=lambda part: (part.first_ns, part.path)):
        boot = part.head.boot or str(part.path)
        part.wall_ns = of_boot.setdefault(boot, part.head.wall_ns)


def _streams(parts: Sequence[_Part]) -> dict[tuple[str, int], list[_Part]]:
    streams: defaultdict[tuple[str, int], list[_Part]] = defaultdict(list)
    for part in parts:
        streams[part.head.worker, part.head.slot].append(part)
    return {key: streams[key] for key in sorted(streams, key=lambda key: (len(key[0]), key))}


def _calls(parts: Sequence[_Part], trace_ns: int, tree: NodeTree, phases: list[str]) -> Iterator[Call]:
    """The calls of one stream, with the numbers and times of the trace."""
    start_ns = 0
    for part in parts:
        head, blocks = read_spool(part.path)
        by = part.wall_ns - trace_ns
        for block in blocks:
            nodes = [tree.number(path) for path in block.paths]
            phase = _position(phases, head.phases[block.phase])
            for op, start, duration, nbytes, argument, node, other, error, _ in block.calls:
                start_ns = max(start_ns, start + by)
                second = NO_NODE if other == NO_NODE else nodes[other]
                yield Call(op, start_ns, duration, nbytes, argument, nodes[node], second, error, phase)


def _idle(gathering: Gathering, slot: tuple[str, int], start_ns: int) -> tuple[tuple[int, int], ...] | None:
    """When it had no task, up to its last one; what is shorter than LEAST_IDLE_NS is the way from one task to the next."""
    if gathering.tasks is None:
        return None
    out = []
    free = 0
    for claimed_s, finished_s in gathering.tasks.get(slot, ()):
        claimed, finished = (round(moment * 1e9) - start_ns for moment in (claimed_s, finished_s))
        if claimed - free >= LEAST_IDLE_NS:
            out.append((free, claimed))
        free = max(free, finished)
    return tuple(out)


def _position(phases: list[str], name: str) -> int:
    if name not in phases:
        phases.append(name)
    return phases.index(name)


def _write(calls: Iterator[Call], stream: int, tree: NodeTree, writer: TraceWriter, totals: _Totals) -> int:
    count = 0
    for call in calls:
        count += 1
        tree.see(call)
        writer.add(stream, call)
        totals.end_ns = max(totals.end_ns, call.start_ns + call.duration_ns)
    return count


def _look_at_unclear(tree: NodeTree, storage: Storage) -> None:
    for path in tree.unclear():
        try:
            if stat.S_ISDIR(storage.stat(path).st_mode):
                tree.is_directory(path)
        except (SourceFileError, StorageFault):  # gone since, or not for us: it stays an empty file
            continue

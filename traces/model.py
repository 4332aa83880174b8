"""Content of a trace: the tree that the calls touched, and the calls of every stream in order.

A *stream* is one slot of one worker (or one thread of an imported program): its calls follow each other. A *node* is
one path; names are not recorded, only their lengths, because traces are passed on, and a custodian's file names must
not be."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Annotated, Any, NamedTuple, Protocol

from msgspec import Meta, Struct

from core.operations import Op

NO_NODE = -1
UNKNOWN_RATIO = 1000
NO_PHASE = ""  # of calls of an imported program


class NodeKind(enum.IntEnum):
    """Kind of a node when the calls meet it first; numbers are part of the trace format."""

    DIRECTORY = 0
    FILE = 1
    MISSING = 2  # calls found nothing, and none created anything


class Node(NamedTuple):
    """One path. Its number is its position in `Trace.nodes`; a parent precedes its children."""

    parent: int  # NO_NODE for a root
    kind: NodeKind
    existed: bool  # before the first call of the trace
    size: int  # bytes: at first sight if it existed, else 0; of a directory 0
    ratio: int  # compressed ÷ raw bytes of a sample, in thousandths (0 all zeros, 1000 incompressible or unknown)
    name_bytes: int  # length of its name; 0 for a root


class Call(NamedTuple):
    """One storage call of a stream."""

    op: Op
    start_ns: int  # since the start of the trace
    duration_ns: int
    bytes: int  # moved
    argument: int  # read, write: offset in the file; open, stat: its size; scan: entries found; else 0
    node: int  # rename: the new name's
    other: int  # rename: the old name's; else NO_NODE
    error: int  # errno, 0 when it succeeded
    phase: int  # position in `TraceHeader.phases`


Natural = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class Stream(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One slot of one worker; in files as JSON with these fields."""

    worker: str
    slot: int
    calls: Natural
    idle: tuple[tuple[Natural, Natural], ...] | None = None  # from, to, ns: it had no task; in order. None: unknown

    def __post_init__(self) -> None:
        if self.idle and any(later < earlier for earlier, later in pairwise(chain.from_iterable(self.idle))):
            raise ValueError("times without a task are not in order")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """The header of a trace, which precedes the calls."""

    created: float  # wall clock at the start of the trace, seconds since the epoch
    duration_ns: int  # from the first call's start to the last call's end
    phases: tuple[str, ...]
    streams: tuple[Stream, ...]
    origin: Mapping[str, Any]  # plain data: id, options, filer and labels of a job; program of an import
    lost: int = 0  # calls that could not be kept

    @property
    def calls(self) -> int:
        """Number of calls of all streams."""
        return sum(stream.calls for stream in self.streams)


class Trace(Protocol):
    """A trace as its readers see it; `traces.file.open_trace` gives one from a file."""

    @property
    def header(self) -> TraceHeader: ...

    @property
    def nodes(self) -> Sequence[Node]: ...

    def calls(self, stream: int) -> Iterator[Call]:
        """Yield the calls of one stream in order, read on demand. Raises UsageError if the file is damaged."""
        ...

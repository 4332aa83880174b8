"""The directory at the end of a trace file: the header, and the position of each block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from traces.blocks import Damaged
from traces.model import Stream, TraceHeader

Natural = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class Place(Struct, array_like=True, frozen=True):
    """Position of a block in the file."""

    offset: Natural
    length: Natural
    count: Natural  # calls or nodes in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """What a reader must know before it reads any block."""

    header: TraceHeader
    nodes: tuple[Place, ...]
    calls: tuple[tuple[Place, ...], ...]  # by stream, each in order

    @property
    def node_count(self) -> int:
        """Of all node blocks."""
        return sum(place.count for place in self.nodes)


class StoredStream(Struct, kw_only=True, omit_defaults=True):
    """A stream as JSON has it; traces of older versions have no `idle`."""

    worker: str
    slot: int
    calls: Natural
    idle: tuple[tuple[Natural, Natural], ...] | None = None

    def stream(self) -> Stream:
        """Raises ValueError."""
        if self.idle and any(b < a for a, b in pairwise(chain.from_iterable(self.idle))):
            raise ValueError("times without a task are not in order")
        return Stream(worker=self.worker, slot=self.slot, calls=self.calls, idle=self.idle)


class _WithBlocks(StoredStream, kw_only=True, omit_defaults=True):
    blocks: tuple[Place, ...]


class _Stored(Struct):
    created: float
    duration_ns: Natural
    phases: tuple[str, ...]
    origin: dict[str, Any]
    lost: Natural
    streams: tuple[_WithBlocks, ...]
    nodes: tuple[Place, ...]


def stored(stream: Stream) -> StoredStream:
    """As JSON has it."""
    return StoredStream(worker=stream.worker, slot=stream.slot, calls=stream.calls, idle=stream.idle)


def directory_bytes(directory: Directory) -> bytes:
    """JSON, as the format describes it."""
    h = directory.header
    streams = tuple(
        _WithBlocks(worker=s.worker, slot=s.slot, calls=s.calls, idle=s.idle, blocks=places)
        for s, places in zip(h.streams, directory.calls, strict=True)
    )
    return msgspec.json.encode(
        _Stored(h.created, h.duration_ns, h.phases, dict(h.origin), h.lost, streams, directory.nodes)
    )


def directory_of(raw: bytes) -> Directory:
    """The inverse; raises Damaged."""
    try:
        data = msgspec.json.decode(raw, type=_Stored)
        streams = tuple(stream.stream() for stream in data.streams)
    except (msgspec.DecodeError, ValueError, RecursionError) as e:
        raise Damaged("its directory is damaged") from e
    if any(stream.calls != sum(place.count for place in stream.blocks) for stream in data.streams):
        raise Damaged("its directory contradicts itself")
    header = TraceHeader(
        created=data.created, duration_ns=data.duration_ns, phases=data.phases, streams=streams, origin=data.origin,
        lost=data.lost,
    )  # fmt: skip
    return Directory(header=header, nodes=data.nodes, calls=tuple(stream.blocks for stream in data.streams))

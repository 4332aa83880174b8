"""The directory at the end of a trace file: the header, and the position of each block."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from traces.blocks import Damaged
from traces.model import Stream, TraceHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Position of a block in the file."""

    offset: int
    length: int
    count: int  # calls or nodes in it


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


def directory_bytes(directory: Directory) -> bytes:
    """JSON, as the format describes it."""
    header = directory.header
    data = {
        "created": header.created,
        "duration_ns": header.duration_ns,
        "phases": list(header.phases),
        "origin": dict(header.origin),
        "lost": header.lost,
        "streams": [
            stream_data(s) | {"blocks": _places(places)}
            for s, places in zip(header.streams, directory.calls, strict=True)
        ],
        "nodes": _places(directory.nodes),
    }
    return json.dumps(data, separators=(",", ":")).encode()


def directory_of(raw: bytes) -> Directory:
    """The inverse; raises Damaged."""
    try:
        data = json.loads(raw)
        header = TraceHeader(
            created=_number(data["created"]),
            duration_ns=_count(data["duration_ns"]),
            phases=tuple(str(phase) for phase in data["phases"]),
            streams=tuple(map(stream_of, data["streams"])),
            origin=dict(data["origin"]),
            lost=_count(data["lost"]),
        )
        calls = tuple(_read_places(s["blocks"]) for s in data["streams"])
        nodes = _read_places(data["nodes"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise Damaged("its directory is damaged") from e
    if any(s.calls != sum(p.count for p in places) for s, places in zip(header.streams, calls, strict=True)):
        raise Damaged("its directory contradicts itself")
    return Directory(header=header, nodes=nodes, calls=calls)


def stream_data(stream: Stream) -> dict[str, Any]:
    """As JSON has it."""
    known = {} if stream.idle is None else {"idle": [list(one) for one in stream.idle]}
    return {"worker": stream.worker, "slot": stream.slot, "calls": stream.calls} | known


def stream_of(data: Mapping[str, Any]) -> Stream:
    """The inverse; raises ValueError, KeyError or TypeError. Traces of older versions have no `idle`."""
    known = data.get("idle")
    idle = None if known is None else tuple((_count(start), _count(end)) for start, end in known)
    if idle and any(b < a for a, b in pairwise(chain.from_iterable(idle))):
        raise ValueError("times without a task are not in order")
    return Stream(worker=str(data["worker"]), slot=int(data["slot"]), calls=_count(data["calls"]), idle=idle)


def _places(places: tuple[Place, ...]) -> list[list[int]]:
    return [[p.offset, p.length, p.count] for p in places]


def _read_places(rows: Any) -> tuple[Place, ...]:
    return tuple(Place(offset=_count(o), length=_count(n), count=_count(c)) for o, n, c in rows)


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    return float(value)

"""Frames: what one worker's slots called in one second, on its way to the collector through the broker."""

from __future__ import annotations

import base64
import json
import uuid
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from core.histogram import Histogram
from core.operations import Op
from core.records import Phase
from monitoring.observations import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterDelta:
    """Calls of one op made for one phase of one job during some interval."""

    job: uuid.UUID
    phase: Phase
    op: Op
    calls: int
    bytes: int
    errors: int
    total_ns: int  # sum of durations
    max_ns: int  # see monitoring.live for how exact
    histogram: Histogram


def merge_deltas(deltas: Iterable[CounterDelta]) -> list[CounterDelta]:
    """One delta for each (job, phase, op), in order of first appearance."""
    out: dict[tuple[uuid.UUID, Phase, Op], CounterDelta] = {}
    for delta in deltas:
        key = (delta.job, delta.phase, delta.op)
        have = out.get(key)
        out[key] = _sum(have, delta) if have else replace(delta, histogram=Histogram(delta.histogram.cells))
    return list(out.values())


def _sum(a: CounterDelta, b: CounterDelta) -> CounterDelta:
    a.histogram.add(b.histogram)
    return replace(
        a,
        calls=a.calls + b.calls,
        bytes=a.bytes + b.bytes,
        errors=a.errors + b.errors,
        total_ns=a.total_ns + b.total_ns,
        max_ns=max(a.max_ns, b.max_ns),
    )


VERSION = b"\x02"
MAX_BYTES = 16_000_000  # of a frame unpacked; a worker's second is a few kilobytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One second of one worker incarnation; each second of an incarnation is in at most one frame."""

    worker: str
    incarnation: uuid.UUID
    sequence: int  # 1, 2, 3 …: a gap is a lost frame
    second: int  # epoch seconds by the worker's clock, when the calls were collected
    through: float  # by the worker's clock: all calls that ended before it are in this frame or an earlier one
    deltas: tuple[CounterDelta, ...] = ()
    observations: tuple[Observation, ...] = ()  # taken at `second`


class FrameMaker:
    """Turns collected growth into frames with a sequence and seconds of their own."""

    def __init__(self, worker: str, incarnation: uuid.UUID) -> None:
        self._worker = worker
        self._incarnation = incarnation
        self._sequence = 0
        self._second = 0
        self._held: list[CounterDelta] = []

    def frame(
        self,
        deltas: Iterable[CounterDelta],
        now: float,
        observations: Iterable[Observation] = (),
        *,
        last: bool = False,
    ) -> Frame | None:
        """The frame for what was collected at `now`, or None while its second has a frame already.

        Calls held back then go into the next one, observations do not: they are cumulative. `last` gives a frame in any
        case. After a clock was set back, each frame gets the next second."""
        self._held = merge_deltas([*self._held, *deltas])
        if int(now) == self._second and not last:
            return None
        self._second = max(int(now), self._second + 1)
        self._sequence += 1
        held, self._held = self._held, []
        return Frame(
            worker=self._worker,
            incarnation=self._incarnation,
            sequence=self._sequence,
            second=self._second,
            through=now,
            deltas=tuple(held),
            observations=tuple(observations),
        )


def encode_frame(frame: Frame) -> bytes:
    """A version byte, then deflated JSON."""
    data = {
        "worker": frame.worker,
        "incarnation": frame.incarnation.hex,
        "sequence": frame.sequence,
        "second": frame.second,
        "through": frame.through,
        "deltas": [
            [
                *(d.job.hex, d.phase.value, int(d.op), d.calls, d.bytes, d.errors, d.total_ns, d.max_ns),
                base64.b64encode(d.histogram.encode()).decode("ascii"),
            ]
            for d in frame.deltas
        ],
        "observations": [[o.kind, o.source, o.values] for o in frame.observations],
    }
    return VERSION + zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 1)


def decode_frame(data: bytes) -> Frame:
    """The inverse of `encode_frame`; raises ValueError when it is not that."""
    if data[:1] != VERSION:
        raise ValueError("not a frame of this version")
    try:
        unpack = zlib.decompressobj()
        plain = unpack.decompress(data[1:], MAX_BYTES)
        if not unpack.eof:
            raise ValueError("a frame is cut short or too large")
        fields = json.loads(plain)
        return Frame(
            worker=str(fields["worker"]),
            incarnation=uuid.UUID(fields["incarnation"]),
            sequence=_number(fields["sequence"]),
            second=_number(fields["second"]),
            through=_moment(fields["through"]),
            deltas=_deltas(fields["deltas"]),
            observations=tuple(Observation(*row) for row in fields["observations"]),
        )
    except (zlib.error, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as e:
        raise ValueError(f"not a frame: {e}") from e


def _number(value: Any) -> int:
    """Return a count that the database can hold, else raise ValueError: one bad frame must not block the next."""
    if not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(f"not a count: {value!r}")
    return value


def _moment(value: Any) -> float:
    moment = float(value)
    if not 0 <= moment < 1e12:
        raise ValueError(f"not a time: {value!r}")
    return moment


def _deltas(rows: list[list[Any]]) -> tuple[CounterDelta, ...]:
    jobs = {text: uuid.UUID(text) for text in {row[0] for row in rows}}
    return tuple(_delta(jobs[row[0]], row) for row in rows)


def _delta(of: uuid.UUID, row: list[Any]) -> CounterDelta:
    _, phase, op, calls, nbytes, errors, total_ns, max_ns, histogram = row
    return CounterDelta(
        job=of,
        phase=Phase(phase),
        op=Op(op),
        calls=_number(calls),
        bytes=_number(nbytes),
        errors=_number(errors),
        total_ns=_number(total_ns),
        max_ns=_number(max_ns),
        histogram=Histogram.decode(base64.b64decode(histogram, validate=True)),
    )

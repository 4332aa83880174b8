"""Frames: what one worker's slots called in one second, on its way to the collector through the broker."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from core.histogram import Histogram
from core.operations import Op
from core.records import Phase
from monitoring.observations import Observation

# What the database can hold: one bad frame must not block the next.
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Moment = Annotated[float, Meta(ge=0, lt=1e12)]


class CounterDelta(Struct, frozen=True, kw_only=True, array_like=True):
    """Calls of one op made for one phase of one job during some interval."""

    job: uuid.UUID
    phase: Phase
    op: Op
    calls: Count
    bytes: Count
    errors: Count
    total_ns: Count  # sum of durations
    max_ns: Count  # see monitoring.live for how exact
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


VERSION = b"\x03"
MAX_BYTES = 16_000_000  # of a frame unpacked; a worker's second is a few kilobytes


class Frame(Struct, frozen=True, kw_only=True):
    """One second of one worker incarnation; each second of an incarnation is in at most one frame."""

    worker: str
    incarnation: uuid.UUID
    sequence: Count  # 1, 2, 3 …: a gap is a lost frame, or calls that were counted nowhere
    second: Count  # epoch seconds by the worker's clock, when the calls were collected
    through: Moment  # by the worker's clock: all calls that ended before it are in this frame or an earlier one
    deltas: tuple[CounterDelta, ...] = ()
    observations: tuple[Observation, ...] = ()  # taken at `second`


class FrameMaker:
    """Turns collected growth into frames with a sequence and seconds of their own."""

    def __init__(self, worker: str, incarnation: uuid.UUID, missing: int = 0) -> None:
        self._worker = worker
        self._incarnation = incarnation
        self._sequence = 0
        self._second = 0
        self._held: list[CounterDelta] = []
        self._missing = missing  # calls that were counted nowhere, so far

    def frame(
        self,
        deltas: Iterable[CounterDelta],
        now: float,
        observations: Iterable[Observation] = (),
        *,
        last: bool = False,
        missing: int = 0,
    ) -> Frame | None:
        """The frame for what was collected at `now`, or None while its second has a frame already.

        Calls held back then go into the next one, observations do not: they are cumulative. `last` gives a frame in any
        case. After a clock was set back, each frame gets the next second. `missing`: calls so far that were counted
        nowhere; where there are more of them, a number is left out, as if a frame were lost."""
        self._held = merge_deltas([*self._held, *deltas])
        if int(now) == self._second and not last:
            return None
        self._second = max(int(now), self._second + 1)
        self._sequence += 1 + (missing > self._missing)
        self._missing = missing
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


def _plain(value: Histogram | Observation) -> object:
    return value.encode() if isinstance(value, Histogram) else (value.kind, value.source, value.values)


def _made(kind: type[Any], plain: Any) -> Any:
    return Observation(*plain) if kind is Observation else Histogram.decode(memoryview(plain))


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)
_DECODER = msgspec.msgpack.Decoder(Frame, dec_hook=_made)


def encode_frame(frame: Frame) -> bytes:
    """A version byte, then deflated msgpack."""
    return VERSION + zlib.compress(_ENCODER.encode(frame), 1)


def decode_frame(data: bytes) -> Frame:
    """The inverse of `encode_frame`; raises ValueError when it is not that."""
    if data[:1] != VERSION:
        raise ValueError("not a frame of this version")
    try:
        unpack = zlib.decompressobj()
        plain = unpack.decompress(data[1:], MAX_BYTES)
        if not unpack.eof:
            raise ValueError("a frame is cut short or too large")
        return _DECODER.decode(plain)
    except (zlib.error, msgspec.DecodeError, TypeError, RecursionError) as e:
        raise ValueError(f"not a frame: {e}") from e

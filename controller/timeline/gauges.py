"""Gauges on the axis: what was read within a bucket, and for a while afterwards what was read last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.timeline.axis import Axis


def gauge(
    axis: Axis,
    readings: Iterable[tuple[int, float]],
    *,
    holds: float = 0.0,
    stops: Sequence[tuple[float, float]] = (),
) -> list[float | None]:
    """The mean of the readings (second, value; rising in second) within each bucket. A bucket without any has the last
    reading before it if that is at most `holds` seconds old: whatever looks less often than once a second. Not during
    `stops` (from, to), when nobody looks."""
    within: list[list[float]] = [[] for _ in axis.t]
    before: tuple[int, float] | None = None
    for second, value in readings:
        if second < axis.edges[0]:
            before = (second, value)
        elif second < axis.end:
            within[axis.bucket(second)].append(value)
    out: list[float | None] = []
    for begin, end, values in zip(axis.edges, axis.edges[1:], within, strict=False):
        if values:
            out.append(sum(values) / len(values))
            before = (end - 1, values[-1])
        else:
            old = (
                before is None or begin - before[0] > holds or any(low <= begin and end <= high for low, high in stops)
            )
            out.append(None if old or before is None else before[1])
    return out

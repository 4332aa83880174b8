"""Views of a result that sections share: names of points, the representative run of a point, rates, intervals."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from controller.labels.rules import DOMINATED_MARK
from experiments.report import words
from experiments.report.parts import Column
from experiments.result.schema import CallTime, Latency, Point, Result, Run, SizedLatency

LIMITED = "GENERATOR-LIMITED"
PERCENTILES = ("p50", "p95", "p99")
_T = TypeVar("_T")
_R = TypeVar("_R", bound=Run)


def middle(repeats: Sequence[_R]) -> _R:
    """Return the representative repeat: the one with the (lower) median elapsed time."""
    runs = sorted(repeats, key=lambda run: (run.elapsed_s, run.repeat))
    return runs[(len(runs) - 1) // 2]


def named(point: Point, result: Result) -> str:
    """Name a point by its load and everything else that differs (0: it has none): "4 clients, local storage (ext4)"."""
    return ", ".join([point.at.on(result.axis), *apart(point, result)])


def apart(point: Point, result: Result) -> list[str]:
    """Return the fields of its load besides the axis that differ among the points (0: it has none)."""
    return [
        point.at.on(name) if isinstance(value, int) else str(value)
        for name, value in point.at.without(result.axis).items()
        if len({other.at.values()[name] for other in result.points} - {0}) > 1
    ]


def load_columns(result: Result, point_of: Callable[[Any], Point] = lambda row: row) -> list[Column[Any]]:
    """Return columns with the load of a row's point, for the CSV."""

    def of(name: str, row: Any) -> Any:
        return point_of(row).at.values()[name]

    return [Column(name, None, partial(of, name)) for name in result.points[0].at.values()]


def held(name: str) -> str:
    """Return a name that does not break over lines in a table's cell."""
    return name.replace(" ", "\u00a0")


def spread(points: Sequence[_T], most: int) -> list[_T]:
    """Return at most so many of the points, evenly spread, including the first and the last."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def percentiles(one: Latency | SizedLatency, names: Sequence[str] = PERCENTILES) -> list[str]:
    """Return percentiles in words, marked if waiting for a CPU is more than half of them."""
    marked = one.processor if isinstance(one, Latency) else ()
    return [
        words.microseconds(getattr(one, f"{name}_us")) + (DOMINATED_MARK if name in marked else "") for name in names
    ]


def in_calls(time: CallTime | None) -> str | None:
    """Describe the parts of the time inside calls in a sentence; None if it is not known."""
    if time is None or not time.call_s:
        return None
    parts = [f"{words.percent(time.service_s / time.call_s)} service"]
    if time.queue_s is not None:
        parts.append(f"{words.percent(time.queue_s / time.call_s)} in the filer's queues")
    most = "" if time.exact else "about "
    parts.append(f"{most}{words.percent(time.processor_s / time.call_s)} waiting for a core")
    more = f" In percentiles marked {DOMINATED_MARK} it is more than half." if time.dominated else ""
    return f"Of {words.seconds(time.call_s)} inside calls, over all processes that made them: {', '.join(parts)}.{more}"


def shouted(result: Result) -> list[str]:
    """Return the labels that change what every number means, such as CACHED and EMULATED FILER: those that begin in
    capitals. GENERATOR-LIMITED is not one of them: each point has its own."""
    return [label for label in result.labels if label[:2].isupper() and not label.startswith(LIMITED)]


def stage_means(samples: Iterable[tuple[float, float]], elapsed_s: float) -> list[float | None]:
    """Return the mean of (seconds, value) samples in each third of the elapsed time; None for a third without
    samples."""
    thirds: list[list[float]] = [[], [], []]
    for at, value in samples:
        if elapsed_s > 0 and 0 <= at <= elapsed_s:
            thirds[min(2, int(3 * at / elapsed_s))].append(value)
    return [sum(third) / len(third) if third else None for third in thirds]


def rates(samples: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Convert numbers since the previous sample to numbers a second.

    The first sample only starts the clock: when the one before it was taken, and so its rate, is not known."""
    pairs = itertools.pairwise(samples)
    return [(at, value / (at - before)) for (before, _), (at, value) in pairs if at > before]


def summed_rates(lines: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Return several lines of (end of an interval, rate in it) as one: the sum of their rates at the ends of the line
    with the most intervals. Samples taken a moment apart thus give one value, not a step up and one down."""
    if not lines:
        return []
    moments = [at for at, _ in max(lines, key=len)]
    return [(moment, sum(_holding(line, moment) for line in lines)) for moment in moments]


def _holding(line: Sequence[tuple[float, float]], moment: float) -> float:
    """Return the rate at a moment; the rate of the last interval holds for its length once more, then it is 0."""
    place = bisect.bisect_left(line, moment, key=lambda sample: sample[0])
    if place < len(line):
        return line[place][1]
    if not line:
        return 0.0
    latest, rate = line[-1]
    before = line[-2][0] if len(line) > 1 else 0.0
    return rate if moment - latest <= latest - before else 0.0


def binned(samples: Sequence[tuple[float, float]], most: int = 300) -> tuple[list[tuple[float, float]], int]:
    """Average values of one-second steps over steps of whole seconds, so that at most so many remain; return them and
    the step. Seconds without a sample count as zero: nothing was called then."""
    if not samples:
        return [], 1
    first, last = int(samples[0][0] // 1), int(max(at for at, _ in samples) // 1)
    step = max(1, -(-(last - first + 1) // most))
    sums = [0.0] * ((last - first) // step + 1)
    for at, value in samples:
        sums[(int(at // 1) - first) // step] += value
    return [(first + step * (number + 0.5), value / step) for number, value in enumerate(sums)], step

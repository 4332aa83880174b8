"""What a result may claim: the labels of its first line, and whether a point was limited by the generator (design §4)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from controller.jobs.rates import duration
from controller.timeline.thresholds import CACHE_FACTOR, CACHED, CPU_SHARE, LIMITED, RUN_QUEUE_SHARE
from experiments.result import Knee, Point, Run
from experiments.statistics import interval_text

NULL_FACTOR = 1.3  # elapsed under so many times null storage's: the storage hardly mattered

RECOMMENDED_REPEATS = 5
RECOMMENDED_SECONDS = 600.0


def limits_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """Why a point says nothing about the storage; empty when it may. Medians over its repeats."""
    out = []
    ratios = [run.elapsed_s / run.null_elapsed_s for run in runs if run.null_elapsed_s]
    if ratios and (ratio := statistics.median(ratios)) < NULL_FACTOR:
        out.append(f"it took {ratio:.2f} x as long as on null storage (under {NULL_FACTOR})")
    cpu = statistics.median(run.worker_cpu for run in runs)
    if cpu > CPU_SHARE:
        out.append(f"the workers used {cpu:.0%} of the processors (over {CPU_SHARE:.0%})")
    waits = [run.run_queue_share for run in runs if run.run_queue_share is not None]
    if waits and (wait := statistics.median(waits)) > RUN_QUEUE_SHARE:
        out.append(
            f"the workers waited {wait:.2f} s for a processor for each second of storage calls (over {RUN_QUEUE_SHARE})"
        )
    return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """What can hold the data: this host's memory and what the user declared of the filer."""

    client_bytes: int
    filer_bytes: int

    def hold(self, points: Sequence[Point]) -> bool:
        """Whether some point discovered less than three times of it."""
        least = min(run.result["discovered_bytes"] for point in points for run in point.repeats)
        return bool(least < CACHE_FACTOR * (self.client_bytes + self.filer_bytes))


def labels_of(points: Sequence[Point], *, emulated: str | None, cached: bool) -> tuple[str, ...]:
    """Labels that must stand before any figure. `emulated`: the emulated filer's own label."""
    out = [] if emulated is None else [emulated]
    if cached:
        out.append(CACHED)
    return (*out, *limited_label([point.limited for point in points]))


def limited_label(limited: Sequence[bool]) -> tuple[str, ...]:
    """The label for the points that the generator limited, of all points in order; none where it limited none."""
    if not any(limited):
        return ()
    where = "every point" if all(limited) else f"{sum(limited)} of {len(limited)} points"
    return (f"{LIMITED} at {where}",)


def verdict_of(kind: str, points: Sequence[Point], labels: Sequence[str], storage: str, knee: Knee | None) -> str:
    """The first line: labels, then what was found in one sentence."""
    return "; ".join([*labels, _sentence(kind, points, storage, knee)])


def _sentence(kind: str, points: Sequence[Point], storage: str, knee: Knee | None) -> str:
    if knee is not None:
        return _knee_sentence(points, storage, knee)
    varied = "databases" if kind == "scale-out" else "workers"
    first, last = points[0], points[-1]
    said = f"{kind} on {storage}: {interval_text(last.gb_per_hour_discovered)} GB/hour discovered at"
    said += f" {getattr(last, varied)} {varied if getattr(last, varied) > 1 else varied[:-1]}"
    if len(points) == 1 or not first.gb_per_hour_discovered.median:
        return said
    factor = last.gb_per_hour_discovered.median / first.gb_per_hour_discovered.median
    return f"{said}, {factor:.2f} x that of {getattr(first, varied)}"


def _knee_sentence(points: Sequence[Point], storage: str, knee: Knee) -> str:
    peak = points[knee.peak]
    said = (
        f"knee on {storage}: peak {interval_text(peak.gb_per_hour_discovered)} GB/hour discovered at {_workers(peak)}"
    )
    if knee.knee is None:
        return f"{said}; no load keeps the bounds: {knee.broken}"
    at = points[knee.knee]
    kept = f"{interval_text(at.gb_per_hour_discovered)} GB/hour at {_workers(at)} keeps all bounds"
    return f"{said}; {kept}; {knee.broken or 'no bound was broken up to the highest load'}"


def _workers(point: Point) -> str:
    return f"{point.workers} worker{'s' if point.workers > 1 else ''}"


def warnings_of(points: Sequence[Point], *, no_pair: str | None, missed: int = 0) -> tuple[str, ...]:
    """What a reader must know before using the figures."""
    out = []
    runs = [run for point in points for run in point.repeats]
    fewest = min(len(point.repeats) for point in points)
    if fewest < RECOMMENDED_REPEATS:
        out.append(
            f"{fewest} repeat{'s' if fewest > 1 else ''} a point: {RECOMMENDED_REPEATS} or more are recommended"
            " (the interval reaches 95 % with 6)"
        )
    shortest = min(run.elapsed_s for run in runs)
    if shortest < RECOMMENDED_SECONDS:
        out.append(f"the shortest run took {duration(shortest)}: 10 minutes a point or more are recommended")
    if no_pair is not None:
        out.append(f"no run has a pair on null storage: {no_pair}; so nothing is said about who was the limit")
    if missed:
        out.append(f"{missed} looks at a database got no answer: the series have gaps")
    if not all(run.result["calls_complete"] for run in runs):
        out.append("some call records are missing: the calls are a lower bound")
    for databases in sorted({point.databases for point in points}):
        found = {
            (run.result["items"], run.result["discovered_bytes"])
            for point in points
            if point.databases == databases
            for run in point.repeats
        }
        if len(found) > 1:
            out.append(
                f"runs did not find the same items and discovered bytes ({databases} databases): {sorted(found)}"
            )
    return tuple(out)

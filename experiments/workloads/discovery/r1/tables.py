"""Report R1's two tables with ours beside, as plain rows."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report import words
from experiments.result.statistics import interval_text
from experiments.workloads.discovery.result import Point, Result
from experiments.workloads.discovery.sections.beside_r1 import same_workers
from experiments.workloads.discovery.sections.reference import SCALE_OUT, SCALE_UP, ReferenceRun
from experiments.workloads.discovery.views import middle_run, over_longest_job, total

TABLE = (
    "whose",
    "databases",
    "workers",
    "elapsed",
    "GB before",
    "GB after",
    "discovered GB/hour",
    "over the first row",
)

_SIZES = ("raw_bytes", "discovered_bytes")


def r1_tables(result: Result) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Title and rows of each; scale-out only where the result has it."""
    up = [point for point in result.points if point.databases == min(p.databases for p in result.points)]
    found = [("Scale-up", _rows(SCALE_UP, up))]
    if out := same_workers(result.points):
        found.append(("Scale-out", _rows(SCALE_OUT, out)))
    return found


def _rows(reference: Sequence[ReferenceRun], ours: Sequence[Point]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    base = reference[0].after_gb / reference[0].elapsed_s
    for run in reference:
        sizes = (f"{run.before_gb}", f"{run.after_gb}", f"{run.gb_per_hour}")
        gain = run.after_gb / run.elapsed_s / base
        rows.append(("R1", f"{run.databases}", f"{run.workers}", run.elapsed, *sizes, f"{gain:.2f} x"))
    first = over_longest_job(ours[0])[1].median
    for point in ours:
        elapsed, rate = over_longest_job(point)
        before, after = (words.figure(total(middle_run(point), name) / words.GB) for name in _SIZES)
        number = (f"{point.databases}", f"{point.workers}", interval_text(elapsed, words.seconds))
        over = f"{rate.median / first:.2f} x" if first else "-"
        rows.append(("ours", *number, before, after, interval_text(rate, words.figure), over))
    return rows

"""Discovery: the jobs of a corpus, with so many workers on so many databases."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.workload import About, Figure, Same
from experiments.workloads.discovery.result import ELAPSED, NAME, NULL, NULL_FACTOR, RATE, RAW, Point, Result, Run
from experiments.workloads.discovery.version1 import upgraded

if TYPE_CHECKING:
    from experiments.report.parts import Section


def near_null(runs: Sequence[Run]) -> str | None:
    """Why the storage hardly mattered; None when it did, and without pairs."""
    ratios = [run.elapsed_s / run.null_elapsed_s for run in runs if run.null_elapsed_s]
    if not ratios or (ratio := statistics.median(ratios)) >= NULL_FACTOR:
        return None
    return f"it took {ratio:.2f} x as long as on null storage (under {NULL_FACTOR})"


def _sections(result: Result) -> list[Section]:
    from experiments.workloads.discovery.sections import sections  # draws: matplotlib is slow to come

    return sections(result)


def _states(run: Run) -> str:
    """Of its jobs, each state once."""
    jobs = run.result.get("jobs") or [run.result]
    return ", ".join(dict.fromkeys(str(job.get("state", "not known")).replace("_", " ") for job in jobs))


ABOUT = About(
    name=NAME,
    title="{kind}",
    result=Result,
    point=Point,
    figures=(
        Figure(name=ELAPSED, title="elapsed s", of=lambda run: run.elapsed_s),
        Figure(name=NULL, title="null s", of=lambda run: run.null_elapsed_s, missing="no pair"),
        Figure(name=RATE, title="GB/hour discovered", of=lambda run: run.gb_per_hour_discovered, told=True),
        Figure(name=RAW, title="raw", of=lambda run: run.gb_per_hour_raw),
    ),
    sections=_sections,
    notes={"state": _states, "first_done_s": lambda run: run.first_done_s, "last_done_s": lambda run: run.last_done_s},
    same=(
        Same(name="corpus hash", path=("corpus", "hash")),
        Same(name="corpus raw_bytes", path=("corpus", "raw_bytes")),
        Same(name="expansion", path=("expansion",), tolerance=0.001),
    ),
    near_null=near_null,
    rule=f"GENERATOR-LIMITED is a point whose elapsed time is under {NULL_FACTOR} times that on null storage.",
    upgrade=upgraded,
)

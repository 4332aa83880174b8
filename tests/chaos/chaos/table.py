"""What a campaign came to: fault × phase × runs × survived × seconds lost."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer

from core.document import Document

_ORDER = ("start", "walk", "expand", "index", "ocr", "finalise", "-")


_Seconds = Annotated[float, PlainSerializer(lambda value: round(value, 2))]


class Row(Document):
    """One fault in one phase."""

    fault: str
    phase: str  # `-`: the run was over before the fault's moment came
    runs: int
    survived: int
    resumed: int  # of these, with one `resume`
    lost_median_s: _Seconds
    lost_worst_s: _Seconds
    failed: tuple[str, ...]  # as seed/number


def rows_of(runs: Iterable[Mapping[str, Any]]) -> list[Row]:
    """A run with two faults counts for each of them, in the phase that it struck in; one that struck several times in
    the phase of the last."""
    cells: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        struck = {one["fault"]: one["phase"] for one in run["struck"]}
        for fault in dict.fromkeys(run["planned"]):
            cells.setdefault((fault, struck.get(fault, "-")), []).append(run)
    return [_row(fault, phase, counted) for (fault, phase), counted in sorted(cells.items(), key=_place)]


def _place(cell: tuple[tuple[str, str], object]) -> tuple[str, int]:
    fault, phase = cell[0]
    return fault, _ORDER.index(phase) if phase in _ORDER else len(_ORDER)


def _row(fault: str, phase: str, runs: list[Mapping[str, Any]]) -> Row:
    lost = [float(run["lost"]) for run in runs]
    good = [run for run in runs if not run["faults"]]
    return Row(
        fault=fault,
        phase=phase,
        runs=len(runs),
        survived=len(good),
        resumed=sum(1 for run in good if run["resumes"]),
        lost_median_s=statistics.median(lost),
        lost_worst_s=max(lost),
        failed=tuple(f"{run['plan']['seed']}/{run['number']}" for run in runs if run["faults"]),
    )


_HEAD = (
    "| fault | phase | runs | survived | with one resume | seconds lost, median | worst | failed |",
    "|---|---|---|---|---|---|---|---|",
)


def markdown(runs: Iterable[Mapping[str, Any]]) -> str:
    """For docs/dev/faults.md; runs of one campaign or of several."""
    all_runs = list(runs)
    seeds = ", ".join(str(seed) for seed in sorted({run["plan"]["seed"] for run in all_runs}))
    lines = [
        f"| `{r.fault}` | {r.phase} | {r.runs} | {r.survived} | {r.resumed} | {r.lost_median_s:.1f} | {r.lost_worst_s:.1f} |"
        f" {', '.join(r.failed)} |"
        for r in rows_of(all_runs)
    ]
    good = sum(1 for run in all_runs if not run["faults"])
    return "\n".join([*_HEAD, *lines, "", f"Seed {seeds}: {good} of {len(all_runs)} runs survived."])

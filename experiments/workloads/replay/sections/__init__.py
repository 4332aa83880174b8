"""The sections that replays contribute to a report."""

from __future__ import annotations

from experiments.report.disclosure import disclosure
from experiments.report.knee import knee
from experiments.report.parts import Section
from experiments.report.points import points
from experiments.report.steadiness import steadiness
from experiments.workloads.replay.result import ReplayResult
from experiments.workloads.replay.sections.backlog import backlog
from experiments.workloads.replay.sections.curves import curves
from experiments.workloads.replay.sections.filer_side import filer_side
from experiments.workloads.replay.sections.latencies import beside_the_trace, latencies
from experiments.workloads.replay.sections.levels import levels
from experiments.workloads.replay.sections.timeline import timeline


def sections(result: ReplayResult) -> list[Section]:
    """In reading order; the knee's only where bounds were set, levels in place of curves, backlog and filer where there is
    something to tell."""
    parts: list[Section | None] = [
        points(result),
        knee(result) if result.knee is not None else None,
        steadiness(result),
        curves(result) if result.levels is None else levels(result, result.levels),
        timeline(result),
        backlog(result),
        beside_the_trace(result),
        latencies(result),
        filer_side(result),
        disclosure(result),
    ]
    return [section for section in parts if section is not None]

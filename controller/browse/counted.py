"""Counts of a job as documents; `controller.browse.counts` computes them."""

from __future__ import annotations

from pydantic import Field

from controller.browse.counts import JobCounts
from core.document import Document, Milli
from core.records import Phase


class Counted(Document):
    """Items that have something in common."""

    name: str
    items: int
    bytes: int


class PhaseCounts(Document):
    """One phase of a job."""

    tasks_done: int
    tasks_open: int
    items: int
    seconds: Milli


class ExceptionCount(Document):
    """Exceptions of one code at one level."""

    code: str
    level: str
    exceptions: int
    missing: int = Field(description="Children missing because of them, where known.")


class TextCount(Document):
    """Items of one text state."""

    name: str
    items: int
    characters: int
    pages: int


class Children(Document):
    """Children over all containers; expected must be emitted and failed together."""

    expected: int
    emitted: int
    failed: int
    remainder_unknown: int = Field(
        0, description="Containers that were cut short: an unknown number of children is missing."
    )


def phases_of(counts: JobCounts) -> dict[Phase, PhaseCounts]:
    """Return the counts of the phases that have tasks."""
    return {
        phase: PhaseCounts(tasks_done=p.done, tasks_open=p.open, items=p.items, seconds=p.elapsed_s)
        for phase, p in counts.progress.phases.items()
    }

"""Job types: discovery, extraction, processing and export of the same data, and what each does to storage and CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.report import words
from experiments.result import schema
from experiments.workload import About, Figure, Same

if TYPE_CHECKING:
    from experiments.report.parts import Section


NAME = "job-types"


@dataclass(frozen=True, slots=True, order=True)
class TypeLoad(schema.At):
    """A type of job, done by so many workers."""

    type: str
    workers: int

    def on(self, axis: str) -> str:
        """A type is itself."""
        return self.type if axis == "type" else schema.At.on(self, axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRun(schema.Run):
    """One job."""

    items: int
    calls: int
    read_bytes: int
    written_bytes: int
    cpu_s: float  # of all worker processes, boxes included
    storage_s: float | None  # inside storage calls, without waits for a CPU; None: not known


class TypePoint(schema.PointOf[TypeLoad, TypeRun]):
    """All repeats under one load."""


class TypeResult(schema.ResultOf[TypePoint]):
    """A whole experiment."""


def _sections(result: TypeResult) -> list[Section]:
    from experiments.report.sections import (
        disclosure,  # draws: matplotlib is slow to come
        points,
    )

    return [points(result), disclosure(result)]


def _share(run: TypeRun) -> float | None:
    return None if run.storage_s is None else run.storage_s / (run.storage_s + run.cpu_s)


def _figure(value: float) -> str:
    return f"{value:,.2f}"


ABOUT = About(
    name=NAME,
    title="job types",
    result=TypeResult,
    point=TypePoint,
    figures=(
        Figure(name="items_per_s", title="items/s", of=lambda run: run.items / run.elapsed_s, headline=True),
        Figure(name="calls_per_s", title="calls/s", of=lambda run: run.calls / run.elapsed_s),
        Figure(name="read_mb_per_s", title="MB/s read", of=lambda run: run.read_bytes / run.elapsed_s / 1e6),
        Figure(name="written_mb_per_s", title="MB/s written", of=lambda run: run.written_bytes / run.elapsed_s / 1e6),
        Figure(name="cpu_ms_per_item", title="CPU ms/item", of=lambda run: run.cpu_s / run.items * 1e3, write=_figure),
        Figure(name="storage_share", title="in storage calls", of=_share, write=words.percent),
        Figure(name="elapsed_s", title="elapsed s", of=lambda run: run.elapsed_s),
    ),
    sections=_sections,
    notes={
        "items": lambda run: run.items,
        "calls": lambda run: run.calls,
        "read bytes": lambda run: run.read_bytes,
        "written bytes": lambda run: run.written_bytes,
    },
    same=(Same(name="source", path=("corpus", "items")),),
    rule=(
        "In storage calls: seconds inside storage calls ÷ (these + CPU seconds), over all slots; waiting for a"
        " core is not included in the former. The CPU time of a call itself is in both."
    ),
)

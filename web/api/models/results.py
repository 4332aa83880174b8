"""Results of experiments."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from core.document import Document


class ResultRow(Document):
    """One result in the list."""

    run: str
    workload: str = Field(description="What was run: discovery, replay and others.")
    kind: str = Field(description="What was varied: scale-up, scale-out, knee, sweep, load.")
    created: float = Field(description="Wall clock, seconds since the epoch.")
    verdict: str
    labels: list[str]
    advice: list[str] = Field([], description="What to do about them, a line each.")
    points: int
    report: bool = Field(description="report.html is there.")


class ResultList(Document):
    """Results, newest first; `unreadable` names directories whose result.json cannot be read, and why."""

    results: list[ResultRow]
    unreadable: dict[str, str]


class Estimate(Document):
    """The median of repeats with its interval."""

    median: float
    low: float | None
    high: float | None
    coverage: float | None = Field(description="Probability that the interval holds the true median.")
    n: int


class FigureName(Document):
    """A figure that points of a workload have."""

    name: str = Field(description="In `figures`; its unit is part of it.")
    title: str
    told: bool = Field(description="In the verdict and in comparisons.")


class PointRow(Document):
    """One point of a study."""

    at: dict[str, int | str] = Field(description="Its load, by what can be varied.")
    repeats: int
    figures: dict[str, Estimate]
    limited: bool = Field(description="GENERATOR-LIMITED: no verdict on the storage.")
    marks: list[str] = Field([], description="Its own labels: SHORT, NOT STEADY, GENERATOR-LIMITED.")
    limits: list[str]


class FileRow(Document):
    """One file of a result."""

    name: str
    bytes: int
    media_type: str


class ResultDetails(ResultRow):
    """One result without its series; those are in its files."""

    axis: str = Field(description="The field of `at` that was varied.")
    warnings: list[str]
    conditions: dict[str, Any]
    figures: list[FigureName] = Field(description="In the order in which they are shown.")
    points_measured: list[PointRow]
    files: list[FileRow]


class ComparedResult(Document):
    """One of the results that stand side by side."""

    run_id: str
    verdict: str


class Ratio(Document):
    """What one result's repeats are to another's."""

    ratio: float
    low: float
    high: float
    coverage: float = Field(description="Probability that the true ratio lies from low to high.")
    p: float = Field(description="Of this comparison alone; what is told is corrected for all of them.")


class ComparedCell(Document):
    """One result at one point."""

    figures: dict[str, Estimate]
    limited: bool
    marks: list[str] = Field([], description="Labels of this point alone.")
    against_first: dict[str, str] = Field(description="Of each figure that is told; empty of the first result.")
    ratios: dict[str, Ratio | None] = Field(description="Of the same, to the first result's; null: too few repeats.")


class Overall(Document):
    """One result's overall response time, of kind load."""

    response_us: Estimate
    up_to: int = Field(description="Percent of its peak.")
    peak: int = Field(description="Calls a second.")
    against_first: str


class ComparedPoint(Document):
    """One point, a cell for each result; null where a result has it not."""

    at: dict[str, int | str]
    cells: list[ComparedCell | None]


class Comparison(Document):
    """Results side by side; the first is what the others are held against."""

    figures: list[FigureName]
    results: list[ComparedResult]
    differences: list[str] = Field(description="Why they should not be compared; only with `force`.")
    disclosed: list[str]
    unchecked: list[str] = Field(
        description="Results that are no packages, or not as their manifest says; `edbench result check` looks deeper."
    )
    overall: list[Overall | None] = Field([], description="Of kind load; null: not even the lowest level was reached.")
    points: list[ComparedPoint]

"""Results of experiments."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from core.document import Document


class ResultRow(Document):
    """One result in the list."""

    run: str
    workload: str = Field(description="The workload: discovery, replay and others.")
    kind: str = Field(description="The kind of experiment: scale-up, scale-out, knee, sweep, load.")
    created: float = Field(description="Wall clock, seconds since the epoch.")
    verdict: str
    labels: list[str]
    advice: list[str] = Field([], description="What to do about each label.")
    points: int
    report: bool = Field(description="Whether report.html exists.")


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
    headline: bool = Field(description="Whether the verdict and comparisons contain it.")


class PointRow(Document):
    """One point of an experiment."""

    at: dict[str, int | str] = Field(description="Its values of the varied parameters.")
    repeats: int
    figures: dict[str, Estimate]
    limited: bool = Field(description="GENERATOR-LIMITED: no verdict on the storage.")
    marks: list[str] = Field([], description="Labels of this point.")
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
    """One of the compared results."""

    run_id: str
    verdict: str


class Ratio(Document):
    """The ratio of a figure between two results."""

    ratio: float
    low: float
    high: float
    coverage: float = Field(description="Probability that the true ratio is between low and high.")
    p: float = Field(description="Of this comparison alone; `against_first` is corrected for all comparisons.")


class ComparedCell(Document):
    """One result at one point."""

    figures: dict[str, Estimate]
    limited: bool
    marks: list[str] = Field([], description="Labels of this point alone.")
    against_first: dict[str, str] = Field(
        description="Each headline figure compared with the first result; empty for the first result."
    )
    ratios: dict[str, Ratio | None] = Field(description="Ratios to the first result; null: too few repeats.")


class Overall(Document):
    """One result's overall response time, of kind load."""

    response_us: Estimate
    up_to: int = Field(description="Percent of its peak.")
    peak: int = Field(description="Calls a second.")
    against_first: str


class ComparedPoint(Document):
    """One point with a cell for each result; null where a result does not have the point."""

    at: dict[str, int | str]
    cells: list[ComparedCell | None]


class Comparison(Document):
    """A comparison; the first result is the reference."""

    figures: list[FigureName]
    results: list[ComparedResult]
    differences: list[str] = Field(description="Why the results are not comparable; only with `force`.")
    disclosed: list[str]
    unchecked: list[str] = Field(
        description="Results without a valid package manifest; `edbench result check` checks them fully."
    )
    overall: list[Overall | None] = Field([], description="Of kind load; null: the lowest level was not reached.")
    points: list[ComparedPoint]

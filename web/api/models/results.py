"""Results of experiments."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from web.api.models.common import Model


class ResultRow(Model):
    """One result in the list."""

    run: str
    kind: str
    created: float = Field(description="Wall clock, seconds since the epoch.")
    verdict: str
    labels: list[str]
    points: int
    report: bool = Field(description="report.html is there.")


class ResultList(Model):
    """Results, newest first; `unreadable` names directories whose result.json cannot be read, and why."""

    results: list[ResultRow]
    unreadable: dict[str, str]


class Estimate(Model):
    """The median of repeats with its interval."""

    median: float
    low: float | None
    high: float | None
    coverage: float | None = Field(description="Probability that the interval holds the true median.")
    n: int


class PointRow(Model):
    """One point of an experiment."""

    databases: int
    workers: int
    slots: int
    elapsed_s: Estimate
    gb_per_hour_raw: Estimate
    gb_per_hour_discovered: Estimate
    null_elapsed_s: Estimate | None
    limited: bool = Field(description="GENERATOR-LIMITED: no verdict on the storage.")
    limits: list[str]


class FileRow(Model):
    """One file of a result."""

    name: str
    bytes: int
    media_type: str


class ResultDetails(ResultRow):
    """One result without its series; those are in its files."""

    warnings: list[str]
    conditions: dict[str, Any]
    points_measured: list[PointRow] = Field(description="Of an experiment; a replay's are in its files.")
    files: list[FileRow]


class ComparedResult(Model):
    """One of the results that stand side by side."""

    run_id: str
    verdict: str


class ComparedCell(Model):
    """One result at one point."""

    gb_per_hour_discovered: Estimate
    elapsed_s: Estimate
    limited: bool
    against_first: str


class ComparedPoint(Model):
    """One point, a cell for each result; null where a result has it not."""

    databases: int
    workers: int
    slots: int
    cells: list[ComparedCell | None]


class Comparison(Model):
    """Results side by side; the first is what the others are held against."""

    results: list[ComparedResult]
    differences: list[str] = Field(description="Why they should not be compared; only with `force`.")
    disclosed: list[str]
    points: list[ComparedPoint]

"""Documents about results, as the API and `edbench result compare -o json` write them."""

from __future__ import annotations

from pydantic import Field

from core.document import Document
from experiments.result import compare
from experiments.workload import About


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
    overall: list[Overall | None] = Field([], description="Of kind load; null: the lowest level was not reached.")
    points: list[ComparedPoint]


def figure_names(workload: About) -> list[FigureName]:
    """Return the figures of a workload's points, in the order in which they are shown."""
    shown = (figure for figure in workload.figures if not figure.aside)
    return [FigureName(name=figure.name, title=figure.column, headline=figure.headline) for figure in shown]


def comparison_document(of: compare.Comparison) -> Comparison:
    """Return the document of a comparison."""
    return Comparison.from_records(of, figures=figure_names(of.about), points=of.rows)

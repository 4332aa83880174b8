"""docs/dev/capacity-validation.md: what it says of report R1's rows is what is predicted from the packages that docs/dev/site keeps."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.results.record import unpacked
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import calibrate
from experiments.capacity.predict import Predictor
from experiments.result.codec import read_result
from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS
from experiments.workloads.discovery.result import Result, of_discovery

_DOCS = Path(__file__).parents[4] / "docs"
_MOST = 0.10  # that a prediction may be off


@pytest.fixture(scope="module")
def studies() -> Mapping[str, Result]:
    """Both."""
    with unpacked(_DOCS / "dev/site") as packages:
        return {name: of_discovery(read_result(package)) for name, package in packages.items()}


@pytest.mark.parametrize(
    ("calibrated_on", "rows_of", "streams"),
    [
        ("r1", "r1", None),
        ("r1-no-limit", "r1-no-limit", None),
        ("r1", "r1-no-limit", 0),
        ("r1-no-limit", "r1", INDEX_STREAMS),
    ],
)
def test_every_row_is_predicted_within_a_tenth_and_stands_on_the_page(
    studies: Mapping[str, Result], calibrated_on: str, rows_of: str, streams: int | None
) -> None:
    """Calibrated on one database with 10 and 30 workers; two databases are what it never saw, nor, in the last two, so many
    index streams."""
    page = (_DOCS / "dev/capacity-validation.md").read_text()
    predictor = Predictor(calibrate(studies[calibrated_on], calibrated_on, filer_given=False), filer_changed=False)
    for row in studies[rows_of].points:
        measured = statistics.median(run.elapsed_s for run in row.repeats)
        question = Question(workers=row.workers, databases=row.databases, slots=row.slots, index_streams=streams)
        found = predictor(question).elapsed_s
        error = found.value / measured - 1.0
        said = (
            f"| {calibrated_on} | {rows_of} | {row.workers} | {row.databases} | {found.value:.0f} s |"
            f" {found.told('{:.0f}'.format)} s | {measured:.0f} s | {error:+.1%} |"
        ).replace("%", " %")
        assert said in page, said
        assert abs(error) <= _MOST, said

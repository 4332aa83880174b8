"""docs/capacity-model.md: what it says of report R1's rows is what is predicted from the packages that docs/site keeps."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from benchmarks.results.record import unpacked
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import calibrate
from experiments.capacity.predict import Predictor
from experiments.result.codec import read_result
from experiments.workloads.discovery.result import of_discovery

_DOCS = Path(__file__).parents[4] / "docs"
_MOST = 0.10  # that a prediction may be off


@pytest.mark.parametrize("name", ["r1", "r1-no-limit"])
def test_every_row_is_predicted_within_a_tenth_and_stands_on_the_page(name: str) -> None:
    """Calibrated on one database with 10 and 30 workers; two databases are what it never saw. An interval that does not hold
    is told as well."""
    page = (_DOCS / "capacity-model.md").read_text()
    with unpacked(_DOCS / "site") as packages:
        result = of_discovery(read_result(packages[name]))
    predictor = Predictor(calibrate(result, name, filer_given=False), filer_changed=False)
    for row in result.points:
        measured = statistics.median(run.elapsed_s for run in row.repeats)
        found = predictor(Question(workers=row.workers, databases=row.databases, slots=row.slots)).elapsed_s
        error = found.value / measured - 1.0
        said = (
            f"| {name} | {row.workers} | {row.databases} | {found.value:.0f} s | {found.low:.0f} to {found.high:.0f} s |"
            f" {measured:.0f} s | {error:+.1%} |"
        )
        assert said.replace("%", " %") in page, said
        assert abs(error) <= _MOST, said

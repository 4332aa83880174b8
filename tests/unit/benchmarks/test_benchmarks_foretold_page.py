"""docs/dev/capacity-validation.md: what it says of runs on real storage is what the packages of docs/dev/results have, labels included."""

from __future__ import annotations

from pathlib import Path

from benchmarks.foretold import WITHIN
from benchmarks.results import steps
from benchmarks.results.figures_table import number
from benchmarks.results.told import Told, told

_PAGE = Path(__file__).parents[3] / "docs" / "dev" / "capacity-validation.md"
_ASKED = 6  # runs within a tenth, for which it would be shown


def _row(one: Told) -> tuple[str, float, bool]:
    """As it stands on the page; the error; whether the figure is this machine's."""
    point = next(each for each in one.record["prediction"]["document"]["points"] if each["workers"] == 4)
    value, (low, high) = point["gb_per_hour_discovered"], point["gb_per_hour_discovered_interval"]
    measured = one.figure(steps.MOST, {"workers": 4}, "gb_per_hour_discovered")
    assert measured is not None
    before, after = (one.results[name].labels for name in (steps.CALIBRATION, steps.MOST))
    assert before == after, one.title
    error = (value / measured - 1.0) * 100
    labels = ", ".join(label.removesuffix(": not a storage result") for label in after)
    said = (
        f"| {one.title} | {labels} | {number(value)} | {number(low)} to {number(high)} | {high / low:.1f} x |"
        f" {number(measured)} | {error:+.1f} % |"
    )
    return said, error, "GENERATOR-LIMITED" in labels


def test_every_prediction_on_real_storage_stands_there_under_its_labels() -> None:
    """And how many of those that tell of a storage were within ten per cent, which is not the goal."""
    page = _PAGE.read_text()
    with told() as storages:
        rows = [_row(one) for one in storages if one.record["prediction"]]
    for said, _, _ in rows:
        assert said in page, said
    assert all("CACHED, SHORT" in said for said, _, _ in rows)
    of_storage = [abs(error) for _, error, limited in rows if not limited]
    assert (len(rows), len(of_storage), sum(error <= WITHIN for error in of_storage)) == (7, 3, 2)
    assert sum(error <= WITHIN for error in of_storage) < _ASKED
    assert "**two are within 10 %**" in page
    assert "the goal of six such runs is missed" in page

"""docs/dev/site.md: what it says of report R1's rows is what the packages beside it tell today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.results.record import unpacked
from experiments.result.codec import read_result
from experiments.workloads.discovery.r1.checks import checks, verdict
from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS, streams_of
from experiments.workloads.discovery.r1.tables import r1_tables
from experiments.workloads.discovery.result import Result

_DOCS = Path(__file__).parents[5] / "docs"
_LIMITED, _FREE = "r1", "r1-no-limit"


@pytest.fixture(scope="module")
def packages() -> Iterator[Mapping[str, Path]]:
    """Both, unpacked."""
    with unpacked(_DOCS / "dev/site") as found:
        yield found


def _study(packages: Mapping[str, Path], name: str) -> Result:
    result = read_result(packages[name])
    assert isinstance(result, Result)
    return result


def test_the_page_tells_every_check_as_the_package_does(packages: Mapping[str, Path]) -> None:
    """Five runs of each row; what failed is told as well."""
    result, page = _study(packages, _LIMITED), (_DOCS / "dev/site.md").read_text()
    assert {len(point.repeats) for point in result.points} == {5}
    assert streams_of(result) == INDEX_STREAMS
    for one in checks(result):
        assert f"| {one.what} | {one.r1} | {one.ours} | {one.tolerance} | {verdict(one, result)} |" in page


def test_the_page_tells_both_tables_with_and_without_the_limit(packages: Mapping[str, Path]) -> None:
    """What R1's makers could have gained stands beside what they had."""
    page = (_DOCS / "dev/site.md").read_text()
    for name in (_LIMITED, _FREE):
        for _, rows in r1_tables(_study(packages, name)):
            for row in rows:
                assert f"| {' | '.join(row[1:])} |" in page, name

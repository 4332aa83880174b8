"""A site of which nothing was measured has no interval; docs/dev/capacity-validation.md says how far off it is."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Mapping
from pathlib import Path

import pytest
from schema_check import refuse_unlike_schema

from benchmarks.results.record import unpacked
from cli.main import OK, main
from core.errors import UsageError
from experiments.capacity import forecast as module
from experiments.capacity.forecast import Wish, forecast
from experiments.filer_numbers import filer_of
from experiments.result.codec import read_result, write_result
from experiments.workloads.discovery.r1.parameters import INDEX_STREAMS
from experiments.workloads.discovery.result import Result, of_discovery

_DOCS = Path(__file__).parents[4] / "docs"
_AT = ((10, 1), (30, 1), (30, 2))


@pytest.fixture(scope="module")
def r1() -> Result:
    """The kept study."""
    with unpacked(_DOCS / "dev/site") as packages:
        return of_discovery(read_result(packages["r1"]))


@pytest.fixture
def figures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What limits and what helps is asked elsewhere, and takes most of the time."""
    monkeypatch.setattr(module, "_answers", lambda *_: [])


@pytest.fixture(scope="module")
def measured(r1: Result) -> Mapping[tuple[int, int], float]:
    """Seconds at time x 1, by workers and databases."""
    filer = filer_of(r1, "r1")
    assert filer is not None
    assert filer.site is not None
    return {
        (row.workers, row.databases): statistics.median(run.elapsed_s for run in row.repeats) / filer.site.time_scale
        for row in r1.points
    }


@pytest.mark.usefixtures("figures_alone")
def test_the_page_says_how_far_off_it_is(measured: Mapping[tuple[int, int], float]) -> None:
    """And the line that stands beside such figures says the worst of it."""
    page, worst = (_DOCS / "dev/capacity-validation.md").read_text(), 0.0
    for streams, named in ((None, "not given"), (INDEX_STREAMS, str(INDEX_STREAMS))):
        found = forecast(Wish(workers=(10, 30), databases=(1, 2), site="r1", index_streams=streams))
        at = {(point.question.workers, point.question.databases): point.elapsed_s.value for point in found.points}
        for workers, databases in _AT:
            seconds, was = at[workers, databases], measured[workers, databases]
            said = f"| {named} | {workers} | {databases} | {seconds:.0f} s | {was:.0f} s | {seconds / was:.1f} |"
            assert said in page, said
            worst = max(worst, seconds / was)
    assert any("no interval is known: the calibration was not made on a site" in line for line in found.assumptions)
    assert any(f"up to {worst:.1f} times what was measured" in line for line in found.assumptions)


def test_no_interval_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    assert (
        main(
            [
                "bench",
                "predict",
                "--site",
                "r1",
                "--workers",
                "10",
                "--databases",
                "1",
                "-o",
                "json",
                "--output-file",
                str(file),
            ],
            {},
        )
        == OK
    )
    shown = capsys.readouterr().out
    (row,) = (line for line in shown.splitlines() if line.split()[:2] == ["1", "10"])
    assert row.count("not known") == 2
    assert "assumed: no interval is known" in shown
    plain = json.loads(file.read_text())
    point = plain["points"][0]
    assert point["elapsed_s"] > 0
    assert [point[name] for name in ("elapsed_s_interval", "gb_per_hour_discovered_interval", "coverage")] == [None] * 3
    assert any("no interval is known" in line for line in plain["assumptions"])
    refuse_unlike_schema("prediction", plain)


@pytest.mark.usefixtures("figures_alone")
def test_a_result_of_a_site_has_intervals(r1: Result, tmp_path: Path) -> None:
    write_result(r1, tmp_path)
    found = forecast(Wish(workers=(10,), databases=(1,), result=tmp_path))
    point = found.document().to_json()["points"][0]
    assert point["coverage"] == 0.9
    assert point["elapsed_s_interval"][0] < point["elapsed_s"] < point["elapsed_s_interval"][1]
    assert not any("no interval" in line for line in found.assumptions)


@pytest.mark.usefixtures("figures_alone")
def test_a_limited_result_of_a_site_needs_no_filer(r1: Result, tmp_path: Path) -> None:
    """Its numbers are in it; --filer, which others are advised to give, is refused for it, as --one-host is."""
    points = tuple(dataclasses.replace(point, limited=True, limits=("said",)) for point in r1.points)
    write_result(dataclasses.replace(r1, points=points, labels=("GENERATOR-LIMITED at every point",)), tmp_path)
    wish = Wish(workers=(10,), databases=(1,), result=tmp_path)
    found = forecast(wish)
    assert found.points[0].elapsed_s.value > 0
    assert any("GENERATOR-LIMITED" in line for line in found.assumptions)
    with pytest.raises(UsageError, match="give --site"):
        forecast(dataclasses.replace(wish, filer="titan"))
    with pytest.raises(UsageError, match="defines the hosts"):
        forecast(dataclasses.replace(wish, one_host=True))

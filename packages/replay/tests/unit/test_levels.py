"""Offered against achieved load: which levels were reached, and the overall response time."""

import dataclasses
from pathlib import Path

import pytest
import replay_results as made

from core.errors import UsageError
from experiments.kinds import Kind, Plan, kind_of
from experiments.report.page import build_sections, write_report
from experiments.report.views import named
from experiments.result.codec import read_result, write_result
from experiments.result.compare import compare
from experiments.result.schema import At, Levels, Run
from experiments.result.verdict import levels_of, levels_text, missed, overall_response_us, points_of, sentence
from replay.about import ABOUT
from replay.runs import Load, ReplayPoint, ReplayResult

PEAK = 1000


def replayed(at: Load, repeat: int, *, factor: float = 1.0, capacity: float = 880.0) -> Run:
    """One that achieves what is offered up to its capacity; its response time is 1 ms at no load, 2 ms at the capacity."""
    offered = at.peak * at.percent / 100 if at.percent and at.peak else None
    rate = min(offered or PEAK, capacity if offered else PEAK)
    response = factor * (1000.0 + 1000.0 * rate / capacity) + repeat
    return made.run(rate, repeat=repeat, offered_per_second=offered, response_mean_us=response, service_mean_us=500.0)


def levels(number: int, *, repeats: int = 1, peak: int | None = None) -> Kind:
    """Of four clients."""
    at = Load(made.EMULATED, 4).values()
    plan = Plan(kind="load", axis="percent", points=(at,), repeats=repeats, seed=1, levels=number, peak=peak)
    return kind_of(plan, ABOUT)


def study(repeats: int = 1, peak: int | None = None, factor: float = 1.0) -> tuple[Kind, dict[At, list[Run]], int]:
    kind = levels(10, repeats=repeats, peak=peak)

    def measure(at: At, repeat: int) -> Run:
        assert isinstance(at, Load)
        return replayed(at, repeat, factor=factor)

    found = kind.run(measure)
    assert found.peak is not None
    return kind, found.runs, found.peak


def result(repeats: int = 1, factor: float = 1.0) -> ReplayResult:
    _, runs, peak = study(repeats, factor=factor)
    points = points_of(ABOUT, runs)
    levels = levels_of(ABOUT, points, peak, found=True)
    verdict = sentence(ABOUT, "load", "percent", points, where="here", pace="", found=levels)
    plain = made.result(*(point for point in points if isinstance(point, ReplayPoint)), verdict=verdict)
    return dataclasses.replace(plain, kind="load", axis="percent", levels=levels, fidelity=None)


def _levels(repeats: int = 1) -> Levels:
    found = result(repeats).levels
    assert found is not None
    return found


def test_the_overall_response_time_is_the_area_by_the_peak() -> None:
    assert overall_response_us([(10, 1), (20, 3), (40, 5)]) == (10 + 20 + 80) / 40
    assert overall_response_us([(10, 7), (100, 7)]) == 7
    with pytest.raises(ValueError, match="without load"):
        overall_response_us([])


def test_the_peak_is_found_and_parts_of_it_are_offered() -> None:
    kind, runs, peak = study(repeats=2)
    assert peak == PEAK
    assert [at.values()["percent"] for at in runs] == [0, *range(10, 101, 10)]
    assert {len(found) for found in runs.values()} == {2}
    assert [point.values()["peak"] for point in kind.points()] == [0]
    _, stated, _ = study(peak=500)
    assert [at.values()["percent"] for at in stated] == [*range(10, 101, 10)]


@pytest.mark.parametrize("change", [{"levels": None}, {"levels": 1}, {"seed": None}, {"peak": 0}])
def test_a_plan_that_no_command_makes_is_refused(change: dict[str, int | None]) -> None:
    kind, _, _ = study()
    with pytest.raises(UsageError):
        kind_of(dataclasses.replace(kind.plan, **change), ABOUT)  # type: ignore[arg-type]


def test_levels_that_were_not_reached_are_reported_and_end_the_curve() -> None:
    """880 of 900 is within 5 %; 880 of 1,000 is not: the figure is up to 90 % and says so."""
    found = _levels()
    assert [level.reached for level in found.levels] == [True] * 9 + [False]
    assert found.up_to == 90
    curve = [(min(100.0 * n, 880), 1000 + 1000 * min(100.0 * n, 880) / 880) for n in range(1, 10)]
    assert found.overall_us is not None
    assert found.overall_us.median == pytest.approx(overall_response_us(curve))
    assert "up to 90 % of a peak of 1,000 calls/s; 100 % not reached (880 of 1,000 calls/s)" in levels_text(found)
    assert [line.split(":")[0] for line in missed(found)] == ["100 % of the peak was not reached"]


def test_nothing_reached_gives_no_figure() -> None:
    runs = (
        levels(2, peak=10_000)
        .run(lambda at, repeat: replayed(at, repeat) if isinstance(at, Load) else made.run(1.0))
        .runs
    )
    found = levels_of(ABOUT, points_of(ABOUT, runs), 10_000, found=False)
    assert (found.up_to, found.overall_us) == (None, None)
    assert levels_text(found).startswith("no overall response time, a stated peak of 10,000 calls/s; 50 % not reached")


def test_the_report_has_levels_and_the_result_is_read_again(tmp_path: Path) -> None:
    whole = result()
    assert whole.verdict.startswith("replay on here: overall response time 1.5")
    assert "levels" in {section.anchor for section in build_sections(whole)}
    text = write_report(whole, tmp_path).read_text(encoding="utf-8")
    assert "not reached" in text
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"levels", "timeline"}
    assert named(whole.points[3], whole) == "30 % of the peak"
    assert "70 % of the peak" in (tmp_path / "series" / "latency.csv").read_text()
    write_result(whole, tmp_path)
    assert read_result(tmp_path) == whole


def test_overall_response_times_are_compared_like_every_figure() -> None:
    """Levels stand side by side by their part of each peak; under five repeats there is no statement, and none of curves
    that end elsewhere."""
    few = compare([result(), result(factor=2.0)], force=False).overall
    assert [one.against_first if one else None for one in few] == ["", "fewer than 5 repeats, or a zero: no statement"]
    found = compare([result(7), result(7, factor=2.0)], force=False)
    assert {"clients": 4, "percent": 10} in [row.at for row in found.rows]
    one, other = found.overall
    assert one is not None
    assert other is not None
    assert other.against_first != "no difference"
    shorter = result(6)
    assert shorter.levels is not None
    shorter = dataclasses.replace(shorter, levels=dataclasses.replace(shorter.levels, up_to=80))
    (_, ended) = compare([result(6), shorter], force=False).overall
    assert ended is not None
    assert ended.against_first.startswith("not compared")

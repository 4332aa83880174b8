"""What `edbench bench predict` says: points, intervals, the answer in words, and what it refuses."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import pytest
from schema_check import refuse_unlike_schema

from benchmarks.reference import write_reference
from core.errors import UsageError
from experiments.capacity.answers import answer, gains, is_filer, sentences, words_of
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import calibrate
from experiments.capacity.curve import curves
from experiments.capacity.forecast import Forecast, Wish, forecast
from experiments.capacity.network import SLOTS, TASKS
from experiments.capacity.predict import Predictor
from experiments.capacity.reference import read_reference
from experiments.report.parts import Plot, Tabled
from experiments.result.codec import FILE, from_json, read_result, write_result
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.sections.capacity import capacity

SMALL = {"raw_gb": 0.2}


@pytest.fixture(scope="module")
def found() -> Forecast:
    return forecast(Wish(workers=(2, 20), databases=(1, 2), filer="titan", raw_gb=0.25))


def test_every_point_has_what_was_promised(found: Forecast) -> None:
    """By databases, then workers: elapsed, GB/hour, both with an interval, and a named limit."""
    plain = json.loads(json.dumps(found.document().to_json()))
    assert [(p["databases"], p["workers"]) for p in plain["points"]] == [(1, 2), (1, 20), (2, 2), (2, 20)]
    for point in plain["points"]:
        for name in ("elapsed_s", "gb_per_hour_discovered"):
            low, high = point[f"{name}_interval"]
            assert low < point[name] < high
        assert point["coverage"] == 0.9
        assert point["limit"] in {SLOTS, TASKS, *point["utilisation"]}
    assert plain["filer"] == {"name": "titan", "scale": 1.0, "site": ""}
    refuse_unlike_schema("prediction", plain)


def test_gb_per_hour_is_of_all_jobs(found: Forecast) -> None:
    """Two simultaneous jobs discover twice the bytes."""
    calibration = found.calibration
    for point in found.points:
        nbytes = calibration.discovered_bytes * 0.25e9 / calibration.raw_bytes * point.question.databases
        expected = nbytes / 1e9 / point.elapsed_s.value * 3600
        assert point.gb_per_hour_discovered.value == pytest.approx(expected, rel=1e-6)


def test_the_answer_names_filer_workers_and_the_best_addition(found: Forecast) -> None:
    said = " ".join(found.answer)
    assert "With 1 database the filer titan is the limit from " in said
    assert "At 20 workers and 1 database " in said
    assert "helps most" in said


def test_the_best_addition_is_what_is_full() -> None:
    """Sixty workers on a filer whose link is full: a wider link helps, more workers do not."""
    calibration = calibrate(read_reference(), "r", filer_given=False)
    filer = calibration.filer
    assert filer is not None
    thin = dataclasses.replace(filer, link_bytes_per_s=filer.link_bytes_per_s / 8)
    predictor = Predictor(calibration, filer_changed=True)
    at = predictor(Question(workers=60, databases=1, slots=1, filer=thin, times=6.0), 1)
    one = answer(predictor, at, thin, additions=True)
    assert is_filer(at.limit)
    assert "link" in one.additions[0].what
    gains = {each.what: each.gain for each in one.additions}
    assert gains["half as many workers again"] < 1.1 < one.additions[0].gain
    assert sentences([one], "it")[-1].startswith("At 60 workers and 1 database a filer link half as fast again helps")


def test_an_addition_that_changes_nothing_gains_nothing() -> None:
    """Whatever seeds the point itself was simulated with: a base of nine against one was worth a tenth of GB/hour here."""
    calibration = calibrate(read_reference(), "r", filer_given=False)
    filer = calibration.filer
    assert filer is not None
    predictor = Predictor(calibration, filer_changed=False)
    question = Question(workers=8, databases=1, slots=1, times=2.0)
    assert [one.gain for one in gains(predictor, question, [("nothing", question)])] == [1.000]
    found = answer(predictor, predictor(question), filer, additions=True)
    idle = next(one for one in found.additions if "metadata" in one.what)
    assert idle.gain == pytest.approx(1.0, abs=0.01)


def test_what_it_is_at_is_said() -> None:
    said: list[str] = []
    forecast(Wish(workers=(1, 2), databases=(1,), **SMALL), said.append)
    assert said[0] == "calibrating on the reference calibration"
    assert "simulating 2 workers, 1 database: point 2 of 2" in said
    assert said[-1].startswith("looking for what limits")


def test_limits_are_words() -> None:
    assert words_of("database 2") == "database 2"
    assert words_of("filer link") == "the filer link"
    assert "slots" in words_of(SLOTS)
    assert "tasks" in words_of(TASKS)


def test_a_result_on_real_storage_has_no_ceiling(tmp_path: Path) -> None:
    """Its latency is known and what it can serve is not: that is said instead of an answer."""
    reference = read_reference()
    real = dataclasses.replace(reference, conditions=reference.conditions | {"emulated_filer": None})
    write_result(real, tmp_path)
    found = forecast(Wish(workers=(4,), databases=(1,), result=tmp_path, **SMALL))
    assert found.filer is None
    assert "not known" in found.answer[0]
    assert "real storage" in found.answer[0]
    assert any("no ceiling" in line for line in found.assumptions)


def test_a_host_with_its_storage_may_be_asked_about_where_the_host_was_the_limit(tmp_path: Path) -> None:
    """Which of the two it was does not matter to both together, and the label is said; of other hosts it says nothing."""
    reference = read_reference()
    points = tuple(dataclasses.replace(point, limited=True, limits=("said",)) for point in reference.points)
    real = dataclasses.replace(
        reference, points=points, labels=("GENERATOR-LIMITED at every point",),
        conditions=reference.conditions | {"emulated_filer": None},
    )  # fmt: skip
    write_result(real, tmp_path)
    wish = Wish(workers=(4,), databases=(1,), result=tmp_path, **SMALL)
    with pytest.raises(UsageError, match="--one-host"):
        forecast(wish)
    found = forecast(dataclasses.replace(wish, one_host=True))
    assert found.points[0].gb_per_hour_discovered.value > 0
    assert any("GENERATOR-LIMITED" in line for line in found.assumptions)


def test_databases_that_nobody_counted_are_said(tmp_path: Path) -> None:
    """Of a run in containers: then none is ever the limit, and the reader is told."""
    reference = read_reference()
    points = tuple(
        dataclasses.replace(
            point,
            repeats=tuple(
                dataclasses.replace(
                    run,
                    phases=tuple(
                        dataclasses.replace(use, cpu_s={"workers": use.cpu_s["workers"]}) for use in run.phases
                    ),
                )
                for run in point.repeats
            ),
        )
        for point in reference.points
    )
    write_result(dataclasses.replace(reference, points=points), tmp_path)
    found = forecast(Wish(workers=(2,), databases=(1,), filer="titan", result=tmp_path, raw_gb=0.05))
    assert any("no database is ever the limit" in line for line in found.assumptions)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (Wish(workers=(1,), databases=(1,), filer="none"), "not a filer to predict for"),
        (Wish(workers=(1,), databases=(1,), filer="no-such-filer"), "'no-such-filer' does not exist; give .*titan"),
        (Wish(workers=(999,), databases=(1,), slots=64), "at most 20,000 slots"),
        (Wish(workers=(1,), databases=(999,)), "999 databases: at most 64"),
        (Wish(workers=tuple(range(1, 52)), databases=(1, 2)), "102 points: at most 100"),
        (Wish(workers=(1,), databases=(1,), result=Path("/nowhere")), "/nowhere does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(wish: Wish, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        forecast(wish)


def test_a_filer_of_impossible_numbers_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "filer.toml"
    file.write_text('name = "odd"\n[metadata]\nservers = 0\n')
    with pytest.raises(UsageError, match="servers"):
        forecast(Wish(workers=(1,), databases=(1,), filer=str(file)))


def test_the_reference_is_written_without_its_place(tmp_path: Path) -> None:
    """What calibration reads comes back; paths and hosts do not."""
    file = tmp_path / "reference.json.gz"
    reference = read_reference()
    write_reference(reference, file)
    assert from_json(json.loads(gzip.decompress(file.read_bytes()))) == reference
    assert set(reference.conditions) == {"configuration", "corpus", "emulated_filer", "hosts"}
    assert all(set(host) == {"processors"} for host in reference.conditions["hosts"])
    told = reference.conditions | {"hosts": [{"processors": 2, "processor_speed": 0.5, "name": "here"}]}
    write_reference(dataclasses.replace(reference, conditions=told), file)
    again = json.loads(gzip.decompress(file.read_bytes()))
    assert again["conditions"]["hosts"] == [{"processors": 2, "processor_speed": 0.5}]
    assert all("source" not in run.result for point in reference.points for run in point.repeats)


def _one_and_two() -> Result:
    reference = read_reference()
    return dataclasses.replace(reference, points=reference.points[:2])


def test_curves_hold_the_measured_points() -> None:
    """A curve for each number of databases, as far as four times the workers; stretches cover it without a gap."""
    reference = _one_and_two()
    shown = curves(reference)
    assert [curve.databases for curve in shown.curves] == [1, 2]
    first = shown.curves[0]
    workers = [one.question.workers for one in first.predicted]
    assert [point.workers for point in first.measured] == [p.workers for p in reference.points if p.databases == 1]
    assert workers[0] == 1
    assert workers[-1] == 4 * max(point.workers for point in reference.points)
    spans = first.stretches()
    assert (spans[0][0], spans[-1][1]) == (workers[0], workers[-1])


def test_the_section_shows_prediction_and_measurement() -> None:
    section = capacity(_one_and_two())
    (plot,) = (part for part in section.parts if isinstance(part, Plot))
    (limits,) = (part for part in section.parts if isinstance(part, Tabled))
    measured = [row for row in plot.series.rows if row[6] is not None]
    assert [row[1] for row in measured] == [point.workers for point in _one_and_two().points]
    assert limits.series.rows


def test_the_section_says_why_there_is_nothing_to_show(tmp_path: Path) -> None:
    reference = read_reference()
    write_result(dataclasses.replace(reference, points=reference.points[:1]), tmp_path)
    section = capacity(read_result(tmp_path / FILE))
    assert "two numbers of workers" in str(section.parts[0])

"""What a job asks of a site beside its filer, read out of a run there or taken from one elsewhere."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest
from schema_check import refuse_unlike_schema

from core.errors import UsageError
from core.filer import FilerModel, load_filer
from experiments.capacity import forecast as capacity_forecast
from experiments.capacity.assemble import Question, assemble
from experiments.capacity.calibration import calibrate
from experiments.capacity.course import OWN
from experiments.capacity.forecast import Wish, forecast
from experiments.capacity.predict import network_of
from experiments.capacity.reference import read_reference
from experiments.capacity.site_load import ROWS_AN_ITEM, TRANSACTIONS_A_TASK, booked
from experiments.filer_numbers import numbers_of
from experiments.result.codec import write_result
from experiments.workloads.discovery.result import Result, Run

SMALL = {"raw_gb": 0.03, "workers": (2,)}


def _site(name: str) -> FilerModel:
    found = load_filer(f"site/{name}")
    assert found is not None
    return found


def _station(utilisation: float, calls: int) -> dict[str, float]:
    return {"utilisation": utilisation, "mean_wait_us": 0.0, "calls": calls, "filer_ops": 0.0}


def _on_laptop(run: Run) -> Run:
    """As if the site's stations had been busy so much; hosts twice as busy in the first phase as later, the database from the
    second on."""
    last = run.phases[-1]
    seconds, later = last.start_s + last.elapsed_s, run.phases[1].start_s
    times = [later * n / 20 for n in range(1, 21)] + [later + (seconds - later) * n / 200 for n in range(1, 201)]
    filer = tuple(
        (at, {"host 1": {"utilisation": 0.2 if at <= later else 0.1, "wait_us": 0.0},
              "database 1": {"utilisation": 0.0 if at <= later else 0.5, "wait_us": 0.0}}) for at in times
    )  # fmt: skip
    stations = {"host 1": _station(0.15, 9), "database 1": _station(0.25, 1_000)}
    return dataclasses.replace(
        run,
        series=dataclasses.replace(run.series, filer=filer),
        result=run.result | {"filer": {"seconds": seconds, "stations": stations}},
    )


@pytest.fixture
def lived() -> Result:
    """The reference calibration as if it had been made on the site laptop-nas."""
    reference, filer = read_reference(), _site("laptop-nas")
    said = {"name": filer.name, "scale": filer.scale, "digest": filer.digest, "numbers": numbers_of(filer)}
    points = tuple(
        dataclasses.replace(point, repeats=tuple(map(_on_laptop, point.repeats))) for point in reference.points
    )
    return dataclasses.replace(
        reference, points=points, conditions=reference.conditions | {"emulated_filer": json.loads(json.dumps(said))}
    )


def test_a_run_on_a_site_tells_processor_time_transactions_and_rows(lived: Result) -> None:
    """All that the stations were booked for, shared out among the phases by when they were busy."""
    run, site = lived.points[0].repeats[0], _site("laptop-nas").site
    assert site is not None
    seconds, uses = run.result["filer"]["seconds"], booked(run, site)
    assert sum(use.slot_s for use in uses) == pytest.approx(0.15 * seconds * 8)
    first, rest = uses[0].slot_s / run.phases[1].start_s, sum(use.slot_s for use in uses[1:])
    assert first == pytest.approx(2 * rest / (seconds - run.phases[1].start_s), rel=0.05)
    assert sum(use.transactions for use in uses) == pytest.approx(1_000)
    database_us = sum(use.transactions * 500.0 + use.rows * 20.0 for use in uses[1:])
    assert uses[0].rows == 0.0
    assert database_us == pytest.approx(0.25 * seconds * 8 * 1e6, rel=0.01)


def test_a_run_elsewhere_has_what_its_tasks_and_items_ask_for() -> None:
    reference = read_reference()
    found = calibrate(reference, "r", filer_given=False)
    for load, use in zip(found.phases, reference.points[0].repeats[0].phases, strict=True):
        assert load.site.transactions == TRANSACTIONS_A_TASK * use.tasks
        assert load.site.rows == ROWS_AN_ITEM.get(load.name, 0.0) * found.items
        assert load.site.slot_s <= use.cpu_s["workers"]


def test_processor_time_of_a_run_elsewhere_is_told_at_the_speed_of_its_machine(tmp_path: Path) -> None:
    """As the arbiter books it: on a processor of half the speed a second is worth half as much, and the output says which it was."""
    reference = read_reference()
    slow = dataclasses.replace(
        reference, conditions=reference.conditions | {"hosts": [{"processors": 2, "processor_speed": 0.5}]}
    )
    plain, halved = (calibrate(result, "r", filer_given=False) for result in (reference, slow))
    assert (plain.speed, halved.speed) == (None, 0.5)
    for before, after in zip(plain.phases, halved.phases, strict=True):
        assert after.site.slot_s == pytest.approx(before.site.slot_s / 2)
        assert (after.local_s, after.site.rows) == (before.local_s, before.site.rows)
    write_result(slow, tmp_path)
    said = " ".join(forecast(Wish(databases=(1,), site="laptop-nas", result=tmp_path, **SMALL)).assumptions)  # type: ignore[arg-type]
    assert "cores of speed 0.50" in said


def test_the_same_processor_time_and_rows_are_asked_for_however_they_are_dealt_out(lived: Result) -> None:
    calibration = calibrate(lived, "r", filer_given=False)
    asked = [
        sum(
            phase.demands[OWN] * sum(phase.weights)
            for job in network_of(calibration, question, 1).jobs
            for phase in job.phases
        )
        for question in (
            Question(workers=1, databases=1, slots=1),
            Question(workers=5, databases=1, slots=4),
            Question(workers=5, databases=2, slots=4, shard=True),
        )
    ]
    assert asked == pytest.approx([asked[0]] * 3)
    assert asked[0] == pytest.approx(sum(load.site.slot_s for load in calibration.phases))


def test_the_network_of_a_site_is_what_its_file_says() -> None:
    """r1: five hosts of 44 cores, workers of two, databases of 8 and 2 servers, the second slower; jobs in turn."""
    calibration = calibrate(read_reference(), "r", filer_given=False)
    network = assemble(
        calibration, Question(workers=30, databases=3, slots=4, filer=_site("r1")), random.Random(1)
    )  # fmt: skip
    assert [host.servers for host in network.hosts] == [9, 9, 9, 9, 8]
    assert network.own_processors is not None
    assert network.own_processors.servers == 2
    assert [(one.servers, one.speed) for one in network.databases] == [(8, 1.0), (2, 0.63)]
    assert [job.database for job in network.jobs] == [0, 1, 0]


def test_a_forecast_for_a_site_says_what_it_stands_on() -> None:
    """Also that it was calibrated on none; four slots a worker."""
    found = forecast(Wish(databases=(1,), site="laptop-nas", **SMALL))  # type: ignore[arg-type]
    said = " ".join(found.assumptions)
    assert "EMULATED SITE laptop-nas, data 1/1, time x 1: 1 host of 8 cores in all, workers of 8" in said
    assert "the calibration was made on none" in said
    assert "assumed to be that of cores of speed 1" in said
    assert "bench r1" not in said
    assert "tasks of phase index at a time, of each job: no limit" in said
    assert {point.question.slots for point in found.points} == {4}
    plain = json.loads(json.dumps(found.document().to_json()))
    assert plain["filer"] == {"name": "laptop-nas", "scale": 1.0, "site": "data 1/1, time x 1"}
    assert set(plain["points"][0]["limit_by_phase"]) == {load.name for load in found.calibration.phases}
    refuse_unlike_schema("prediction", plain)


def test_a_site_of_a_part_of_the_data_is_asked_about_that_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """r1 is of one in 500, and R1 had 45 GB."""
    monkeypatch.setattr(capacity_forecast, "_answers", lambda *_: [])  # long, and not what is tested
    found = forecast(Wish(workers=(1,), databases=(1,), site="r1"))
    (line,) = (line for line in found.assumptions if "GB raw" in line)
    assert "0.09 GB raw" in line
    assert any("this is not what `edbench bench r1` runs" in line for line in found.assumptions)


def test_a_result_of_a_site_is_about_sites(lived: Result, tmp_path: Path) -> None:
    """Its hosts and databases are in every time; without --site it is its own, and another filer alone is refused."""
    write_result(lived, tmp_path)
    found = forecast(Wish(databases=(1,), result=tmp_path, **SMALL))  # type: ignore[arg-type]
    assert any("EMULATED SITE laptop-nas" in line for line in found.assumptions)
    assert not any("made on none" in line for line in found.assumptions)
    with pytest.raises(UsageError, match="predicts sites only; give --site"):
        forecast(Wish(databases=(1,), filer="titan", result=tmp_path, **SMALL))  # type: ignore[arg-type]

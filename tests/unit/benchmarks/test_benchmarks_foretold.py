"""What `make bench-model-site` and `make bench-model-storage` conclude from predictions and runs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from report_results import run

from benchmarks import model_site, model_storage
from benchmarks.foretold import Row, judge, write_down
from experiments.capacity.assemble import Question
from experiments.capacity.predict import Prediction, Span


def _predicted(seconds: float) -> Prediction:
    return Prediction(
        question=Question(workers=4, databases=1, slots=4),
        elapsed_s=Span(value=seconds, interval=(seconds * 0.9, seconds * 1.1)),
        gb_per_hour_discovered=Span(value=1.0, interval=(0.9, 1.1)),
        limit="slots",
        utilisation={"host 1": 0.5},
        by_phase={"walk": "slots"},
    )


def _row(predicted: float, measured: float, busy: float = 0.2) -> Row:
    lived = dataclasses.replace(run(4), elapsed_s=measured, host_cpu=busy, call_time=None)
    return Row(target="it", predicted=_predicted(predicted), runs=(lived,))


def test_predictions_are_written_with_their_hash(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    digest = write_down(file, {"it": _predicted(20.0)})
    assert digest == hashlib.sha256(file.read_bytes()).hexdigest()
    (plain,) = json.loads(file.read_text())
    assert (plain["target"], plain["elapsed_s"]) == ("it", 20.0)


def test_the_worst_error_decides(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    judge(file, "site", [_row(21.0, 20.0), _row(23.0, 20.0)])
    figures = json.loads(file.read_text())
    assert figures["site_worst_error"]["value"] == pytest.approx(15.0)
    assert figures["site_intervals"]["value"] == 1
    assert len(figures["rows"]) == 2


def test_a_run_that_the_machine_did_not_keep_up_with_is_not_judged(tmp_path: Path) -> None:
    """It is there with its figures, and says so; where all are such there is no verdict at all."""
    file = tmp_path / "f.json"
    judge(file, "site", [_row(20.0, 20.0), _row(20.0, 90.0, busy=0.9)])
    figures = json.loads(file.read_text())
    assert figures["site_worst_error"]["value"] == pytest.approx(0.0)
    assert [row["overrun"] for row in figures["rows"]] == [False, True]
    judge(file, "site", [_row(20.0, 90.0, busy=0.9)])
    assert set(json.loads(file.read_text())) == {"rows"}


def test_what_is_predicted_is_what_was_promised() -> None:
    """Six runs or more of each, none of them the calibration's, with other numbers of a site than it was calibrated on."""
    assert len(model_site.TARGETS) >= 6
    assert len({target.site for target in model_site.TARGETS}) >= 4
    assert 2 in {target.databases for target in model_site.TARGETS}
    assert len(model_storage.TARGETS) >= 6
    assert not {(t.databases, t.workers) for t in model_storage.TARGETS} & {(1, 1), (1, 2)}

"""What `make bench-model` concludes from predictions and runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.figures import Figures
from benchmarks.model import TARGETS, Row, Target, judge, write_down
from experiments.capacity.assemble import Question
from experiments.capacity.predict import Prediction, Span


def _predicted(seconds: float) -> Prediction:
    return Prediction(
        question=Question(workers=4, databases=1, slots=1),
        elapsed_s=Span(value=seconds, interval=(seconds * 0.9, seconds * 1.1)),
        gb_per_hour_discovered=Span(value=1.0, interval=(0.9, 1.1)),
        limit="slots",
        utilisation={"filer link": 0.5},
        by_phase={"walk": "slots"},
    )


def _row(predicted: float, measured: float, amdahl: float, line: float) -> Row:
    return Row(
        target=Target("base", 1, 4),
        predicted=_predicted(predicted),
        measured_s=measured,
        amdahl_s=amdahl,
        line_s=line,
    )


def test_predictions_are_written_with_their_hash(tmp_path: Path) -> None:
    """Whoever has the hash can see that the file is the one from before the runs."""
    file = tmp_path / "p.json"
    digest = write_down(file, {Target("base", 1, 4): _predicted(20.0)})
    assert digest == hashlib.sha256(file.read_bytes()).hexdigest()
    (plain,) = json.loads(file.read_text())
    assert (plain["filer"], plain["workers"], plain["elapsed_s"]) == ("base", 4, 20.0)


def test_errors_are_of_what_was_measured() -> None:
    row = _row(22.0, 20.0, 25.0, 15.0)
    assert row.error(22.0) == pytest.approx(10.0)
    assert row.error(row.line_s) == pytest.approx(-25.0)
    assert row.held
    assert not _row(30.0, 20.0, 25.0, 15.0).held


def test_a_broken_promise_is_said(tmp_path: Path) -> None:
    """One error over 10 %, an interval too few, or a simpler law that does better."""
    figures = Figures(tmp_path / "f.json", console=Console(quiet=True))
    judge(figures, [_row(20.0, 20.0, 25.0, 15.0), *[_row(26.0, 20.0, 21.0, 15.0)] * 3])
    met = {name: figure.met for name, figure in figures.by_name.items()}
    assert met == {
        "model_worst_error": False,
        "model_intervals": False,
        "model_against_amdahl": False,
        "model_against_line": True,
    }


def test_what_is_predicted_is_what_was_promised() -> None:
    """Eight configurations or more: 4 and 8 workers, 2 databases, and ceilings that the calibration never saw."""
    assert len(TARGETS) >= 8
    assert {4, 8} <= {target.workers for target in TARGETS}
    assert 2 in {target.databases for target in TARGETS}
    assert len({target.filer for target in TARGETS}) >= 2
    assert not {target for target in TARGETS if target.filer == "base" and target.workers < 3}

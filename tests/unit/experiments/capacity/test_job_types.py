"""Jobs of other types in the capacity model, out of a real study of 40 texts, with 1 and 2 workers of 2 slots (`kept`). It was made
beside other work; what of the host's processors that took is left out of it, as where the host tells nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from core.errors import UsageError
from core.options.production import JobType
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import Calibration, calibrate
from experiments.capacity.job_types import study_of
from experiments.capacity.predict import Predictor
from experiments.capacity.reference import read_reference
from experiments.result.codec import from_json
from experiments.workloads.discovery.result import Result
from experiments.workloads.job_types.result import TypeResult

KEPT = Path(__file__).parent / "samples" / "job-types.json.gz"
PHASES = {
    JobType.DISCOVERY: ["walk", "expand", "index", "finalise"],
    JobType.EXTRACTION: ["extract", "finalise"],
    JobType.PROCESSING: ["render", "stamp", "finalise"],
    JobType.EXPORT: ["extract", "export", "finalise"],
}
types = pytest.mark.parametrize("kind", PHASES)


@pytest.fixture(scope="module")
def kept() -> TypeResult:
    result = from_json(json.loads(gzip.decompress(KEPT.read_bytes())))
    assert isinstance(result, TypeResult)
    return result


def _calibrated(kept: TypeResult, kind: JobType) -> tuple[Calibration, Result]:
    study = study_of(kept, kind, "kept")
    return calibrate(study, "kept", filer_given=True), study


@types
def test_what_a_type_asks_for_is_what_was_measured(kept: TypeResult, kind: JobType) -> None:
    """Calls and bytes come with items or with tasks, seconds on the path are those of its tasks, and none is lost."""
    calibration, study = _calibrated(kept, kind)
    assert [load.name for load in calibration.phases] == PHASES[kind]
    run, more = (point.repeats[0] for point in study.points)
    assert calibration.items == run.result["items"] > 0
    for load, use, again in zip(calibration.phases, run.phases, more.phases, strict=True):
        calls = sum(c.calls for c in load.calls.values()) + again.tasks * sum(
            c.calls for c in load.calls_a_task.values()
        )
        assert calls == pytest.approx(sum(c.calls for c in again.calls.values()))
        assert sum(c.bytes for c in load.calls.values()) == sum(c.bytes for c in again.calls.values())
        assert load.call_s + load.local_s + load.database_s == pytest.approx(use.busy_s, abs=0.01)
        assert (load.site.transactions, load.site.rows) == (use.transactions, use.rows)
    assert calibration.ledger_counted


@types
def test_one_worker_is_predicted_of_one_worker_as_it_was(kept: TypeResult, kind: JobType) -> None:
    """Nothing is asked for twice or forgotten; GB/hour is of the data set."""
    calibration, study = _calibrated(kept, kind)
    point = study.points[0]
    found = Predictor(calibration, filer_changed=False)(
        Question(workers=1, databases=1, slots=point.slots, one_host=True)
    )
    assert point.workers == 1
    assert found.elapsed_s.value == pytest.approx(point.repeats[0].elapsed_s, rel=0.1)
    expected = calibration.discovered_bytes / 1e9 / found.elapsed_s.value * 3600
    assert found.gb_per_hour_discovered.value == pytest.approx(expected, rel=1e-6)
    assert list(found.by_phase) == PHASES[kind]


def test_a_larger_data_set_takes_longer_in_proportion(kept: TypeResult) -> None:
    calibration, _ = _calibrated(kept, JobType.EXPORT)
    predictor = Predictor(calibration, filer_changed=False)
    once, ten = (
        predictor(Question(workers=1, databases=1, slots=2, one_host=True, times=times), 3).elapsed_s.value
        for times in (1.0, 10.0)
    )
    assert 6 * once < ten < 11 * once


def test_a_type_that_was_not_measured_is_refused_with_what_to_do(kept: TypeResult) -> None:
    with pytest.raises(UsageError, match=r"no job of type export; .* `edbench bench job-types .*--workers 1,2`"):
        study_of(read_reference(), JobType.EXPORT, "the reference calibration")
    with pytest.raises(UsageError, match="a replay is not predicted"):
        study_of(kept, JobType.REPLAY, "kept")

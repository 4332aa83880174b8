"""From which number of paths on more do not help, and what could not be set is said."""

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("storage_tests")


from core.errors import UsageError
from experiments.result.schema import Estimate
from replay.analysis import (
    AS_IT_IS,
    RATE,
    AnalysisLoad,
    AnalysisPoint,
    AnalysisReplay,
    AnalysisRun,
    AnalysisWording,
    answer,
    enough,
    lines,
)
from storage_tests.devices import Tuned
from storage_tests.profile import Targets, made


def _point(paths: int, rate: float, scheduler: str = AS_IT_IS, refused: tuple[str, ...] = ()) -> AnalysisPoint:
    tuned = tuple(
        Tuned(path=n + 1, device="vda", scheduler="none", read_ahead_kb=128, refused=refused) for n in range(paths)
    )
    run = AnalysisRun(
        repeat=0, order=0, started_at=0.0, elapsed_s=1.0, worker_cpu=0.1, run_queue_share=None, null_elapsed_s=None, latency={},
        paths=paths, calls=round(rate), bytes=0, errors=0, differences=0, data_sets=1, adapted=0, tuned=tuned, trace_sha256="",
    )  # fmt: skip
    figures = {RATE: Estimate(median=rate, low=None, high=None, coverage=None, n=1)}
    return AnalysisReplay.ABOUT.point(  # type: ignore[return-value]
        at=AnalysisLoad(paths, 64, scheduler, AS_IT_IS), figures=figures, limited=False, limits=(), repeats=(run,)
    )


@pytest.mark.parametrize(
    ("rates", "paths"),
    [
        ([100, 200, 390, 400, 405], 3),
        ([100, 200, 300], 3),
        ([100, 104, 300], 3),  # the second does not help, the third does
        ([100, 90, 80], 1),
        ([100], None),
    ],
)
def test_enough_is_where_no_larger_number_brings_five_percent(rates: Sequence[float], paths: int | None) -> None:
    line = [_point(number, rate) for number, rate in enumerate(rates, 1)]
    assert enough(line) == paths


def test_the_first_line_answers_for_each_scheduler() -> None:
    points = [_point(2, 150, "none"), _point(1, 100, "none"), _point(1, 100, "bfq"), _point(2, 101, "bfq")]
    assert {key[1]: answer(line) for key, line in lines(points).items()} == {
        "bfq": "64 clients, scheduler bfq: 1 path is enough, more do not help (100 calls/s; 101 calls/s on 2 paths, no 5.0 % more)",
        "none": "64 clients, scheduler none: more paths help up to 2, all that were given (150 calls/s on 2 paths)",
    }


def test_what_was_not_set_and_paths_on_one_device_are_warned_of() -> None:
    shown = AnalysisWording({"sessions": [], "targets": []}).warnings(
        [_point(2, 100, "bfq", ("vda: scheduler bfq is not set: Permission denied",))]
    )
    assert any("Permission denied" in one for one in shown)
    assert any("2 paths are on 1 device (vda)" in one for one in shown)


def test_without_a_trace_it_states_how_to_record_one(tmp_path: Path) -> None:
    """`describe` works without one."""
    profile = made("analysis-replay", Targets(paths=(tmp_path,)), [], small=True)
    assert profile.room().bytes == 0
    with pytest.raises(UsageError, match="discover DIR --workers 1 --slots 1 --trace"):
        profile.check()

"""How long a run has to be and how evenly it has to go before it is called a result."""

import dataclasses
import math
from collections.abc import Callable

import pytest
from experiment_runs import a_run

from controller.labels.rules import SHORT, UNSTEADY, advice_on
from experiments.result.schema import Run, Steady
from experiments.result.steady import judged, unsteady
from experiments.result.verdict import labels_of, points_of, warnings_of
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.result import Point, PointSpec


def series(rate: Callable[[int], float], seconds: int = 1000) -> list[tuple[float, float]]:
    return [(float(second), rate(second)) for second in range(seconds)]


def of(rate: Callable[[int], float], **more: Callable[[int], float]) -> Steady:
    found = judged("calls", series(rate), 0.0, 1000.0, **{name: series(one) for name, one in more.items()})
    assert found is not None
    return found


def test_what_goes_evenly_is_steady() -> None:
    """Noise by the second is none by the round; its rate is that of the middle four fifths."""
    found = of(lambda s: 100 + 30 * math.sin(s * 2.4))
    assert found.steady
    assert (found.start_s, found.seconds) == (100.0, 800.0)
    assert found.rate == pytest.approx(100, rel=0.01)


def test_ramp_up_and_tail_are_not_judged() -> None:
    assert of(lambda s: 0 if s < 100 or s >= 900 else 100).steady


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_drift_of_more_than_a_tenth_is_not_steady(sign: int) -> None:
    just, over = (of(lambda s, d=d: 100 * (1 + sign * d * (s - 499.5) / 640)) for d in (0.095, 0.105))
    assert just.steady
    assert not over.steady
    assert over.drift == pytest.approx(sign * 0.105)
    assert over.drift_low == pytest.approx(over.drift_high)


def test_one_slow_round_is_not_steady() -> None:
    """It moves the line little, and is further from the others than a fifth."""
    found = of(lambda s: 75 if 420 <= s < 580 else 100)
    assert abs(found.drift) < 0.01
    assert found.drift_low < -0.1 < 0.1 < found.drift_high
    assert not found.steady


def test_a_load_that_was_to_change_is_steady_when_it_is_followed() -> None:
    phases: Callable[[int], float] = lambda s: 300 if s < 500 else 100  # noqa: E731
    assert not of(phases).steady
    assert of(phases, due=phases).steady
    assert not of(lambda s: 200, due=phases).steady
    assert not of(lambda s: 100, due=lambda s: 0 if s > 600 else 100).steady


def test_what_is_too_short_is_not_judged() -> None:
    """Rounds under two seconds are samples; and nothing that was done has no rate."""
    assert judged("calls", series(lambda _: 1.0), 0.0, 12.0) is None
    assert judged("calls", series(lambda _: 1.0), 0.0, 13.0) is not None
    assert judged("calls", [], 0.0, 100.0) is None


STEADY = judged("index", series(lambda _: 10.0), 0.0, 1000.0)
DRIFTS = judged("index", series(lambda s: 10.0 + s / 100), 0.0, 1000.0)


def _run(repeat: int, elapsed: float, *found: Steady | None) -> Run:
    return dataclasses.replace(a_run(elapsed, repeat=repeat), steady=tuple(one for one in found if one))


def _points(*runs: Run, least: float = 600.0) -> tuple[Point, ...]:
    return points_of(ABOUT, {PointSpec(1, 1, 4): list(runs)}, least)


def test_a_short_run_makes_no_result() -> None:
    (point,) = _points(_run(0, 700.0, STEADY), _run(1, 599.0, DRIFTS))
    assert point.marks == ("SHORT",)
    assert point.unsteady == ()
    assert labels_of([point], [None], cached=False) == (SHORT,)
    assert any(
        "SHORT: the shortest run took 9 min 59 s, at least 10 min 00 s are required" in w
        for w in warnings_of([point], no_baseline=None)
    )


def test_a_drifting_point_makes_no_result() -> None:
    (point,) = _points(_run(0, 700.0, STEADY, DRIFTS), _run(1, 700.0, STEADY))
    assert labels_of([point], [None], cached=False) == (UNSTEADY,)
    (line,) = [w for w in warnings_of([point], no_baseline=None) if w.startswith("NOT STEADY")]
    assert line.startswith("NOT STEADY at 1 worker x 4 slots: repeat 1, index: spread")
    assert unsteady([_run(0, 700.0, DRIFTS), _run(1, 700.0, STEADY), _run(2, 700.0, STEADY)]) == ()


def test_no_evidence_is_not_steady() -> None:
    (point,) = _points(_run(0, 700.0))
    assert "no part of it is long enough" in point.unsteady[0]


def test_a_lowered_rule_is_reported() -> None:
    points = _points(_run(0, 60.0, STEADY), least=30.0)
    labels = labels_of(points, [None], cached=False, least_s=30.0)
    assert labels == ("LEAST LENGTH LOWERED to 30 s",)
    assert labels_of(points, [None], cached=False, least_s=900.0) == ()
    assert len(advice_on([*labels, SHORT, UNSTEADY])) == 3

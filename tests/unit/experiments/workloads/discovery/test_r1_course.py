"""Means over a part of a run, the highest of them, and how long one was held."""

from __future__ import annotations

import pytest

from experiments.workloads.discovery.r1.course import Course, course


def _of(*rates: float) -> Course:
    """A rate a second, from 0 on."""
    return course(enumerate((0.0, *rates)))


def test_rates_are_by_the_time_between_looks() -> None:
    """Looks a second and a half apart count for a second and a half, and what the first one tells for nothing."""
    seen = course([(1.0, 500.0), (2.5, 3000.0), (3.0, 500.0)])
    assert seen.line() == [(2.5, 2000.0), (3.0, 1000.0)]
    assert seen.mean(0.0, 99.0) == 1750.0
    assert seen.mean(2.0, 3.0) == 1500.0
    assert not course([(1.0, 500.0)])
    assert course([]).highest(2.0) == (0.0, 0.0)


def test_a_peak_is_what_was_held() -> None:
    """One second of many in which calls were booked ahead is no peak; it is found where it was, looks or not."""
    assert _of(*[10.0] * 40).highest(2.0) == (10.0, 0.0)
    assert _of(*[10.0] * 20, 30.0, *[10.0] * 19).highest(2.0)[0] == 20.0
    assert _of(10.0, 20.0, 30.0, 10.0).highest(1.5) == ((30.0 + 0.5 * 20.0) / 1.5, 1.5)


def test_all_of_a_short_course_is_its_window() -> None:
    assert _of(10.0, 20.0).highest(60.0) == (15.0, 0.0)


@pytest.mark.parametrize(
    ("rates", "seconds"),
    [
        ([10] * 6 + [0] * 14, 6.0),
        ([10] * 12 + [0] * 8, 12.0),
        ([10] * 6 + [0] * 4 + [10] * 10, 6.0),  # comes back, and is broken all the same
        ([0] * 1 + [10] * 6 + [0] * 13, 6.0),  # a ramp within the window
        ([0] * 6 + [10] * 6 + [0] * 8, 0.0),  # not from the start
        ([8] * 20, 0.0),  # never
        ([10] * 20, 20.0),  # always
        ([10, 12, 8] * 4 + [0] * 8, 12.0),  # dips within the window are none
        ([10] * 1 + [0] * 19, 0.0),  # shorter than the window
    ],
)
def test_what_is_held_is_held_from_the_start_without_a_break(rates: list[float], seconds: float) -> None:
    """To within what a window hides: a tenth of it at each end."""
    assert _of(*rates).held(9.0, 2.0) == pytest.approx(seconds, abs=0.41)

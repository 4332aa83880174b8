"""controller.timeline.counters and axis: downsampling loses nothing and makes nothing up."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.timeline.axis import Axis, axis_of
from controller.timeline.counters import Counter, added, ratio
from monitoring.aggregate import STEPS

START = 1_000_003.4

gaps = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 1_000)), min_size=2, max_size=60)
steps = st.sampled_from(STEPS[:4])


def readings(parts: list[tuple[int, int]]) -> list[tuple[int, float]]:
    """A counter that never falls, read at irregular seconds from the start's on."""
    seconds = itertools.accumulate((gap for gap, _ in parts), initial=math.floor(START) - 1)
    values = itertools.accumulate((growth for _, growth in parts), initial=0)
    return [(second, float(value)) for second, value in zip(seconds, values, strict=True)]


def axis_over(found: list[tuple[int, float]], step: int) -> Axis:
    return Axis(START, found[-1][0] + 1, step)


@given(gaps, steps)
def test_growth_over_all_buckets_is_the_growth_of_the_counter(parts: list[tuple[int, int]], step: int) -> None:
    found = readings(parts)
    axis = axis_over(found, step)
    rates = Counter(found).rates(axis.edges)
    widths = [high - low for low, high in itertools.pairwise(axis.edges)]
    assert sum((rate or 0.0) * width for rate, width in zip(rates, widths, strict=True)) == pytest.approx(
        found[-1][1] - found[0][1], rel=1e-9, abs=1e-6
    )


@given(gaps, steps)
def test_no_rate_is_beyond_what_was_read(parts: list[tuple[int, int]], step: int) -> None:
    found = readings(parts)
    read = [(b - a) / (late - early) for (early, a), (late, b) in itertools.pairwise(found)]
    for rate in Counter(found).rates(axis_over(found, step).edges):
        if rate is not None:
            assert min(read) - 1e-6 <= rate <= max(read) + 1e-6


@given(gaps, steps, st.integers(0, 600))
def test_time_only_goes_forward_and_an_increment_is_the_end_of_the_whole(
    parts: list[tuple[int, int]], step: int, since: int
) -> None:
    found = readings(parts)
    whole = axis_over(found, step)
    assert whole.t[0] == 0.0
    assert all(early < late for early, late in itertools.pairwise(whole.t))
    skipped = Axis(START, whole.end, step, min(since // step, len(whole.t)))
    assert skipped.t == whole.t[skipped.skipped :]
    rates = Counter(found).rates
    assert rates(skipped.edges) == rates(whole.edges)[skipped.skipped :]


@given(st.integers(0, 500_000), st.integers(10, 2_000), st.none() | st.floats(0, 500_000))
def test_an_axis_has_at_most_the_points_asked_for(seconds: int, points: int, since: float | None) -> None:
    """Short runs are drawn second by second, long ones in steps that call records are stored in."""
    axis = axis_of(START, START + seconds, None, points, since)
    assert len(axis.t) <= points or axis.step == STEPS[-1]
    assert axis.step in STEPS
    if since is not None:
        assert len(axis.edges) == 1 or axis.edges[1] - START > since


def test_nothing_is_said_of_time_without_readings() -> None:
    rates = Counter([(12, 5.0), (14, 9.0)]).rates([10, 12, 13, 14, 15, 20, 25])
    assert rates == [None, None, 2.0, 2.0, None, None]


def test_a_counter_that_begins_anew_does_not_count_backwards() -> None:
    rates = Counter([(0, 100.0), (1, 110.0), (2, 3.0), (3, 5.0)]).rates([1, 2, 3, 4])
    assert rates == [10.0, None, 2.0]


def test_late_calls_belong_to_the_nearest_bucket() -> None:
    """Frames of a job's last second may carry a later second; their calls are not lost."""
    axis = Axis(START, math.floor(START) + 10, 3)
    assert axis.bucket(math.floor(START) - 5) == 0
    assert axis.bucket(math.floor(START) + 50) == len(axis.t) - 1


def test_series_are_added_and_divided_where_they_are_known() -> None:
    assert added([[1.0, None, None], [2.0, 3.0, None]]) == [3.0, 3.0, None]
    assert ratio([1.0, None, 1.0, 0.0], [2.0, 1.0, 0.0, None]) == [0.5, None, None, None]


def test_growth_between_any_two_moments() -> None:
    """Evenly between readings, which may count as taken in the middle of their second; nothing outside them, and
    nothing across a counter that began anew."""
    seen = Counter([(10, 100), (20, 200), (21, 260)], taken=0.5)
    assert seen.grown(15.5, 16.5) == pytest.approx((10, 1))
    assert seen.grown(20.5, 21.0) == pytest.approx((30, 0.5))
    assert seen.grown(0, 100) == pytest.approx((160, 11))
    assert seen.grown(50, 60) == seen.grown(0, 5) == Counter([]).grown(0, 10) == (0.0, 0.0)
    assert Counter([(1, 500), (2, 600), (3, 40), (4, 50)]).grown(0, 10) == pytest.approx((110, 2))

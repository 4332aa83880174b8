"""The arithmetic of progress."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.jobs.rates import (
    GB,
    Window,
    duration,
    gb_per_hour,
    per_second,
    percent,
    seconds_left,
    share_done,
)

amounts = st.integers(min_value=0, max_value=10**15)
times = st.floats(min_value=0.001, max_value=1e7)


def test_gb_per_hour_uses_decimal_gigabytes() -> None:
    """A GB is 10⁹ bytes: 45 GB in two hours is 22.5 GB/hour, and no time is no rate."""
    assert gb_per_hour(45 * GB, 7200) == pytest.approx(22.5)
    assert gb_per_hour(5, 0) == 0.0
    assert per_second(10, 0) == 0.0


@given(amounts, times)
def test_gb_per_hour_gives_the_bytes_back(nbytes: int, seconds: float) -> None:
    assert gb_per_hour(nbytes, seconds) * seconds / 3600 * GB == pytest.approx(nbytes)


@given(amounts, amounts)
def test_it_never_stands_at_100_percent_while_work_is_left(done: int, left: int) -> None:
    """100 % is said of what is over and of nothing else, and the share never leaves 0…1."""
    share = share_done(done, left, over=False)
    assert 0.0 <= share < 1.0
    assert percent(share) != "100 %"
    assert percent(share_done(done, left, over=True)) == "100 %"


@given(amounts, amounts, st.floats(min_value=0, max_value=1e7))
def test_the_end_is_foretold_only_with_evidence(done: int, left: int, seconds: float) -> None:
    """No estimate before three seconds or two per cent; otherwise the pace so far goes on."""
    estimate = seconds_left(done, left, seconds)
    if done == 0 or seconds < 3 or done < 0.02 * (done + left):
        assert estimate is None
    else:
        assert estimate == pytest.approx(left * seconds / done)


@given(st.lists(st.tuples(st.floats(0.1, 5), st.integers(0, 10**9)), min_size=1, max_size=60))
def test_the_window_covers_the_last_seconds_only(steps: list[tuple[float, int]]) -> None:
    """The rate of now is growth over about the window: neither more than was added in it, nor of longer ago."""
    window = Window(10.0)
    at, value = 0.0, 0
    for step, growth in steps:
        at += step
        value += growth
        window.add(at, value)
    grown, seconds = window.growth()
    assert 0 <= grown <= sum(growth for _, growth in steps[1:])
    assert seconds <= 10.0 + 5.0 + 1e-6
    assert seconds == 0.0 or grown / seconds <= max(growth / step for step, growth in steps) * 1.0001


def test_the_window_begins_anew_when_something_else_is_counted() -> None:
    window = Window(10.0)
    window.add(0.0, 100)
    window.add(1.0, 500)
    window.add(2.0, 3)
    assert window.growth() == (0, 0.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (3.46, "3.5 s"), (12.2, "12 s"), (200.0, "3 min 20 s"), (3720.0, "1 h 02 min"), (-1.0, "0.0 s")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text

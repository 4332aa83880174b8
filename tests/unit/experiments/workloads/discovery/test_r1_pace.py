"""`--time-scale auto`: as slow as this machine needs to keep up, and never said of a machine that cannot."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.errors import UsageError
from experiments.overrun import MOST_BUSY
from experiments.workloads.discovery.r1.pace import _WATCH, AUTO, time_scale, work_of

_SPEEDS = st.floats(0.05, 20.0)
_PROCESSORS = st.integers(1, 64)


def _can(speed: float, processors: int) -> bool:
    return speed * processors >= 0.35


def test_a_machine_that_no_scale_helps_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot emulate 120 slots at any time scale"):
        time_scale(AUTO, 0.1, 2, 500)


@given(speed=_SPEEDS, processors=_PROCESSORS, times=st.integers(1, 100_000))
def test_with_it_no_run_is_an_overrun(speed: float, processors: int, times: int) -> None:
    """By the same numbers the processors are busy for less than a run may be, and that with a sixth less of them."""
    assume(_can(speed, processors))
    scale = time_scale(AUTO, speed, processors, times)
    assert scale >= 1.0
    assert (work_of(times) / scale + _WATCH) / (speed * processors * 5 / 6) < MOST_BUSY


@given(speed=st.floats(0.5, 10.0), processors=st.integers(2, 32))
def test_a_better_machine_is_never_slower(speed: float, processors: int) -> None:
    usual = time_scale(AUTO, speed, processors, 500)
    assert time_scale(AUTO, speed * 1.1, processors, 500) <= usual
    assert time_scale(AUTO, speed, processors + 1, 500) <= usual
    assert time_scale(AUTO, speed, processors, 2000) <= usual
    assert time_scale(AUTO, 100.0, processors, 500) == (1.6 if processors < 8 else 1.0), (
        "few are not there at once for 120 slots"
    )
    assert time_scale(AUTO, 0.5, 2, 500) > 1.0, "where report R1's ratios did not come out"


def test_what_was_asked_for_is_taken() -> None:
    assert time_scale("0.5", 0.01, 1, 500) == 0.5


@pytest.mark.parametrize("asked", ["", "fast", "nan", "inf", "1x", "x" * 400])
def test_what_is_no_number_is_refused_in_one_line(asked: str) -> None:
    with pytest.raises(UsageError, match="it must be auto, or a number") as caught:
        time_scale(asked, 1.0, 2, 500)
    assert len(str(caught.value)) < 150

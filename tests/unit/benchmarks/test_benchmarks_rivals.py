"""The simpler laws."""

from __future__ import annotations

import pytest

from benchmarks.rivals import amdahl, straight_line
from core.errors import UsageError

POINTS = [(10, 6 * 3600 + 24 * 60 + 55.0), (30, 4 * 3600 + 45 * 60 + 36.0)]  # report R1's scale-up: 6:24:55, 4:45:36


def test_amdahl_on_two_rows_of_report_r1_gives_what_its_readers_worked_out() -> None:
    """26.8 GB/hour for two jobs on 30 workers, where 23.6 was published (23.55 from the elapsed time)."""
    law = amdahl(*POINTS)
    assert 150 / law.elapsed_s(30, jobs=2) * 3600 == pytest.approx(26.8, abs=0.05)


def test_both_go_through_their_points_and_refuse_a_single_one() -> None:
    """Two results with as many workers make no line."""
    for law in (amdahl, straight_line):
        for workers, elapsed in POINTS:
            assert law(*POINTS).elapsed_s(workers) == pytest.approx(elapsed)
        with pytest.raises(UsageError, match="different numbers of workers"):
            law(POINTS[0], POINTS[0])


def test_a_falling_line_ends_nowhere() -> None:
    """Where more workers were slower the line reaches zero: then a job never ends."""
    assert straight_line((1, 100.0), (2, 300.0)).elapsed_s(4) == float("inf")

"""controller.timeline.axis: means within buckets, and how long a reading is taken to hold."""

from __future__ import annotations

import pytest

from controller.timeline.axis import Axis, gauge
from controller.timeline.panels import QUEUE_HOLDS

SECONDS = Axis(100.5, 106, 1)


def test_means_within_buckets_and_nothing_where_nothing_was_read() -> None:
    assert gauge(SECONDS, [(99, 7.0), (101, 1.0), (103, 3.0), (106, 9.0)]) == [None, 1.0, None, 3.0, None, None]
    assert gauge(Axis(100.0, 106, 2), [(100, 1.0), (101, 3.0), (105, 5.0)]) == [2.0, None, 5.0]


def test_a_reading_holds_for_a_while() -> None:
    assert gauge(SECONDS, [(99, 7.0), (103, 3.0)], holds=2.0) == [7.0, 7.0, None, 3.0, 3.0, 3.0]
    late = Axis(100.5, 106, 1, skipped=4)
    assert gauge(late, [(99, 7.0), (103, 3.0)], holds=2.0) == [3.0, 3.0]
    assert gauge(SECONDS, [], holds=9.0) == [None] * 6
    assert gauge(SECONDS, [(100, 7.0)], holds=9.0, stops=[(101.9, 104.0)]) == [7.0, 7.0, None, None, 7.0, 7.0]


@pytest.mark.parametrize("every", [1, 17])
def test_a_queue_that_is_looked_at_seldom_is_drawn_without_holes(every: int) -> None:
    """With a million tasks that is every 17 seconds."""
    drawn = gauge(Axis(0.0, 100, 1), [(second, 5.0) for second in range(0, 100, every)], holds=QUEUE_HOLDS)
    assert drawn == [5.0] * 100

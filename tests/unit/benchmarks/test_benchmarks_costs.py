"""Benchmarks that cost nothing to try: they run, and say what they measured."""

from __future__ import annotations

import math

from benchmarks.costs import waits


def test_costs_of_sizes_and_waits_are_measured() -> None:
    """One by one, at a size that says nothing about the figures."""
    found = waits.measure(calls=3, looks=1)
    assert set(found) == {"recorded_size", "collected_sizes", "overshoot", "slot_waits"}
    assert all(math.isfinite(figure.value) and figure.note for figure in found.values())

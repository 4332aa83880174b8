"""What long load is measured by."""

from __future__ import annotations

import pytest

from benchmarks.load.samples import Samples, Size


def test_processor_seconds_between_samples_are_shared_out() -> None:
    """A tenth of a phase begins and ends between two looks; before the first and after the last nothing is known."""
    samples = Samples()
    samples.processor["slot"] = [(10.0, 1.0), (12.0, 5.0), (14.0, 5.0)]
    assert samples.spent("slot", 11.0, 13.0) == 2.0
    assert samples.spent("slot", 0.0, 20.0) == 4.0
    assert samples.spent("box", 0.0, 20.0) == 0.0


def test_each_size_grows_by_itself() -> None:
    """Mapped files make PSS grow and are nobody's own."""
    samples = Samples()
    for second in range(100):
        samples.sizes["slot"].append((second, Size(pss=100 + second, private=50, own=40)))
    assert samples.growth()["slot"] == pytest.approx((194.5 / 114.5, 1.0, 1.0))
    assert samples.growth(0, 5) == {}

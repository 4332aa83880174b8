"""Drift is found where there is some and hardly ever where there is none."""

import numpy as np
import numpy.typing as npt
import pytest

from storage_tests.drift import LEAST, drift_of

SERIES = 200
MOST_FALSE = SERIES * 5 // 100


def _noise(dice: np.random.Generator, length: int, neighbours: float, size: float) -> npt.NDArray[np.float64]:
    """Rates around 100 whose neighbours are alike, as those of groups are, with a tail to one side."""
    shocks = dice.normal(size=length + 50)
    out = np.zeros(length + 50)
    for at in range(1, length + 50):
        out[at] = neighbours * out[at - 1] + shocks[at]
    return 100 * np.exp(size * out[50:])


@pytest.mark.parametrize(("length", "neighbours"), [(20, 0.0), (20, 0.5), (60, 0.0), (60, 0.7), (200, 0.3)])
def test_no_more_than_one_in_twenty_false_alarms(length: int, neighbours: float) -> None:
    """Over 200 simulated series without drift, neighbours independent or alike."""
    dice = np.random.default_rng(5)
    found = sum(drift_of(_noise(dice, length, neighbours, 0.1)).found for _ in range(SERIES))  # type: ignore[union-attr]
    assert found <= MOST_FALSE


def test_short_series_whose_neighbours_are_alike() -> None:
    """How alike they are is only estimated, of 20 values badly: more series, since it is near the bound."""
    dice = np.random.default_rng(11)
    found = sum(drift_of(_noise(dice, 20, 0.7, 0.1)).found for _ in range(1_000))  # type: ignore[union-attr]
    assert found <= 50


def test_what_returns_is_no_drift() -> None:
    dice = np.random.default_rng(6)
    humps = np.where(np.arange(200) % 20 < 3, 0.6, 1.0)
    found = sum(drift_of(_noise(dice, 200, 0.0, 0.05) * humps).found for _ in range(SERIES))  # type: ignore[union-attr]
    assert found <= MOST_FALSE


@pytest.mark.parametrize("neighbours", [0.0, 0.5])
def test_a_slope_is_found_with_its_size(neighbours: float) -> None:
    dice = np.random.default_rng(7)
    reported = [drift_of(_noise(dice, 60, neighbours, 0.05) * np.linspace(1, 0.7, 60)) for _ in range(50)]
    assert sum(one.found for one in reported if one) >= 48
    assert float(np.median([one.trend for one in reported if one])) == pytest.approx(-0.35, abs=0.05)  # of the median


def test_a_change_is_found_with_its_place_and_size() -> None:
    dice = np.random.default_rng(8)
    reported = [drift_of(_noise(dice, 60, 0.0, 0.05) * np.where(np.arange(60) < 36, 1, 0.75)) for _ in range(50)]
    assert all(one and one.found for one in reported)
    assert float(np.median([one.change_at for one in reported if one])) == pytest.approx(36, abs=1)
    assert float(np.median([one.change for one in reported if one])) == pytest.approx(-0.25, abs=0.03)


@pytest.mark.parametrize("step", [[100.0, 200.0], [200.0, 100.0]])
def test_a_change_between_equal_values_is_found(step: list[float]) -> None:
    """Medians of a histogram are of few buckets, and nothing is left of them when the change is taken away."""
    found = drift_of(np.repeat(step, 20).tolist())
    assert found is not None
    assert (found.found, found.change_at) == (True, 20)


def test_few_values_and_flat_ones_say_nothing() -> None:
    assert drift_of([1.0] * (LEAST - 1)) is None
    flat = drift_of([5.0] * 30)
    assert not flat.found
    assert (flat.trend, flat.change) == (0.0, 0.0)


def test_what_no_user_would_notice_is_not_called_drift() -> None:
    dice = np.random.default_rng(10)
    slight, more = (drift_of(_noise(dice, 60, 0.0, 0.001) * np.linspace(1, 1 - fall, 60)) for fall in (0.01, 0.03))
    assert slight.trend_p < 0.001
    assert not slight.found
    assert slight.trend == pytest.approx(-0.01, abs=0.002)
    assert more.found


def test_more_values_than_pairs_are_made_of() -> None:
    dice = np.random.default_rng(9)
    found = drift_of(_noise(dice, 4_000, 0.0, 0.05) * np.where(np.arange(4_000) < 3_000, 1, 0.9))
    assert found.found
    assert found.change_at == pytest.approx(3_000, abs=60)

"""The fit of the Universal Scalability Law."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.workloads.discovery.sections.scaling import LEAST_POINTS, UslFit, fit_usl, t_975

WORKERS = (1, 2, 4, 8, 16, 24, 32)


def _law(n: float, rate: float, contention: float, coherency: float) -> float:
    return rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


@given(st.floats(0.1, 1000), st.floats(0.0, 0.5), st.floats(0.0, 0.02))
def test_exact_measurements_give_the_parameters_back(rate: float, contention: float, coherency: float) -> None:
    """Without noise the fit must find what the measurements were made of."""
    fit = fit_usl([(n, _law(n, rate, contention, coherency)) for n in WORKERS])
    assert fit.rate.value == pytest.approx(rate, rel=1e-6)
    assert fit.contention.value == pytest.approx(contention, abs=1e-6)
    assert fit.coherency.value == pytest.approx(coherency, abs=1e-6)
    for n in WORKERS:
        assert fit.throughput(n) == pytest.approx(_law(n, rate, contention, coherency), rel=1e-6)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """With 3 % noise a 95 % interval must hold the true parameter in roughly 95 of 100 experiments."""
    chance = random.Random(20261121)
    held = {"rate": 0, "contention": 0, "coherency": 0}
    truth = {"rate": 40.0, "contention": 0.05, "coherency": 0.002}
    for _ in range(400):
        pairs = [(n, _law(n, *truth.values()) * (1 + chance.gauss(0, 0.03))) for n in WORKERS for _ in range(3)]
        fit = fit_usl(pairs)
        assert isinstance(fit, UslFit)
        for name, value in truth.items():
            estimate = getattr(fit, name)
            held[name] += estimate.low <= value <= estimate.high
    assert all(360 <= number <= 396 for number in held.values()), held


def test_too_few_worker_counts_are_not_fitted() -> None:
    """Three parameters fit anything: repeats of the same worker count do not make up for different ones."""
    few = [(n, _law(n, 10, 0.1, 0.001)) for n in WORKERS[: LEAST_POINTS - 1] for _ in range(5)]
    assert fit_usl(few) is None
    assert fit_usl([*few, (24, _law(24, 10, 0.1, 0.001))]) is not None


def test_measurements_that_are_none_are_left_out() -> None:
    """A run without throughput must not turn the fit into infinities."""
    pairs = [(n, _law(n, 10, 0.1, 0.001)) for n in WORKERS]
    assert fit_usl([*pairs, (3, 0.0), (5, float("nan"))]) == fit_usl(pairs)


def test_peak_is_where_throughput_is_highest() -> None:
    fit = fit_usl([(n, _law(n, 10, 0.19, 0.0009)) for n in WORKERS])
    assert fit.peak == pytest.approx(30.0, rel=1e-3)
    assert fit.throughput(30) > max(fit.throughput(25), fit.throughput(36))


def test_t_values() -> None:
    assert t_975(1) == 12.706
    assert t_975(30) == 2.042
    assert t_975(1000) == 1.96

"""Exact mean values, against the textbook recursion, a closed form and the simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.capacity.mva import Centre, elapsed_s, throughputs, why_not
from experiments.capacity.network import DATABASE, Kind, Network, Phase, Station, simultaneous
from experiments.capacity.simulation import simulate


@given(
    demands=st.lists(st.floats(0.001, 50.0), min_size=1, max_size=5),
    think=st.floats(0.0, 100.0),
    customers=st.integers(1, 40),
)
@settings(max_examples=80, deadline=None)
def test_equals_the_recursion_of_mean_value_analysis(demands: list[float], think: float, customers: int) -> None:
    """Reiser and Lavenberg's, for single servers and a delay, with every number of units up to so many."""
    length = [0.0] * len(demands)
    wanted = []
    for number in range(1, customers + 1):
        stay = [demand * (1 + queue) for demand, queue in zip(demands, length, strict=True)]
        throughput = number / (think + sum(stay))
        length = [throughput * seconds for seconds in stay]
        wanted.append(throughput)
    centres = [Centre(name=str(n), demand_s=demand) for n, demand in enumerate(demands)]
    rates = throughputs([*centres, Centre(name="think", demand_s=think, servers=None)], customers)
    assert list(rates) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("machines", "repairmen"), [(5, 1), (20, 3), (400, 37)])
def test_several_servers_are_exact_also_when_saturated(machines: int, repairmen: int) -> None:
    """The machine-repairman model by its birth-death equations; with 400 customers the usual recursion fails."""
    states = [1.0]
    for broken in range(machines):
        states.append(states[-1] * (machines - broken) / min(broken + 1, repairmen) * 0.2)
        total = sum(states)
        states = [p / total for p in states]
    repairs = sum(p * min(n, repairmen) / 0.2 for n, p in enumerate(states))
    centres = [Centre(name="runs", demand_s=1.0, servers=None), Centre(name="repair", demand_s=0.2, servers=repairmen)]
    assert throughputs(centres, machines)[-1] == pytest.approx(repairs, rel=1e-9)


def _pipeline(workers: int, databases: int) -> Network:
    """Three phases whose limits differ: metadata, the database, processors."""
    asks = {
        "walk": {"cpu": 0.002, "wire": 0.02, "metadata": 0.001, DATABASE: 0.0005},
        "expand": {"cpu": 0.02, "wire": 0.01, "metadata": 0.0005, "data": 0.0005, DATABASE: 0.002},
        "index": {"cpu": 0.05, "wire": 0.01, "data": 0.001, DATABASE: 0.0002},
    }
    return Network(
        stations=(
            Station(name="cpu", servers=20),
            Station(name="wire", kind=Kind.DELAY),
            Station(name="metadata"),
            Station(name="data", servers=2),
        ),
        databases=tuple(Station(name=f"db{n}") for n in range(databases)),
        jobs=simultaneous(tuple(Phase(name=n, units=2000, demands=d) for n, d in asks.items()), databases),
        workers=workers,
    )


@pytest.mark.parametrize(("workers", "databases"), [(1, 1), (5, 2), (30, 1), (30, 2)])
def test_agrees_with_the_simulation_where_both_apply(workers: int, databases: int) -> None:
    """Elapsed times within 5 %, whatever limits."""
    network = _pipeline(workers, databases)
    assert why_not(network) is None
    assert simulate(network, 11).elapsed_s == pytest.approx(elapsed_s(network), rel=0.05)


def test_the_last_units_leave_one_by_one() -> None:
    """As many units as slots and no queue: the longest of eight exponential waits, 1 + 1/2 + … + 1/8 of the mean."""
    network = replace(
        _pipeline(2, 1), jobs=simultaneous((Phase(name="only", units=8, demands={"wire": 3.0}, barrier_s=1.0),), 1)
    )
    assert elapsed_s(network) == pytest.approx(1.0 + 3.0 * sum(1 / n for n in range(1, 9)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dispatch_s": 0.1}, "queue manager"),
        ({"window": 3}, "window"),
        ({"pooled": False}, "dealt out"),
        ({"databases": (Station(name="db0"), Station(name="db1", speed=0.5))}, "database servers differ"),
        ({"own_processors": Station(name="own", servers=2)}, "their own worker"),
        ({"stations": (*_pipeline(1, 1).stations[:3], Station(name="data", shape=4))}, "exponential"),
    ],
)
def test_says_why_it_does_not_apply(changes: dict[str, Any], reason: str) -> None:
    """Each condition of a product form that the network can break."""
    found = why_not(replace(_pipeline(5, 2), **changes))
    assert found is not None
    assert reason in found

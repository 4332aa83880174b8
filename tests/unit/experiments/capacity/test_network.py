"""The network is checked when it is made, and says in one line what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.errors import UsageError
from experiments.capacity.network import (
    DATABASE,
    SLOTS,
    STREAMS,
    TASKS,
    Job,
    Network,
    Phase,
    Station,
    limit,
    sharded,
    simultaneous,
)

PHASE = Phase(name="walk", units=10, demands={"filer": 1.0, DATABASE: 2.0}, database_io={"filer": 0.5})


def _network(**changes: Any) -> Network:
    parts: dict[str, Any] = {
        "stations": (Station(name="filer"),),
        "databases": (Station(name="db1"),),
        "jobs": (Job(name="job", phases=(PHASE,)),),
        "workers": 2,
    }
    return Network(**{**parts, **changes})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Station(name="filer", servers=0), "station filer has 0 servers"),
        (lambda: Station(name="filer", speed=0.0), "speed is 0; it must be over 0"),
        (lambda: Station(name="filer", speed=float("nan")), "speed is nan"),
        (lambda: Phase(name="walk", units=0, demands={}), "phase walk has 0 units"),
        (lambda: Phase(name="walk", units=1, demands={"filer": -1.0}), "demand at filer is -1"),
        (lambda: Phase(name="walk", units=1, demands={}, weights=(1.0, 1.0)), "1 units and 2 weights"),
        (lambda: Phase(name="walk", units=1, demands={}, most_slots=0), "lets 0 slots work"),
        (lambda: _network(workers=0), "0 workers with 4 slots"),
        (lambda: _network(window=0), "a window of 0 lets nothing through"),
        (lambda: _network(stations=(Station(name="disk"),)), "demands filer, which is not a station"),
        (lambda: _network(databases=()), "is on database 1 of 0"),
        (lambda: _network(databases=(Station(name="filer"),)), "need names of their own"),
        (lambda: _network(workers=1, jobs=simultaneous((PHASE,), 1) * 2, pooled=False), "cannot be dealt out to 2"),
    ],
)
def test_impossible_numbers_are_refused_in_one_line(make: Callable[[], object], says: str) -> None:
    """Each names the part and the number."""
    with pytest.raises(UsageError) as error:
        make()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_databases_on_the_filer_ask_it_too() -> None:
    """A demand at the database is one at the job's own server; its I/O counts only where it lies on the filer."""
    network = _network()
    assert network.demands(network.jobs[0], PHASE) == {"filer": 1.0, "db1": 2.0}
    network = _network(databases_on_filer=True)
    assert network.demands(network.jobs[0], PHASE) == {"filer": 1.5, "db1": 2.0}


def test_simultaneous_jobs_double_the_work_and_shards_divide_it() -> None:
    """Weights are dealt out in turn, so that shards weigh about the same."""
    assert [job.phases[0].units for job in simultaneous((PHASE,), 2)] == [10, 10]
    assert [job.phases[0].units for job in sharded((PHASE,), 3)] == [4, 3, 3]
    heavy = Phase(name="walk", units=5, demands={}, weights=(3.0, 2.0, 1.5, 1.0, 0.5))
    assert [job.phases[0].weights for job in sharded((heavy,), 2)] == [(3.0, 1.5, 0.5), (2.0, 1.0)]
    assert [job.database for job in sharded((heavy,), 2)] == [0, 1]
    many = Phase(name="walk", units=500, demands={}, weights=heavy.weights)  # each of a hundred
    assert [job.phases[0].units for job in sharded((many,), 2)] == [300, 200]


@pytest.mark.parametrize(
    ("utilisation", "slots_busy", "named"),
    [
        ({"filer": 0.9, "db1": 0.95}, 1.0, "db1"),
        ({"filer": 0.5}, 1.0, SLOTS),
        ({"filer": 0.5}, 0.3, TASKS),
        ({}, 1.0, SLOTS),
    ],
)
def test_the_limit_is_a_busy_station_else_the_slots(
    utilisation: dict[str, float], slots_busy: float, named: str
) -> None:
    """The busiest station that is busy; slots when nothing else is; tasks when not even slots are."""
    assert limit(utilisation, slots_busy) == named


def test_a_bound_on_units_at_a_time_is_a_limit_of_its_own() -> None:
    """Where so many slots work as may, more tasks would not help; where fewer do, they would."""
    assert limit({"filer": 0.3}, 0.29, most=0.3) == STREAMS
    assert limit({"filer": 0.3}, 0.20, most=0.3) == TASKS
    assert limit({"filer": 0.9}, 0.29, most=0.3) == "filer"


def test_hosts_belong_to_workers_processors() -> None:
    with pytest.raises(UsageError, match="workers share the cores of hosts"):
        _network(hosts=(Station(name="host 1"),))

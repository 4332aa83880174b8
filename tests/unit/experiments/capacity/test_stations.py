"""Servers that are booked, and slots that are lent."""

from __future__ import annotations

import random

import pytest

from experiments.capacity.network import Kind, Station
from experiments.capacity.stations import Server, Share, SlotPool


def _server(**changes: object) -> Server:
    return Server(Station(name="filer", **{"shape": 0, **changes}), random.Random(1))  # type: ignore[arg-type]


def test_a_queue_serves_in_order_and_counts_what_is_worked() -> None:
    """Two servers: the third unit waits for the one that is free first."""
    server = _server(servers=2)
    assert [server.book(0.0, seconds) for seconds in (3.0, 1.0, 1.0)] == [3.0, 1.0, 2.0]
    assert [server.busy_until(now) for now in (0.0, 1.0, 2.5, 9.0)] == [0.0, 2.0, 4.5, 5.0]
    assert server.stayed == (3, 6.0)


def test_a_delay_has_no_queue_and_a_fast_server_takes_less() -> None:
    """Speed divides the demand."""
    assert [_server(kind=Kind.DELAY).book(1.0, 2.0) for _ in range(3)] == [3.0, 3.0, 3.0]
    assert _server(speed=4.0).book(0.0, 2.0) == 0.5


@pytest.mark.parametrize(("shape", "spread"), [(1, 1.0), (4, 0.5), (0.25, 2.0)])
def test_the_shape_decides_the_spread_and_not_the_mean(shape: float, spread: float) -> None:
    """Standard deviation by mean is 1 / sqrt(shape), of 20,000 services."""
    server = _server(kind=Kind.DELAY, shape=shape)
    found = [server.book(0.0, 3.0) for _ in range(20_000)]
    mean = sum(found) / len(found)
    assert mean == pytest.approx(3.0, rel=0.05)
    assert (sum((x - mean) ** 2 for x in found) / len(found)) ** 0.5 / mean == pytest.approx(spread, rel=0.05)


def test_slots_are_lent_across_workers_first() -> None:
    """Few units spread over all workers; then whoever has been idle longest."""
    pool = SlotPool([4, 5], slots_each=2)
    assert [pool.lend() for _ in range(4)] == [4, 5, 4, 5]
    assert not pool
    pool.give_back(5)
    assert pool.lend() == 5


def test_a_share_is_over_when_worker_and_host_have_both_served_it() -> None:
    """Two workers of one core each on a host of one: the second waits for the host, and its own core is taken meanwhile."""
    host = _server()
    one, two = (Share(_server(), host) for _ in range(2))
    assert [one.book(0.0, 2.0), two.book(0.0, 3.0), two.book(0.0, 1.0)] == [2.0, 5.0, 6.0]
    assert host.busy_until(6.0) == 6.0

"""Outages: backoff and what the log says."""

from __future__ import annotations

import pytest

from core.errors import BrokerFault
from queue_manager.dispatcher import Outage


def test_one_line_for_its_begin_and_one_for_its_end(caplog: pytest.LogCaptureFixture) -> None:
    """Promise: an outage of hours fills no log, and attempts become rarer up to a bound."""
    outage = Outage("the broker")
    now = 100.0
    waits = []
    for _ in range(50):
        waits.append(outage.failed(BrokerFault("cannot reach the broker"), now))
        assert not outage.due(now)
        now += waits[-1]
        assert outage.due(now)
    assert outage.on
    assert outage.over()
    assert not outage.over()
    assert [r.getMessage() for r in caplog.records] == [
        "cannot reach the broker; retrying until it answers",
        "the broker answers again after 50 attempts",
    ]
    assert waits == sorted(waits)
    assert waits[-1] <= 2.0

"""controller.observe.metrics: services that do not answer spoil no scrape."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from controller.observe.metrics import ControllerMetrics
from sql.session import Database


def test_services_that_are_away_are_shown_as_away() -> None:
    nobody = Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")
    metrics = ControllerMetrics([nobody], "redis://127.0.0.1:1/0", lambda: 2)
    metrics.start()
    metrics.stop()
    registry = CollectorRegistry()
    registry.register(metrics)
    assert registry.get_sample_value("edbench_database_up", {"database": "db1"}) == 0
    assert registry.get_sample_value("edbench_broker_up") == 0
    assert registry.get_sample_value("edbench_jobs", {"database": "db1", "state": "running"}) is None
    assert registry.get_sample_value("edbench_collector_lag_seconds") is None

"""queue_manager.metrics: what is shown of several databases, and by whom."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from core.records import Phase, TaskState
from queue_manager.metrics import QueueMetrics, QueueSample


def test_jobs_of_a_database_are_added_up_and_only_the_active_one_shows_them() -> None:
    """A second queue manager that waits for the lock shows that it does, and nothing that would count double."""
    metrics = QueueMetrics(["db1", "db2"])
    for phase, oldest in ((Phase.EXPAND, 2.0), (Phase.EXPAND, 5.0), (Phase.INDEX, 1.0)):
        tasks = {TaskState.PENDING: 3, TaskState.DISPATCHED: 0, TaskState.RUNNING: 2}
        sample = QueueSample(phase=phase, tasks=tasks, oldest_pending_seconds=oldest)
        for name in ("db1", "db2"):
            metrics.of[name].queue = (*metrics.of[name].queue, sample)
    for name, numbers in metrics.of.items():
        numbers.active = name == "db1"
        numbers.server = {"commits": 10, "rows": 5}
        numbers.lease_expiries = 4
    metrics.timers.timer("db1")(5_000_000)
    registry = CollectorRegistry()
    registry.register(metrics)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("edbench_queue_tasks", database="db1", phase="expand", state="pending") == 6
    assert value("edbench_queue_tasks", database="db1", phase="index", state="running") == 2
    assert value("edbench_queue_tasks", database="db1", phase="walk", state="running") == 0
    assert value("edbench_queue_tasks", database="db2", phase="index", state="running") is None
    assert value("edbench_queue_oldest_pending_seconds", database="db1") == 5.0
    assert value("edbench_database_commits_total", database="db1") == 10
    assert value("edbench_database_rollbacks_total", database="db1") is None
    assert value("edbench_database_commits_total", database="db2") is None
    assert value("edbench_queue_manager_active", database="db2") == 0
    assert value("edbench_queue_lease_expiries_total", database="db2") == 4
    assert value("edbench_database_transaction_seconds_count", database="db1") == 1


def test_databases_of_a_run_count_with_those_of_their_servers_and_stay_counted() -> None:
    metrics = QueueMetrics(["db1", "db2"])
    registry = CollectorRegistry()
    registry.register(metrics)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    for numbers in metrics.of.values():
        numbers.active, numbers.dispatched, numbers.server = True, 7, {"commits": 10}
    tasks = {TaskState.PENDING: 3, TaskState.DISPATCHED: 0, TaskState.RUNNING: 2}
    with metrics.of_run(["db1"]) as run:
        run["db1"].active, run["db1"].slots, run["db1"].dispatched = True, 4, 5
        run["db1"].server = {"commits": 0, "rows": 3}
        run["db1"].queue = (QueueSample(phase=Phase.EXPAND, tasks=tasks, oldest_pending_seconds=2.0),)
        assert value("edbench_queue_tasks", database="db1", phase="expand", state="pending") == 3
        assert value("edbench_queue_slots", database="db1") == 4
        assert value("edbench_queue_dispatched_total", database="db1") == 12
        assert value("edbench_queue_dispatched_total", database="db2") == 7
        run["db1"].server = {"commits": 20, "rows": 3}
    assert value("edbench_database_commits_total", database="db1") == 30
    assert value("edbench_database_rows_total", database="db1") == 3
    assert value("edbench_queue_dispatched_total", database="db1") == 12
    assert value("edbench_queue_slots", database="db1") == 0
    assert value("edbench_queue_tasks", database="db1", phase="expand", state="pending") == 0

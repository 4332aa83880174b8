"""Panels of what the parts say of themselves."""

from __future__ import annotations

from monitoring.grafana.model import Panel, Query
from monitoring.grafana.queries import WORKERS, quantiles, rate

ROLES = (
    Panel(
        title="Processes that answer",
        unit="short",
        queries=(Query('sum by (job) (up{job=~"worker|queue_manager|controller"})', "{{job}}"),),
    ),
    Panel(
        title="Versions",
        unit="short",
        note="One line is right; more show an unfinished upgrade, during which no job starts.",
        queries=(Query("count by (version) (edbench_build_info)", "{{version}}"),),
    ),
    Panel(
        title="Jobs",
        unit="short",
        queries=(Query("sum by (database, type, state) (edbench_jobs) > 0", "{{database}} {{type}} {{state}}"),),
    ),
    Panel(
        title="Services",
        unit="bool_on_off",
        queries=(
            Query("min by (database) (edbench_database_up)", "database {{database}}"),
            Query("min(edbench_broker_up)", "broker"),
            Query("max by (database) (edbench_queue_manager_active)", "dispatching {{database}}"),
        ),
    ),
)
QUEUE = (
    Panel(
        title="Tasks dispatched",
        unit="suffix: /s",
        queries=(Query("sum by (database) (rate(edbench_queue_dispatched_total[$__rate_interval]))", "{{database}}"),),
    ),
    Panel(
        title="Oldest pending task",
        unit="s",
        queries=(Query("max by (database) (edbench_queue_oldest_pending_seconds)", "{{database}}"),),
    ),
    Panel(
        title="Tasks by outcome",
        unit="suffix: /s",
        queries=(Query(rate("edbench_tasks_total", "phase, outcome"), "{{phase}} {{outcome}}"),),
    ),
    Panel(
        title="Messages unclaimed, leases expired",
        unit="short",
        queries=(
            Query(
                "sum by (database) (increase(edbench_queue_unclaimed_total[$__rate_interval]))",
                "unclaimed {{database}}",
            ),
            Query(
                "sum by (database) (increase(edbench_queue_lease_expiries_total[$__rate_interval]))",
                "leases {{database}}",
            ),
        ),
    ),
)
TRANSACTIONS = (
    Panel(
        title="Transactions of slots",
        unit="s",
        queries=tuple(quantiles("edbench_database_transaction_seconds", "database", f'{WORKERS}, job="worker"')),
    ),
    Panel(
        title="Transactions of the queue manager",
        unit="s",
        queries=tuple(quantiles("edbench_database_transaction_seconds", "database", 'job="queue_manager"')),
    ),
    Panel(
        title="Transactions rolled back",
        unit="suffix: /s",
        queries=(
            Query("sum by (database) (rate(edbench_database_rollbacks_total[$__rate_interval]))", "{{database}}"),
        ),
    ),
    Panel(
        title="Call errors",
        unit="suffix: /s",
        note="Some errors are expected: creating a directory that exists.",
        queries=(Query(rate("edbench_call_errors_total", "op"), "{{op}}"),),
    ),
)
RECORDS = (
    Panel(
        title="Frames waiting",
        unit="short",
        queries=(
            Query("sum(edbench_collector_waiting_frames)", "at the broker"),
            Query(f"sum(edbench_frames_waiting{{{WORKERS}}})", "at workers"),
        ),
    ),
    Panel(
        title="Age of the oldest frame",
        unit="s",
        queries=(Query("max(edbench_collector_lag_seconds)", "oldest frame"),),
    ),
    Panel(
        title="Frames stored, calls and frames lost",
        unit="suffix: /s",
        queries=(
            Query("sum(rate(edbench_collector_frames_total[$__rate_interval]))", "frames stored"),
            Query("sum(rate(edbench_collector_undecodable_total[$__rate_interval]))", "no frames"),
            Query(rate("edbench_calls_lost_total"), "calls lost"),
            Query(rate("edbench_frames_lost_total"), "frames lost"),
        ),
    ),
    Panel(
        title="Memory of workers",
        unit="bytes",
        note="Pages that its processes share count for each.",
        queries=(Query(f"sum by (instance) (edbench_worker_resident_bytes{{{WORKERS}}})", "{{instance}}"),),
    ),
    Panel(
        title="Space free",
        unit="bytes",
        queries=(Query("min by (host, device) (edbench_space_free_bytes)", "{{host}} {{device}}"),),
    ),
    Panel(
        title="Inodes free",
        unit="short",
        note="0 where the file system has no table of them.",
        queries=(Query("min by (host, device) (edbench_space_free_inodes)", "{{host}} {{device}}"),),
    ),
)

"""Panels of the work, of the storage calls it makes, and of databases and queue."""

from __future__ import annotations

from monitoring.grafana.model import Panel, Query
from monitoring.grafana.queries import WORKERS, quantiles, rate

_RAW, _EXTRACTED, _PRODUCED = (rate(f"edbench_{each}_bytes_total") for each in ("raw", "extracted", "produced"))
_GB_PER_HOUR = "* 3600 / 1e9"
_OVER_RANGE = "* 3600 / 1e9 / $__range_s"


def _over_range(metric: str) -> str:
    return f"sum(increase({metric}{{{WORKERS}}}[$__range]))"


WORK = (
    Panel(
        title="GB/hour",
        unit="suffix: GB/hour",
        note="Raw: bytes of loose files; discovered: those and extracted children; written: by extractions, processings and"
        " exports. Booked when a task is done.",
        queries=(
            Query(f"{_RAW} {_GB_PER_HOUR}", "raw, now"),
            Query(f"({_RAW} + {_EXTRACTED}) {_GB_PER_HOUR}", "discovered, now"),
            Query(f"{_PRODUCED} {_GB_PER_HOUR}", "written, now"),
            Query(f"{_over_range('edbench_raw_bytes_total')} {_OVER_RANGE}", "raw, over the time shown"),
            Query(
                f"({_over_range('edbench_raw_bytes_total')} + {_over_range('edbench_extracted_bytes_total')})"
                f" {_OVER_RANGE}",
                "discovered, over the time shown",
            ),
            Query(f"{_over_range('edbench_produced_bytes_total')} {_OVER_RANGE}", "written, over the time shown"),
        ),
    ),
    Panel(
        title="Items",
        unit="suffix: items/s",
        queries=(
            Query(rate("edbench_items_total", "kind"), "{{kind}}"),
            Query(rate("edbench_texts_total"), "texts taken"),
            Query(rate("edbench_produced_files_total", "kind"), "{{kind}} files written"),
        ),
    ),
    Panel(
        title="Exceptions by code",
        unit="suffix: /s",
        stacked=True,
        queries=(Query(f"{rate('edbench_exceptions_total', 'code')} > 0", "{{code}}"),),
    ),
    Panel(title="Index", unit="Bps", queries=(Query(rate("edbench_index_bytes_total"), "published"),)),
)
STORAGE = (
    Panel(title="Calls", unit="ops", stacked=True, queries=(Query(rate("edbench_calls_total", "op"), "{{op}}"),)),
    Panel(
        title="Bytes moved by calls",
        unit="Bps",
        queries=(Query(rate("edbench_call_bytes_total", "op", 'op=~"read|write"'), "{{op}}"),),
    ),
    Panel(
        title="Latency of $op",
        unit="s",
        note="Closed loop: a slot makes its next call after the last has returned. Buckets are powers of two.",
        repeat="op",
        queries=tuple(quantiles("edbench_call_seconds", "op", f'{WORKERS}, op="$op"')),
    ),
)
_SLOTS_ONLY = 'job="worker"'
DATABASES = (
    Panel(
        title="Database rows",
        unit="suffix: rows/s",
        queries=(Query("sum by (database) (rate(edbench_database_rows_total[$__rate_interval]))", "{{database}}"),),
    ),
    Panel(
        title="Database commits",
        unit="suffix: /s",
        queries=(Query("sum by (database) (rate(edbench_database_commits_total[$__rate_interval]))", "{{database}}"),),
    ),
    Panel(
        title="Queue",
        unit="short",
        stacked=True,
        note="Tasks of the current phase of running jobs.",
        queries=(Query("sum by (state) (edbench_queue_tasks)", "{{state}}"),),
    ),
    Panel(
        title="Time of slots in transactions",
        unit="percentunit",
        note="Share of the slots' busy time.",
        queries=(
            Query(
                f"{rate('edbench_database_transaction_seconds_sum', 'database', _SLOTS_ONLY)}"
                f" / on () group_left () {rate('edbench_slot_busy_seconds_total')}",
                "{{database}}",
            ),
        ),
    ),
)

"""Options for tuning, in whichever command: help and forms list them apart, after the common ones."""

from __future__ import annotations

MOST_SEED = 10**15  # below 2**53: whole in whatever reads JSON
MOST_SECONDS = 366 * 86_400.0  # a year, of whatever is waited for or measured
DAY_SECONDS = 86_400.0
MOST_SCALE = 1e6  # of a corpus: 45 PB of the reference profile
MOST_BYTES = (1 << 63) - 1  # what a file, a database's column and a C program count to
MOST_PASSWORDS = 10_000  # in a bank: each is tried on every encrypted item
MOST_OFFSET = 1e10  # seconds, of a clock that began in another century


TUNING = frozenset(
    (
        *("batch_files", "batch_mb", "fail_if", "most_tasks", "phase_slots", "reserve_slots", "split_mb", "task_order"),
        "window_factor",
        *(
            "charset",
            "cold",
            "csv_raw",
            "dispatch_seconds",
            "expansion_ratio",
            "filer_cache",
            "fill",
            "folder_files",
            "force",
            "not_empty",
        ),
        *("fsync", "index_streams", "item_seconds", "layout", "lease_seconds", "max_depth", "max_slots"),
        *(
            "min_seconds",
            "no_baseline",
            "null_memory",
            "parse_mb",
            "priority",
            "processes",
            "serve_port",
            "single_pass",
        ),
    )
)

"""Options for tuning, in whichever command: help and forms list them apart, after the common ones."""

from __future__ import annotations

TUNING = frozenset(
    (
        *("charset", "cold", "dispatch_seconds", "expansion_ratio", "filer_cache", "folder_files", "force"),
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

"""What must be the same for two results of discoveries to be compared."""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from typing import Any

from controller.jobs.distribution import Distribution
from core.filer import FilerModel
from core.options.choices import DEFAULT_ZONE
from core.records import JobOptions
from core.settings import Settings
from experiments.workloads.discovery.result import NO_LIMIT
from experiments.workloads.discovery.run_point import Load


def configuration(settings: Settings, load: Load, filer: FilerModel | None, *, cluster: str) -> dict[str, Any]:
    """Storage, host and the points' own numbers are not in it."""
    options = load.options
    return {
        "edbench": version("edbench"),
        "cluster": cluster,
        "index_engine": settings.index_engine,
        "index_io": "built on scratch, then published through the storage layer",
        "passes": 1 if options.single_pass else 2,
        "index_streams": options.index_streams or NO_LIMIT,
        "fsync": options.fsync.value,
        "layout": options.layout.value,
        "task_bytes": options.batch_bytes,
        "split_bytes": options.split_bytes,
        "limits": dataclasses.asdict(options.limits),
        "passwords": dataclasses.asdict(options.passwords),
        "lease_seconds": options.lease_seconds,
        "dispatch_seconds": options.dispatch_seconds,
        "slot_memory_mb": settings.slot_memory_mb,
        "plugins": sorted(settings.plugins),
        "emulated_filer": "none" if filer is None else f"{filer.choice.label} ({filer.digest})",
        "cold": load.cold,
        "several_databases": _several(load),
    } | _chosen(options)


def _chosen(options: JobOptions) -> dict[str, Any]:
    """Only what is not as usual: results of before, which do not name it, had the usual, those of `experiment r1` aside."""
    said = {"task_files": options.batch_files, "index_tasks": options.index_tasks, "time_zone": options.time_zone}
    usual = {"task_files": JobOptions().batch_files, "index_tasks": None, "time_zone": DEFAULT_ZONE}
    others = {"batch_mb", "batch_files", "split_mb", "index_streams"}  # have older names
    distributed = {name: value for name, value in Distribution.of(options).chosen.items() if name not in others}
    return {name: value for name, value in said.items() if value != usual[name]} | distributed


def _several(load: Load) -> str:
    if load.shard:
        return "one data set shared out over the databases"
    each = "each with its own copy" if load.copies else "all of one source"
    return f"one job over the data set on each database, {each}"

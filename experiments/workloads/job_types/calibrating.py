"""What a run keeps so that predictions can be calibrated on it: each phase's tasks, calls, processors and transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.databases import JobHandle
from controller.jobs.figures import JobFigures
from experiments.workloads.discovery.phase_use import phases_used
from experiments.workloads.discovery.sampler import Samples
from experiments.workloads.discovery.series import filer_use, times_of, used_between
from experiments.workloads.discovery.serving import ledger_between, processors_between
from experiments.workloads.discovery.tables import read_tables
from experiments.workloads.job_types.result import KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Of a job that is over, from outside."""

    handle: JobHandle
    samples: Samples
    filer: Sequence[tuple[float, dict[str, dict[str, float]]]]  # stations of an emulated filer, by this host's clock
    offset: float  # the database's clock less this host's, seconds


def calibrating(seen: Seen, figures: JobFigures, data: JobFigures) -> Mapping[str, Any]:
    """Fields of a `TypeRun`; `data`: the figures of the discovery whose items the job took. Raises DatabaseFault."""
    (tables,) = read_tables([seen.handle])
    times = times_of([tables])
    between = processors_between(seen.samples, seen.offset)
    busy, passed = used_between(seen.samples.host, times, seen.offset) if seen.samples.host else (0.0, 0.0)
    told = figures.to_json()
    return {
        "phases": phases_used(tables, times.start, between, ledger_between(seen.samples, tables.database)),
        "host_cpu": round(busy / passed, 4) if passed else None,
        "filer": filer_use(seen.filer, times, seen.offset),
        "result": {name: told[name] for name in KEPT}
        | {"raw_bytes": data.raw_bytes, "discovered_bytes": data.discovered_bytes},
    }

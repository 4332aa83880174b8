"""What is observed of a discovery: the ledger's rows, samples, and what the job's databases counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.drops import Drop
from experiments.workloads.discovery.sampler import Samples
from experiments.workloads.discovery.tables import JobTables, read_tables

if TYPE_CHECKING:
    from experiments.workloads.discovery.run_point import PointRun


@dataclass(frozen=True, slots=True, kw_only=True)
class OfHosts:
    """What was observed of the hosts of a run, of an experiment on several."""

    counted: tuple[dict[str, Any], ...]  # by host: its share of the workers, its clock, its meters (core.crew)
    index: dict[str, int]  # tasks; on_another_host: than the one that had written or read what they read


@dataclass(frozen=True, slots=True, kw_only=True)
class OnNull:
    """One portion of the same run on null storage."""

    result: dict[str, Any]
    jobs: tuple[JobTables, ...]  # their times and tasks
    held_bytes: int  # of memory, when the portion was done and nothing of it removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One run. Times are seconds since the epoch; counters are as they were read."""

    repeat: int
    order: int
    started_at: float
    processors: float  # of the workers' host, or hosts
    result: dict[str, Any]  # as `discover --json` writes it; what follows from the rows is recomputed (`figures`)
    jobs: tuple[JobTables, ...]
    samples: Samples
    containers: tuple[dict[str, Any], ...]
    filer: tuple[tuple[float, dict[str, dict[str, float]]], ...]  # stations of an emulated filer, by this host's clock
    offsets: tuple[dict[str, float], dict[str, float]]  # database → its clock less this host's, start and end
    drops: tuple[Drop, ...]
    databases: tuple[dict[str, Any], ...]  # where each server kept its files
    hosts: OfHosts | None = None  # of an experiment on several
    array: tuple[tuple[str, str, tuple[tuple[float, float], ...]], ...] = ()  # name, unit, values over time
    null: tuple[OnNull, ...] = ()  # its portions in order; empty: there is no null baseline


def observed(
    run: PointRun, repeat: int, order: int, processors: float, places: Sequence[Mapping[str, Any]]
) -> Observed:
    """Read while its databases are still there; `places`: where they keep their files. Raises DatabaseFault."""
    return Observed(
        repeat=repeat,
        order=order,
        started_at=run.started_at,
        processors=run.processors or processors,
        result=run.result,
        jobs=read_tables(run.handles),
        samples=run.samples,
        containers=tuple(dict(one) for one in run.containers),
        filer=tuple(run.filer),
        offsets=run.offsets,
        drops=run.drops,
        databases=tuple(dict(place) for place in places),
        hosts=run.hosts,
    )

"""Discovery: the jobs of a corpus, with a number of workers on a number of databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.labels.rules import STORAGE_SHARE
from core.extensions import imported
from experiments.report import words
from experiments.result.statistics import estimate, interval_text
from experiments.workload import About, Figure, Same
from experiments.workloads.discovery.result import (
    DURABLE,
    ELAPSED,
    NAME,
    NULL,
    RATE,
    RAW,
    SHARE,
    UNRECORDED,
    Point,
    Result,
    Run,
    in_calls,
)  # fmt: skip


def near_null(runs: Sequence[Any]) -> str | None:
    """Return why the storage hardly mattered; None if it did, and without null baselines."""
    shares = [run.storage_share for run in runs if run.storage_share is not None]
    if not shares or (share := estimate(shares)).median >= STORAGE_SHARE:
        return None
    return f"the storage share is {interval_text(share, words.percent)} (under {words.percent(STORAGE_SHARE)})"


def unrecorded(run: Run) -> float | None:
    """Return the share of unrecorded bytes in all bytes counted by any source (controller.observe.io_kinds)."""
    io = run.result.get("io")
    return None if io is None else io["unrecorded_share"]


def _states(run: Run) -> str:
    """Return the states of the run's jobs, each once."""
    jobs = run.result.get("jobs") or [run.result]
    return ", ".join(dict.fromkeys(str(job.get("state", "not known")).replace("_", " ") for job in jobs))


ABOUT = About(
    name=NAME,
    title="{kind}",
    result=Result,
    point=Point,
    figures=(
        Figure(name=ELAPSED, title="elapsed s", of=lambda run: run.elapsed_s),
        Figure(name=NULL, title="null s", of=lambda run: run.null_elapsed_s, missing="no null baseline"),
        Figure(name=SHARE, title="storage share", of=lambda run: run.storage_share, write=words.percent),
        Figure(name=RATE, title="GB/hour discovered", of=lambda run: run.gb_per_hour_discovered, headline=True),
        Figure(name=RAW, title="GB/hour raw", of=lambda run: run.gb_per_hour_raw),
        Figure(name=UNRECORDED, title="unrecorded I/O", of=unrecorded, write=words.percent, aside=True),
        Figure(DURABLE, "to durable s/GB", lambda run: run.durable_s_per_gb, write=words.figure, aside=True),
    ),
    # Drawing and the ledger are slow to come.
    sections=lambda result: imported("experiments.workloads.discovery.sections:sections")(result),
    notes={"state": _states, "first_done_s": lambda run: run.first_done_s, "last_done_s": lambda run: run.last_done_s},
    same=(
        Same(name="corpus hash", path=("corpus", "hash")),
        Same(name="corpus content", path=("corpus", "content", "hash")),
        Same(name="corpus raw_bytes", path=("corpus", "raw_bytes")),
        Same(name="expansion", path=("expansion",), tolerance=0.001),
    ),
    in_calls=in_calls,
    near_null=near_null,
    pair_decides=True,
    rule=(
        "The storage share is 1 − elapsed on null storage ÷ elapsed. GENERATOR-LIMITED is a point whose median share is"
        f" under {words.percent(STORAGE_SHARE)}."
    ),
    raw=lambda: imported("experiments.workloads.discovery.observed:Observed"),
    run_of=lambda seen: imported("experiments.workloads.discovery.figures:run_of")(seen),
    wording=lambda surroundings: imported("experiments.workloads.discovery.wording:DiscoveryWording")(surroundings),
    trusted=(
        "counts in the databases of each run: items, bytes, containers, exceptions, versions, labels of its jobs",
        "the parts of the time inside calls (call_time, percentiles marked for it) and every kind of I/O (io): "
        "their readings are not stored",
        "observations of hosts, mounts, dropped caches, containers and an emulated filer's stations",
    ),
)

"""Labels that stand before the figures of a run, as far as they are known while it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.timeline.readings import Readings
from controller.timeline.standing import Standing
from controller.timeline.thresholds import (
    CACHE_FACTOR,
    CACHED,
    CPU_SHARE,
    EVIDENCE_SECONDS,
    LIMITED,
    RUN_QUEUE_SHARE,
)
from sql.jobs import JobProgress

BEGIN_SECONDS = 4  # after the first claim: a worker that has told nothing by then came later, its counters with it


def labels_of(
    standings: Sequence[Standing],
    done: Sequence[JobProgress],
    workers: Mapping[str, Readings],
    first: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """Emulated, cached once all of the data is known, generator-limited by the whole run so far.

    `workers`: their latest readings; `first`: those of workers that were there when the jobs began.
    """
    last = {name: readings[-1][1] for name, readings in workers.items()}
    hosts = {values.get("host", ""): values for values in last.values()}
    labels = list(dict.fromkeys(s.job.options.filer.label for s in standings if s.job.options.filer.label))
    memory = sum(values.get("memory_bytes", 0) for values in hosts.values())
    discovered = sum(p.raw_bytes + p.extracted_bytes for p in done)
    if memory and all(p.total_known for p in done) and discovered < CACHE_FACTOR * memory:
        labels.append(CACHED)
    elapsed = max(p.elapsed_s for p in done)
    processors = sum(values.get("processors", 0) for values in hosts.values())
    if elapsed < EVIDENCE_SECONDS or not processors:
        return labels
    cpu = _grown("cpu_s", last, first) / (elapsed * processors)
    call_s = sum(ns for s in standings for _, ns in s.calls.values()) / 1e9
    waits = _grown("run_queue_s", last, first) / call_s if call_s else 0.0
    if cpu > CPU_SHARE or waits > RUN_QUEUE_SHARE:
        labels.append(LIMITED)
    return labels


def _grown(key: str, last: Mapping[str, Mapping[str, Any]], first: Mapping[str, Mapping[str, Any]]) -> float:
    return sum(
        max(0.0, float(values.get(key, 0.0)) - float(first.get(name, {}).get(key, 0.0)))
        for name, values in last.items()
    )

"""Reports about discoveries, given with their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.labels.rules import MOST_OF_TIME, is_cached, unique_bytes
from experiments.conditions import NOT_DROPPED, THE_STORAGE, Drop, cache_state, configuration_hash, filer_limit
from experiments.report import words
from experiments.report.views import middle
from experiments.result.statistics import interval_text
from experiments.result.verdict import bounds_copies
from experiments.workload import Wording
from experiments.workloads.discovery.observed import Observed
from experiments.workloads.discovery.result import DURABLE, SHARE, Point, Result, in_calls
from experiments.workloads.discovery.setting import parse_setting

# Several clients have a page cache each (experiments.crew.admission.cache_of).
ONE_KERNEL = "read by the client that wrote them: all workers of an experiment share one kernel and its page cache"
SHORT_PORTION_S = 60.0  # on null storage; a portion's start and end take seconds


class DiscoveryWording(Wording):
    """Reports on discoveries, from `surroundings` as `Discovery.surroundings` returns them."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        super().__init__(surroundings)
        self._drops: list[Drop] = []
        self._offsets: list[dict[str, Any]] = []
        self._databases: list[dict[str, Any]] = []
        self._versions: dict[str, Any] = {}
        self._hosts: list[dict[str, Any]] = []
        self._missed = 0  # samples that a database did not answer

    def see(self, raw: Observed) -> None:
        """Take the run's drops, clocks, places and versions."""
        self._drops += raw.drops
        self._missed += raw.samples.missed
        self._offsets.append({"run": raw.order, "start": raw.offsets[0], "end": raw.offsets[1]})
        self._databases = list(raw.databases)
        if raw.hosts is not None:
            self._hosts.append({"run": raw.order, **raw.hosts.index, "hosts": list(raw.hosts.counted)})
        self._versions = raw.result["versions"]

    def cached(self, points: Sequence[Point]) -> bool:
        """Return whether some point discovered too little for the size of the caches."""
        return cached(points, self.surroundings["cache"]["client_memory_bytes"] + self.filer_cache.bytes)

    def remarks(self, result: Result) -> Sequence[str]:
        """Return the storage shares, the limit, and what a bound on writes is worth."""
        return [*share_remarks(result.points), *limit_remarks(result.points), *write_remarks(result)]

    def warnings(self, points: Sequence[Point]) -> Sequence[str]:
        """Return warnings of gaps, and of null baselines that found other items than their run."""
        return warnings_of(points, missed=self._missed)

    def conditions(self, points: Sequence[Point]) -> dict[str, Any]:
        """Return the disclosure of design §7."""
        around, run = self.surroundings, points[0].repeats[0]
        cold = around["configuration"]["cold"]
        return {
            "configuration": around["configuration"],
            "configuration_hash": configuration_hash(around["configuration"]),
            "corpus": around["corpus"],
            "expansion": run.result["expansion"],
            "items_per_gb_raw": run.result["items_per_gb_raw"],
            "cache": {
                "state": cache_state(self._drops, asked=cold),
                **around["cache"],
                "drops": [drop.to_json() for drop in self._drops],
                "not_dropped": NOT_DROPPED if cold else "nothing was dropped",
                "index_batches": _elsewhere(self._hosts) or ONE_KERNEL,
            },
            "storage": around["storage"],
            "source": around["source"],
            "databases": self._databases,
            "emulated_filer": around["emulated_filer"],
            "null_storage": around["null_storage"],
            "hosts": around["hosts"],
            **({"hosts_by_run": self._hosts} if self._hosts else {}),
            "versions": self._versions,
            "clock_offset_s": self._offsets,  # by run: the database's clock less this host's
            "samples_missed": self._missed,
            "fresh": around["fresh"],
            "latencies": "closed-loop: a slot makes its next call after the last has returned",
        }


def _elsewhere(hosts: Sequence[Mapping[str, Any]]) -> str:
    """Report how many index tasks ran on another host than the writer's, in an experiment on several."""
    hosts = [run for run in hosts if "tasks" in run]
    if not hosts:
        return ""
    tasks, other = (sum(run[name] for run in hosts) for name in ("tasks", "on_another_host"))
    return f"on several hosts {other} of {tasks} index tasks read data that another host had written or read before"


def share_remarks(points: Sequence[Point]) -> list[str]:
    """Report the storage shares of the lowest and the highest load, for the first line; nothing without null
    baselines."""
    ends = dict.fromkeys((points[0].at, points[-1].at))
    shares = [(point.at, point.figures.get(SHARE)) for point in points if point.at in ends]
    texts = [f"{interval_text(share, words.percent)} at {at}" for at, share in shares if share is not None]
    return [f"storage share {', '.join(texts)}"] if texts else []


def limit_remarks(points: Sequence[Point]) -> list[str]:
    """Report the limit unless it was the generator: with an emulated filer, its station under the highest load; else
    the storage, if it took most of the time (the whole interval of its share) under the lowest and the highest load."""
    top = points[-1]
    run = middle(top.repeats)
    if run.series.filer:
        waits = SHARE in top.figures and (in_calls(run) or 0.0) >= MOST_OF_TIME
        return [] if top.limited else filer_limit(run.series.filer, waits=waits)
    ends = {point.at: _storage_bound(point) for point in (points[0], top)}
    if all(ends.values()):
        return [THE_STORAGE]
    return [f"{THE_STORAGE} at {at}" for at, bound in ends.items() if bound]


def _storage_bound(point: Point) -> bool:
    share = point.figures.get(SHARE)
    if point.limited or share is None:
        return False
    return (share.median if share.low is None else share.low) >= MOST_OF_TIME


def write_remarks(result: Result) -> list[str]:
    """Report for a bound on a write's latency that it is not the time to durable, and what that time was at the knee of
    each setting."""
    out = []
    for knee in result.knees_found:
        group = result.points[knee.peak].at.without(result.axis)
        first = next(point for point in result.points if point.at.without(result.axis) == group)
        at = first if knee.knee is None else result.points[knee.knee]
        setting = parse_setting(at.at.setting or "")
        varied = "fsync" in setting.model_fields_set
        remark = bounds_copies(knee, str(setting.fsync if varied else result.conditions["configuration"].get("fsync")))
        if remark is not None:
            durable = at.figures.get(DURABLE)
            out.append(
                remark if durable is None else f"{remark}, {words.figure(durable.median)} s for each GB at {at.at}"
            )
    return out


def cached(points: Sequence[Point], caches: int) -> bool:
    """Return whether some point discovered less than three times the bytes that caches hold, each byte counted once."""
    return is_cached(min(_unique(run.result) for point in points for run in point.repeats), caches)


def _unique(result: Mapping[str, Any]) -> float:
    return unique_bytes(
        float(result["discovered_bytes"]),
        kind=result.get("kind"),
        jobs=int(result.get("databases", 1)),
        source_copies=int(result.get("source_copies", 1)),
    )


def warnings_of(points: Sequence[Point], *, missed: int = 0) -> list[str]:
    """Return what makes the figures of discoveries incomplete."""
    out = []
    if missed:
        out.append(f"{missed} queries to a database were not answered: the series have gaps")
    if not all(run.result["calls_complete"] for point in points for run in point.repeats):
        out.append("some call records are missing: the calls are a lower bound")
    paired = [(run, null) for point in points for run in point.repeats if (null := run.null) is not None]
    other = sum(
        (null.items, null.discovered_bytes) != (run.result["items"], run.result["discovered_bytes"])
        for run, null in paired
    )
    if other:
        out.append(f"{other} null baselines did not find the items and discovered bytes of their run")
    # Where what each portion begins and ends with counts: slots without work, and the barriers of its phases.
    short = [
        null.portions
        for run, null in paired
        if null.portions > 1 and run.null_elapsed_s is not None and run.null_elapsed_s < SHORT_PORTION_S * null.portions
    ]
    if short:
        out.append(
            f"null storage took up to {max(short)} portions of under {SHORT_PORTION_S:g} s each: their ends make "
            "the storage share too low; allow more memory (--null-memory)"
        )
    for databases in sorted({point.at.databases for point in points}):
        outcomes = {
            (run.result["items"], run.result["discovered_bytes"])
            for point in points
            if point.at.databases == databases
            for run in point.repeats
        }
        if len(outcomes) > 1:
            out.append(
                f"runs did not find the same items and discovered bytes ({databases} databases): {sorted(outcomes)}"
            )
    return out

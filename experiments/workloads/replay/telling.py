"""What is said of replays beside their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.labels.rules import is_cached
from controller.replay.found import dropped_by
from controller.replay.order import parse_speed
from controller.timeline.thresholds import MOST_OF_TIME
from core.records import FsyncPolicy
from experiments.drops import NOT_DROPPED, Drop, cache_state
from experiments.filer_limit import THE_STORAGE, limit_told
from experiments.report import words
from experiments.result.codec import decode
from experiments.result.durability import bounds_copies
from experiments.telling import Telling
from experiments.workloads.replay.fidelity import fidelity
from experiments.workloads.replay.observed import Observed
from experiments.workloads.replay.result import (
    LEVELS,
    Fidelity,
    RecordedFigures,
    ReplayPoint,
    ReplayResult,
    by_storage,
    in_calls,
)

_NOTHING_DROPPED = "nothing was dropped: the misses of an emulated filer are computed"


class ReplayTelling(Telling):
    """`surroundings` as `Replays.surroundings` has them."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        super().__init__(surroundings)
        self._recorded = decode(RecordedFigures, surroundings["recorded"], "recorded")
        self._speed = surroundings["configuration"]["speed"]
        self._drops: list[Drop] = []
        self._touched = self._adapted = self._opened = 0

    def see(self, raw: Observed) -> None:
        """What its files and its program came to, and what its clients dropped."""
        self._drops += map(drop_of, dropped_by(raw.clients))
        self._touched = max(self._touched, raw.touched)
        self._adapted = max(self._adapted, raw.adapted)
        self._opened = max(self._opened, raw.opened)

    def pace(self) -> str:
        """How fast."""
        return {"recorded": "at recorded speed", "max": "as fast as it goes"}.get(
            self._speed, "at levels of load" if self._speed == LEVELS else f"at {self._speed} of recorded speed"
        )

    def emulated(self, point: ReplayPoint) -> str | None:
        """The name of its storage, where that is a filer's label."""
        return point.storage if point.run.emulated else None

    def cached(self, points: Sequence[ReplayPoint]) -> bool:
        """Whether the files are less than three times what this host's memory and the filer hold."""
        return is_cached(self._touched, self.surroundings["cache"]["client_memory_bytes"] + self.filer_cache.bytes)

    def undeclared(self) -> bool:
        """Whether there may be a filer whose cache nobody told of."""
        return self.filer_cache.undeclared

    def beside(self, points: Sequence[ReplayPoint]) -> Mapping[str, Any]:
        """The trace, and whether it came out as recorded."""
        return {"recorded": self._recorded, "fidelity": self._judged(points)}

    def _judged(self, points: Sequence[ReplayPoint]) -> Fidelity | None:
        """Of the filer of the recording if it is among those replayed on, else of the first."""
        same = [point for point in points if point.clients == self._recorded.streams]
        if not same or self._speed == LEVELS or parse_speed(self._speed) != 1.0:
            return None
        recorded_on = self._recorded.origin.get("filer")
        digest = recorded_on.get("digest", "") if isinstance(recorded_on, dict) else ""
        for point in same:
            if digest == self.surroundings["digests"][point.storage]:
                return fidelity(self._recorded, point)
        return fidelity(self._recorded, same[0], same_filer=False)

    def remarks(self, result: ReplayResult) -> Sequence[str]:
        """Whether it came out as recorded, what of an emulated filer was the limit, what a bound on writes is worth."""
        options = self._recorded.origin.get("options")
        fsync = options.get("fsync") if isinstance(options, dict) else None
        said = bounds_copies(result.knee, str(fsync or FsyncPolicy.NONE.value))
        told = [*as_recorded(result), *limits_told(result.points, waits=self._speed == "max")]
        return told if said is None else [*told, said]

    def warnings(self, points: Sequence[ReplayPoint]) -> Sequence[str]:
        """Of the trace, and of calls that ended otherwise."""
        return warnings_of(self._recorded, points, adapted=self._adapted, opened=self._opened)

    def conditions(self, points: Sequence[ReplayPoint]) -> dict[str, Any]:
        """What the result was found under; another storage is the point of it, another trace is not comparable."""
        beside, run = self.surroundings, points[-1].run
        edbench = {"edbench": run.job["versions"]["edbench"]}
        kept = ("trace", "seed", "storage", "targets", "emulated_filer", "null_storage", "hosts")
        return {
            "configuration": edbench | beside["configuration"],
            **{key: beside[key] for key in kept},
            "cache": {
                "state": cache_state(self._drops, asked=True) if self._drops else _NOTHING_DROPPED,
                **beside["cache"],
                "drops": [drop.to_json() for drop in self._drops],
                "not_dropped": NOT_DROPPED if self._drops else "nothing was dropped",
            },
            "workers": run.job["workers"],
            "versions": run.job["versions"],
        }


def drop_of(found: Mapping[str, Any]) -> Drop:
    """What one client dropped between writing its files and playing."""
    return Drop(when="before the calls", **found)


def as_recorded(result: ReplayResult) -> list[str]:
    """Whether a replay gave what was recorded, for the first line; nothing where that is not judged."""
    found = result.fidelity
    if found is None or found.passed is None:
        return []
    kept = "as recorded" if found.passed else "NOT as recorded"
    of = f" on {found.storage}" if len(by_storage(result.points)) > 1 else ""
    judged = (f"{row.what} {row.difference * 100:+z.1f} %" for row in found.rows if row.bound is not None)
    return [f"{kept}{of} ({', '.join(judged)})".replace("-", "\u2212")]


def limits_told(points: Sequence[ReplayPoint], *, waits: bool) -> list[str]:
    """Of the highest load on one storage, where the generator was not the limit: an emulated filer's station, or the storage
    where clients were in its calls most of the time. `waits`: clients have no think time."""
    top = points[-1]
    if top.limited or len(by_storage(points)) > 1:
        return []
    served = (in_calls(top.run) or 0.0) >= MOST_OF_TIME  # and did not wait for a processor
    if (filer := top.run.job.get("filer")) is None:
        return [THE_STORAGE] if waits and served else []
    return limit_told(filer.get("series", ()), waits=waits and served)


def warnings_of(trace: RecordedFigures, points: Sequence[ReplayPoint], *, adapted: int, opened: int = 0) -> list[str]:
    """What a reader must know before using the figures."""
    out = []
    if trace.lost:
        out.append(f"the trace lacks {trace.lost:,} calls that could not be kept when it was recorded")
    if adapted:
        out.append(
            f"{words.many(adapted, 'call')} of the trace ended otherwise than the rest of it explains (another program"
            " worked on the same files); they are replayed by the rest"
        )
    if opened:
        out.append(
            f"{words.many(opened, 'file')} that a call of the trace needs open, no call of the trace opened: the replay"
            " opens them, unmeasured"
        )
    for point in points:
        on = f"{point.storage}, " if len(by_storage(points)) > 1 else ""
        worst = max(point.repeats, key=lambda run: sum(run.differences.values())).differences
        if worst:
            told = "; ".join(f"{what} {calls:,} times" for what, calls in list(worst.items())[:5])
            more = f" and {len(worst) - 5} more kinds" if len(worst) > 5 else ""
            out.append(
                f"{on}{words.many(point.clients, 'client')}: {sum(worst.values()):,} calls did not end as"
                f" recorded: {told}{more}"
            )
    return out

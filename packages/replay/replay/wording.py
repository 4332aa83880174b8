"""Remarks that are shown with the figures of replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.labels.rules import LIMITED, MOST_OF_TIME, is_cached
from core.records import FsyncPolicy
from experiments.conditions import NOT_DROPPED, THE_STORAGE, Drop, cache_state, filer_limit
from experiments.report import words
from experiments.result.codec import decode
from experiments.result.verdict import bounds_copies
from experiments.workload import Wording
from replay import runs
from replay.orders import JOB, MOST, SCHEDULE
from replay.runs import backlog_text, scaling_text

_NOTHING_DROPPED = "nothing was dropped: the misses of an emulated filer are computed"


class ReplayWording(Wording):
    """Remarks of a replay experiment; `surroundings` are those of `Replays.surroundings`."""

    def __init__(self, surroundings: dict[str, Any]) -> None:
        super().__init__(surroundings)
        self._recorded = decode(runs.RecordedFigures, surroundings["recorded"], "recorded")
        self._pace = surroundings["configuration"]["pace"]
        self._drops: list[Drop] = []
        self._hosts: list[dict[str, Any]] = []
        self._touched = self._adapted = self._opened = 0

    def see(self, raw: runs.Observed) -> None:
        """Collect files, calls that ended otherwise and cache drops of a run."""
        dropped = (client.result.get("dropped") for client in raw.clients)
        self._drops += [Drop(when="before the calls", **one) for one in dropped if one]
        if raw.hosts:
            self._hosts.append({"run": raw.order, "hosts": list(raw.hosts)})
        self._touched = max(self._touched, raw.touched)
        self._adapted = max(self._adapted, raw.adapted)
        self._opened = max(self._opened, raw.opened)

    def pace(self) -> str:
        """Return the pace of the replay, as text."""
        return {
            JOB: "in a closed loop with recorded think times",
            SCHEDULE: "at recorded speed",
            MOST: "as fast as it goes",
            runs.LEVELS: "at levels of load",
        }.get(self._pace, f"at {self._pace} of recorded speed")

    def emulated(self, point: runs.ReplayPoint) -> str | None:
        """Return the label of the point's emulated filer; None without one."""
        return point.at.storage if point.run.emulated else None

    def cached(self, points: Sequence[runs.ReplayPoint]) -> bool:
        """Return whether the files are less than three times what this host's memory and the filer hold."""
        return is_cached(self._touched, self.surroundings["cache"]["client_memory_bytes"] + self.filer_cache.bytes)

    def more_fields(self, points: Sequence[runs.ReplayPoint]) -> Mapping[str, Any]:
        """The trace, whether it came out as recorded, and what more clients are."""
        return {"recorded": self._recorded, "fidelity": self._judged(points), "scaling": self._scaling(points)}

    def _scaling(self, points: Sequence[runs.ReplayPoint]) -> runs.Scaling | None:
        known = all(run.data_sets is not None for point in points for run in point.repeats)
        return runs.scaling_of(self._recorded.streams, (point.at.clients for point in points)) if known else None

    def _judged(self, points: Sequence[runs.ReplayPoint]) -> runs.Fidelity | None:
        """Judge the point on the storage of the recording if there is one, else the first."""
        same = [point for point in points if point.at.clients == self._recorded.streams]
        if not same or self._pace not in (JOB, SCHEDULE):
            return None
        closed = self._pace == JOB
        recorded_on = self._recorded.origin.get("filer")
        digest = recorded_on.get("digest", "") if isinstance(recorded_on, dict) else ""
        for point in same:
            if digest == self.surroundings["digests"][point.at.storage]:
                # Whether two real storages are the same one, a trace does not say: then the time of a closed loop is not judged.
                return runs.fidelity(self._recorded, point, same_filer=bool(digest) or not closed, closed=closed)
        return runs.fidelity(self._recorded, same[0], same_filer=False, closed=closed)

    def remarks(self, result: runs.ReplayResult) -> Sequence[str]:
        """Return the remarks: whether the replay is as recorded, which part of an emulated filer was the limit, the
        meaning of a bound on writes."""
        options = self._recorded.origin.get("options")
        fsync = options.get("fsync") if isinstance(options, dict) else None
        bound = bounds_copies(result.knee, str(fsync or FsyncPolicy.NONE.value))
        remarks = [*as_recorded(result), *filer_limits(result.points, waits=self._pace == MOST)]
        if result.scaling is not None and {point.at.clients for point in result.points} != {self._recorded.streams}:
            remarks.append(scaling_text(result.scaling, self._recorded.streams))
        return remarks if bound is None else [*remarks, bound]

    def warnings(self, points: Sequence[runs.ReplayPoint]) -> Sequence[str]:
        """Return the warnings about the trace and about calls that ended otherwise."""
        doubts = closed_doubts(self._recorded) if self._pace == JOB else []
        return doubts + warnings_of(self._recorded, points, adapted=self._adapted, opened=self._opened)

    def conditions(self, points: Sequence[runs.ReplayPoint]) -> dict[str, Any]:
        """Return the conditions of the result. Another storage is what a comparison is about; another trace is not
        comparable."""
        around, run = self.surroundings, points[-1].run
        edbench = {"edbench": run.job["versions"]["edbench"]}
        kept = ("trace", "seed", "storage", "targets", "emulated_filer", "null_storage", "hosts")
        return {
            "configuration": edbench | around["configuration"],
            **{key: around[key] for key in kept},
            **({} if (scaling := self._scaling(points)) is None else {"scaling": scaling.value}),
            "cache": {
                "state": cache_state(self._drops, asked=True) if self._drops else _NOTHING_DROPPED,
                **around["cache"],
                "drops": [drop.to_json() for drop in self._drops],
                "not_dropped": NOT_DROPPED if self._drops else "nothing was dropped",
            },
            **({"hosts_by_run": self._hosts} if self._hosts else {}),
            "workers": run.job["workers"],
            "versions": run.job["versions"],
        }


def as_recorded(result: runs.ReplayResult) -> list[str]:
    """Return whether a replay is as recorded, for the first line; nothing if that is not judged."""
    verdict = result.fidelity
    if verdict is None:
        return []
    if verdict.passed is None:
        elapsed = verdict.rows[0]
        took, recorded = (words.seconds(us / 1e6) for us in (elapsed.replayed, elapsed.recorded))
        text = f"{took} on {verdict.storage} against {recorded} recorded ({_signed(elapsed)} %)"
        return [text] if elapsed.what == runs.ELAPSED else []  # of a closed loop elsewhere
    kept = "as recorded" if verdict.passed else "NOT as recorded"
    of = f" on {verdict.storage}" if len(runs.by_storage(result.points)) > 1 else ""
    judged = (f"{row.what} {_signed(row)} %" for row in verdict.rows if row.bound is not None)
    return [f"{kept}{of} ({', '.join(judged)})"]


def _signed(row: runs.Compared) -> str:
    """Format the difference in percent, with a true minus."""
    return f"{row.difference * 100:+z.1f}".replace("-", "\u2212")


def closed_doubts(trace: runs.RecordedFigures) -> list[str]:
    """Return the reasons to doubt the think times of a trace."""
    out = []
    labels = trace.origin.get("labels")
    if isinstance(labels, list) and any(str(label).startswith(LIMITED) for label in labels):
        out.append(
            f"the trace is of a job that was {LIMITED}: its think times include waiting for cores, which is "
            "shorter on slower storage; the elapsed time is then too long"
        )
    if trace.tasks_known is False:
        out.append(
            "the trace does not record when its streams had no task: only dependencies show which streams waited for each other"
        )
    return out


def filer_limits(points: Sequence[runs.ReplayPoint], *, waits: bool) -> list[str]:
    """Return the limit at the highest load on one storage, if it was not the generator: an emulated filer's station, or
    the storage if clients spent most of the time in its calls. `waits`: clients have no think time."""
    top = points[-1]
    if top.limited or len(runs.by_storage(points)) > 1:
        return []
    served = (runs.in_calls(top.run) or 0.0) >= MOST_OF_TIME  # and did not wait for a CPU
    if (filer := top.run.job.get("filer")) is None:
        return [THE_STORAGE] if waits and served else []
    return filer_limit(filer.get("series", ()), waits=waits and served)


def warnings_of(
    trace: runs.RecordedFigures, points: Sequence[runs.ReplayPoint], *, adapted: int, opened: int = 0
) -> list[str]:
    """Return the warnings that a reader of the figures needs."""
    out = []
    if trace.lost:
        out.append(f"the trace lacks {trace.lost:,} calls that could not be stored while it was recorded")
    if adapted:
        out.append(
            f"{words.many(adapted, 'call')} of the trace ended in a way that its other calls do not explain "
            "(another program used the same files); the replay follows the other calls"
        )
    if opened:
        out.append(
            f"{words.many(opened, 'file')} are used by calls of the trace but not opened by any: the replay opens "
            "them, unmeasured"
        )
    for point in points:
        on = f"{point.at.storage}, " if len(runs.by_storage(points)) > 1 else ""
        late = [run.backlog[0] for run in point.repeats if run.backlog]
        if late:
            most = max(late, key=lambda one: one.seconds)
            out.append(f"{on}{words.many(point.at.clients, 'client')}: {backlog_text(most)}")
        worst = max(point.repeats, key=lambda run: sum(run.differences.values())).differences
        if worst:
            counts = "; ".join(f"{what} {calls:,} times" for what, calls in list(worst.items())[:5])
            more = f" and {len(worst) - 5} more kinds" if len(worst) > 5 else ""
            out.append(
                f"{on}{words.many(point.at.clients, 'client')}: {sum(worst.values()):,} calls did not end as"
                f" recorded: {counts}{more}"
            )
    return out

"""The held-out figures of report R1, computed from a parameter set's timelines."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from experiments.capacity import r1_facts as facts
from experiments.capacity.r1_facts import CHECKS, ROWS, Check
from experiments.capacity.r1_fluid import Timeline, run
from experiments.capacity.r1_sets import Numbers, Sets, demands

PLATEAU = 0.9 * facts.ANCHOR_OPS  # operations a second from which it counts as the plateau
_SNAPSHOT_OPS = 26_000.0


def figures(sets: Sets) -> dict[str, Numbers]:
    """Each check's figure, of every set, in the check's unit."""
    ten, thirty, two = (run(sets, row.workers, row.databases) for row in ROWS)
    asked = demands(sets)
    return {
        "peak_10": _peak(ten) / 1000,
        "peak_30": _peak(thirty) / 1000,
        "plateau_1": _plateau(thirty) / 60,
        "plateau_2": _plateau(two) / 60,
        "middle": _at(thirty, "ops", 0.5) / 1000,
        "late": _at(thirty, "ops", 0.9) / 1000,
        "fsa_peak": _at(thirty, "fsa", 0.0) * 100,
        "fsa_26k": asked.fsa[:, 1] / asked.ops[:, 1] * _SNAPSHOT_OPS * 100,
        "fsb_26k": asked.fsb[:, 1] / asked.ops[:, 1] * _SNAPSHOT_OPS * 100,
        "fsb_end": (_last(thirty, "fsb") - _last(thirty, "fsa")) * 100,
        "sql_later": (_sql_peak(ten) - _sql_peak(thirty)) / 60,
        "sql_falls": _sql_in(thirty, 2) / np.maximum(_sql_most(thirty), 1e-9) * 100,
    }


def passes(found: Mapping[str, Numbers]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """Whether each figure is within its check's bounds."""
    return {c.name: np.asarray((found[c.name] >= c.low) & (found[c.name] <= c.high)) for c in CHECKS}


def distance(found: Mapping[str, Numbers], checks: Collection[Check] = CHECKS) -> Numbers:
    """How far outside these checks' bounds a set is, all together: 0 where it passes every one of them."""
    squares = []
    for check in checks:
        value, scale = found[check.name], max(abs(check.low), 5.0) if check.one_sided else (check.high - check.low) / 2
        outside = np.maximum(0.0, np.maximum(check.low - value, value - check.high)) / scale
        squares.append(np.minimum(outside, 20.0) ** 2)
    return np.asarray(np.sqrt(np.mean(squares, axis=0)))


def _stack(timeline: Timeline, name: str) -> Numbers:
    """Stretches x sets (x jobs)."""
    return np.stack([getattr(stretch, name) for stretch in timeline.stretches])


def _peak(timeline: Timeline) -> Numbers:
    ops = np.where(_stack(timeline, "seconds") > 60, _stack(timeline, "ops"), 0.0)
    return np.asarray(ops.max(axis=0))


def _plateau(timeline: Timeline) -> Numbers:
    """Seconds from the start for which it holds."""
    held = np.cumprod(_stack(timeline, "ops") >= PLATEAU, axis=0)
    return np.asarray((held * _stack(timeline, "seconds")).sum(axis=0))


def _at(timeline: Timeline, name: str, part: float) -> Numbers:
    """The value in the stretch that holds that part of the elapsed time."""
    ends = np.cumsum(_stack(timeline, "seconds"), axis=0)
    stretch = (ends <= part * ends[-1]).sum(axis=0)
    return np.asarray(_stack(timeline, name)[np.minimum(stretch, len(ends) - 1), np.arange(ends.shape[1])])


def _last(timeline: Timeline, name: str) -> Numbers:
    """At the end of the run."""
    return _at(timeline, name, 0.999)


def _sql_most(timeline: Timeline) -> Numbers:
    return np.asarray(_stack(timeline, "database").sum(axis=2).max(axis=0))


def _sql_in(timeline: Timeline, phase: int) -> Numbers:
    """Database activity of the only job in that phase."""
    inside = _stack(timeline, "phase")[..., 0] == phase
    return np.asarray((_stack(timeline, "database")[..., 0] * inside).max(axis=0))


def _sql_peak(timeline: Timeline) -> Numbers:
    """When the stretch with the most database activity begins."""
    seconds = _stack(timeline, "seconds")
    begins = np.cumsum(seconds, axis=0) - seconds
    most = _stack(timeline, "database").sum(axis=2).argmax(axis=0)
    return np.asarray(begins[most, np.arange(begins.shape[1])])

"""Fitting the R1 model's scales to elapsed times, for many drawn shapes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.capacity import r1_facts as facts
from experiments.capacity.r1_facts import Row
from experiments.capacity.r1_fluid import run
from experiments.capacity.r1_sets import Numbers, Sets, draw

WITHIN = 0.02
START = (60.0, 2.0, 50.0)  # million operations, hours, hours: where the search begins
_BOUNDS = ((5.0, 0.05, 0.5), (600.0, 10.0, 400.0))  # the search stays between these
_STEPS = 11
_NUDGE = 0.02
_MOST_STEP = 0.6
_OPS_AN_ITEM = (20.0, 400.0)  # in discovery, where only two rows are fitted: then this one is drawn as well


@dataclass(frozen=True, slots=True)
class Fit:
    """Sets whose every fitted row is within `WITHIN` of the published, out of so many drawn."""

    sets: Sets
    drawn: int


def errors(sets: Sets, rows: Sequence[Row]) -> Numbers:
    """Predicted over published, less 1: sets x rows."""
    return np.column_stack([run(sets, r.workers, r.databases).elapsed_s / r.elapsed_s - 1 for r in rows])


def fit_rows(number: int, seed: int) -> Fit:
    """All three rows by all three scales. Each set aims at times drawn within 2 % of the published ones, so that what is
    kept fills the region of sets that fit within 2 %, not only its middle."""
    shapes = draw(number, seed)
    return _fit(shapes, np.tile(START, (number, 1)), facts.ROWS, (0, 1, 2), seed)


def fit_two(number: int, seed: int) -> Fit:
    """The first two rows only, by the database's and the processors' hours; operations are drawn from a box."""
    shapes = draw(number, seed)
    scale = np.tile(START, (number, 1))
    low, high = np.log(_OPS_AN_ITEM)
    scale[:, 0] = np.exp(np.random.default_rng(seed + 1).uniform(low, high, number)) * facts.ITEMS / 1e6
    return _fit(shapes, scale, facts.ROWS[:2], (1, 2), seed)


def _fit(shapes: Numbers, scale: Numbers, rows: Sequence[Row], free: Sequence[int], seed: int) -> Fit:
    wanted = np.random.default_rng(seed + 2).uniform(-0.95 * WITHIN, 0.95 * WITHIN, (len(shapes), len(rows)))
    sets = solve(Sets(shapes, scale), rows, free, wanted)
    good = np.abs(errors(sets, rows)).max(axis=1) <= WITHIN
    return Fit(sets.only(good), len(shapes))


def solve(sets: Sets, rows: Sequence[Row], free: Sequence[int], wanted: Numbers, steps: int = _STEPS) -> Sets:
    """Move the free scales until each row's error is the wanted one: damped Newton steps in logarithms."""
    columns = list(free)
    low, high = (np.log(np.array(bound)) for bound in _BOUNDS)
    logs = np.log(sets.scale)
    for _ in range(steps):
        now = np.log1p(errors(Sets(sets.shape, np.exp(logs)), rows)) - np.log1p(wanted)
        slopes = np.empty((len(sets), len(rows), len(columns)))
        for n, column in enumerate(columns):
            moved = logs.copy()
            moved[:, column] += _NUDGE
            there = np.log1p(errors(Sets(sets.shape, np.exp(moved)), rows)) - np.log1p(wanted)
            slopes[..., n] = (there - now) / _NUDGE
        logs[:, columns] = np.clip(logs[:, columns] - _step(slopes, now), low[columns], high[columns])
    return Sets(sets.shape, np.exp(logs))


def _step(slopes: Numbers, now: Numbers) -> npt.NDArray[np.float64]:
    """Least squares with a little damping, because a scale may not matter to any row; at most so far at once."""
    across = slopes.transpose(0, 2, 1)
    squares = across @ slopes + 1e-5 * np.eye(slopes.shape[2])
    step = np.linalg.solve(squares, (across @ now[..., None]))[..., 0]
    return np.clip(step, -_MOST_STEP, _MOST_STEP)

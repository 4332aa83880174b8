"""Looking for parameter sets that agree with the timeline too: generations of ever closer children of the best.

What is found here was chosen by the checks. It shows that the structure can hold them together, or not, and what they would
imply; it is no held-out success.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.capacity.r1_checks import distance, figures, passes
from experiments.capacity.r1_facts import Check, Row
from experiments.capacity.r1_fit import WITHIN, errors, solve
from experiments.capacity.r1_sets import BOXES, NAMES, Numbers, Sets, parts, within

_SPREAD = (
    0.2,
    0.15,
    0.1,
    0.1,
    0.07,
)  # of children about their parent, in parts of a box, by generation; the last one again
_PARENTS = 40
_STEPS = 5  # of the fit: a child begins at its parent's scales


@dataclass(frozen=True, slots=True)
class Aim:
    """What sets are to agree with. Scales that are not free wander with the shape; `idle` parameters matter to none
    of it, so they are drawn afresh every time and keep covering their boxes."""

    rows: Sequence[Row]
    free: Sequence[int]
    checks: Collection[Check]
    idle: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to look: sets drawn for each fit, children of each generation, generations."""

    draws: int = 1000
    children: int = 300
    generations: int = 12


def search(start: Sets, aim: Aim, effort: Effort, seed: int) -> Sets:
    """The sets found, best first, that fit the rows within 2 %; those of the start are among them where good."""
    source = np.random.default_rng(seed)
    pool = _ranked(start, aim)
    for generation in range(effort.generations):
        spread = _SPREAD[min(generation, len(_SPREAD) - 1)]
        pool = _ranked(_join(pool, _children(pool, aim, effort.children, spread, source)), aim)
    return pool


def passing(sets: Sets, checks: Collection[Check]) -> Numbers:
    """How many of these checks each set passes."""
    ok = passes(figures(sets))
    return np.asarray(np.sum([ok[check.name] for check in checks], axis=0))


def _children(pool: Sets, aim: Aim, number: int, spread: float, source: np.random.Generator) -> Sets:
    parents = pool.only(np.arange(min(_PARENTS, len(pool))))
    chosen = parents.only(source.integers(0, len(parents), number))
    moved = parts(chosen.shape) + source.normal(0.0, spread, chosen.shape.shape)
    moved = 1 - np.abs(1 - np.abs(moved))  # reflected at both edges of the box
    for name in aim.idle:
        moved[:, NAMES.index(name)] = source.random(number)
    moved = np.clip(moved, 0.0, 1.0)
    shape = np.column_stack([within(box, moved[:, n]) for n, box in enumerate(BOXES)])
    wander = source.normal(0.0, 2 * spread, chosen.scale.shape)
    wander[:, list(aim.free)] = 0.0
    wanted = source.uniform(-0.95 * WITHIN, 0.95 * WITHIN, (number, len(aim.rows)))
    return solve(Sets(shape, chosen.scale * np.exp(wander)), aim.rows, aim.free, wanted, steps=_STEPS)


def _ranked(sets: Sets, aim: Aim) -> Sets:
    """Those that fit the rows, by distance; the order of equals stays, so the parents are the first that were found."""
    fitting = sets.only(np.abs(errors(sets, aim.rows)).max(axis=1) <= WITHIN)
    return fitting.only(np.argsort(distance(figures(fitting), aim.checks), kind="stable"))


def _join(one: Sets, other: Sets) -> Sets:
    return Sets(np.vstack([one.shape, other.shape]), np.vstack([one.scale, other.scale]))

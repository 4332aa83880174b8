"""Restores a kind from the plan in a package, to go through its points again."""

from __future__ import annotations

from core.errors import UsageError
from experiments.kinds import cases
from experiments.kinds.grid import Grid
from experiments.kinds.halving import Halving
from experiments.kinds.kind import Kind, Plan
from experiments.kinds.knee import KneeSearch
from experiments.kinds.load import LoadLevels
from experiments.kinds.stages import Stages
from experiments.result.codec import decode
from experiments.result.schema import At
from experiments.workload import About

_MOST_LOAD = 1_000_000
_MOST = 10_000  # repeats, or points: a plan from elsewhere is not gone through for ever


def kind_of(plan: Plan, about: About) -> Kind:
    """The kind whose plan it is; raises UsageError for a plan that none has."""
    if not 1 <= plan.repeats <= _MOST or len(plan.points) > _MOST:
        raise UsageError(
            f"the plan has {len(plan.points):,} points and {plan.repeats:,} repeats; at most {_MOST:,} are allowed"
        )
    points = [decode(about.load_type, at, "plan.points") for at in plan.points]
    if plan.kind == KneeSearch.name:
        if plan.most is None or plan.bounds_us is None or len(points) != 1:
            raise UsageError("the plan of a knee has a start, bounds and a highest load")
        return KneeSearch(points[0], plan.axis, plan.bounds_us, most=plan.most, repeats=plan.repeats, rate=about.rate)
    if plan.kind == LoadLevels.name:
        if plan.levels is None or plan.seed is None or len(points) != 1:
            raise UsageError("the plan of a load has a start, levels and a seed")
        load = LoadLevels(points[0], plan.levels, repeats=plan.repeats, seed=plan.seed, rate=about.rate, peak=plan.peak)
        load.points()  # refuses what no command makes
        return load
    if plan.kind == Stages.name:
        if not plan.stages or len(points) != 1 or len(plan.stages) > _MOST:
            raise UsageError("the plan of stages has a start and stages")
        stages = Stages(plan.axis, plan.stages, points[0])
        stages.points()  # refuses what no command makes
        return stages
    if plan.kind == cases.NAME:
        return _cases(plan, about, points)
    if plan.kind == Halving.name and plan.seed is not None:
        halving = Halving(points, repeats=plan.repeats, seed=plan.seed, rate=about.rate)
        halving.points()  # refuses what no command makes
        return halving
    if plan.seed is None or not points:
        raise UsageError(f"the plan of a {plan.kind} has points and a seed")
    return Grid(plan.kind, plan.axis, points, repeats=plan.repeats, seed=plan.seed)


def _cases(plan: Plan, about: About, points: list[At]) -> Kind:
    if plan.seed is None or not (points or plan.search):
        raise UsageError("the plan of a profile has points, or a search, and a seed")
    if plan.search is None:
        return cases.Cases(plan.axis, points, repeats=plan.repeats, seed=plan.seed)
    figure = next((one for one in about.figures if one.name == plan.search.figure), None)
    if figure is None or plan.search.axis not in plan.search.base or not 1 <= plan.search.most <= _MOST_LOAD:
        raise UsageError("the plan of a search has a figure of its workload, an axis of its load and a highest load")
    base = decode(about.load_type, plan.search.base, "plan.search.base")
    return cases.Cases(plan.axis, points, repeats=plan.repeats, seed=plan.seed, search=plan.search, base=base,
                       figure=figure)  # fmt: skip

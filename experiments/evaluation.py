"""A result out of what was observed: the one function that makes every figure, label and verdict of `result.json`.

`experiments.study` calls it when everything is measured, `edbench result check` calls it again.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from core.bounds import Outcome, parse_bounds, percentile_of, percentiles
from core.errors import UsageError
from experiments.kinds.kind import Findings
from experiments.kinds.plan import kind_of
from experiments.package.records import Records, Study
from experiments.result.levels import levels_of, missed
from experiments.result.schema import At, Levels, Point, Result, Run, Tuning
from experiments.result.significance import ratio_of
from experiments.result.statistics import METHOD
from experiments.result.steady import RULE
from experiments.result.verdict import labels_of, points_of, sentence, warnings_of
from experiments.telling import Telling
from experiments.workload import About
from experiments.workloads import about as about_of


def evaluated(study: Study, records: Records) -> Result:
    """Goes through the plan again with what was observed in place of measuring: a run that is missing, surplus or at
    another place is found. Raises UsageError."""
    about = about_of(study.workload)
    kind = kind_of(study.plan, about)
    telling = about.telling(study.surroundings)
    observed = _Observed(about, records, telling)
    findings = kind.run(observed)
    if observed.done != records.count():
        raise UsageError(f"there are {records.count()} runs, but the plan has {observed.done}")
    return _result(about, study, kind.order, findings, telling)


class _Observed:
    """A `Measure` that reads."""

    def __init__(self, about: About, records: Records, telling: Telling) -> None:
        self._about, self._records, self._telling = about, records, telling
        self.done = 0

    def __call__(self, at: At, repeat: int) -> Run:
        observed = self._records.read(self.done, at, repeat)
        self._telling.see(observed)
        run: Run = self._about.run_of(observed)
        if (run.order, run.repeat) != (self.done, repeat):
            raise UsageError(f"run {self.done + 1} is numbered as run {run.order + 1}")
        self.done += 1
        return run


def _result(about: About, study: Study, order: str, findings: Findings, telling: Telling) -> Result:
    kind, axis = study.plan.kind, study.plan.axis
    least = study.min_seconds
    points = points_of(about, findings.runs, least)
    emulated = [telling.emulated(point) for point in points]
    cached, undeclared = telling.cached(points), telling.undeclared()
    paired = telling.pairs
    labels = labels_of(points, emulated, cached=cached, undeclared=undeclared, least_s=least, paired=paired)
    levels = _levels(about, study, findings, points)
    tuning = _gained(about, findings, points)
    said = sentence(about, kind, axis, points, where=telling.where(), pace=telling.pace(), knee=findings.knee,
                    levels=levels, tuning=tuning)  # fmt: skip
    if told := telling.sentence(points):
        said = f"{about.titled(kind)} on {telling.where()}: {told}"
    fields: dict[str, Any] = {
        "workload": about.name,
        "kind": kind,
        "axis": axis,
        "run_id": study.run_id,
        "created": study.created,
        "verdict": "",
        "labels": labels,
        "warnings": (
            *warnings_of(points, no_pair=telling.no_pair, least_s=least),
            *missed(levels),
            *telling.warnings(points),
        ),
        "conditions": telling.conditions(points)
        | {"order": order, "statistics": METHOD, "steady_state": {"min_seconds": least, "rule": RULE}},
        "points": points,
        "knee": findings.knee,
        "levels": levels,
        "tuning": tuning,
        "bounds": _outcomes(about, study.fail_if, points),
    }
    result = about.result(**fields, **telling.beside(points))
    return dataclasses.replace(result, verdict="; ".join([*labels, said, *telling.remarks(result)]))


def _gained(about: About, findings: Findings, points: Sequence[Point]) -> Tuning | None:
    """With the gain, of the runs that were made to be compared."""
    tuning, rate = findings.tuning, about.headlines[0]
    if tuning is None:
        return None
    best, default = (rate.values(points[n].repeats[-tuning.compared :]) for n in (tuning.best, tuning.default))
    return dataclasses.replace(tuning, gain=ratio_of(best, default))


def names_of(about: About) -> list[str]:
    """The figures that a bound may be on: those of the workload, and percentiles by op. The headline's come first."""
    figures = sorted(about.figures, key=lambda figure: not figure.headline)
    return [*(figure.name for figure in figures), *percentiles("p50", "p95", "p99", "max")]


def _outcomes(about: About, texts: Sequence[str], points: Sequence[Point]) -> tuple[Outcome, ...]:
    """Bounds are on each point's median over the repeats."""
    return tuple(
        bound.outcome([(str(point.at), value) for point in points if (value := _median(point, bound.name)) is not None])
        for bound in parse_bounds(texts, names_of(about))
    )


def _median(point: Point, name: str) -> float | None:
    percentile = percentile_of(name)
    if percentile is None:
        return point.figures[name].median if name in point.figures else None
    field, op = percentile
    values = [getattr(run.latency[op], field) for run in point.repeats if op in run.latency]
    return statistics.median(values) if values else None


def _levels(about: About, study: Study, findings: Findings, points: Sequence[Point]) -> Levels | None:
    if findings.peak is None:
        return None
    return levels_of(about, points, findings.peak, found=study.plan.peak is None)

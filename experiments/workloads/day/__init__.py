"""The business day: matters of several clients arrive, and each is discovered, reviewed, extracted, imaged and exported."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from controller.jobs.progress import duration
from controller.labels.rules import is_cached
from core.extensions import imported
from core.job_types import JobType
from experiments.kinds import Plan, Search, planned
from experiments.report import words
from experiments.result.codec import decode
from experiments.result.statistics import interval_text
from experiments.workload import About, Figure, Same, Wording, one_decimal
from experiments.workloads.day.result import (
    NAME,
    P95,
    DayLoad,
    DayPoint,
    DayResult,
    Prediction,
    Score,
    fairness,
    mean_response_s,
    p95_s_per_gb,
    scores_of,
)
from experiments.workloads.day.schedule import MOST_MATTERS
from experiments.workloads.discovery import near_null
from experiments.workloads.discovery.result import RATE, SHARE

FIRST = 4  # matters a day at the start of a search
CLOSE = 0.1  # accuracy of a search, as a share of the load carried


class DayWording(Wording):
    """Reports on days, from `surroundings` as `Day.surroundings` returns them."""

    def cached(self, points: Sequence[DayPoint]) -> bool:
        """Return whether caches may have held the data. Matters read the same few sources repeatedly: each counts
        once."""
        once = {job.source: job.bytes for point in points for run in point.repeats for job in run.discoveries}
        return is_cached(sum(once.values()), self.surroundings["cache"]["client_memory_bytes"] + self.filer_cache.bytes)

    def more_fields(self, points: Sequence[DayPoint]) -> Mapping[str, Any]:
        """Return the scores and the predictions."""
        predicted = decode(tuple[Prediction, ...], self.surroundings["predicted"] or [], "surroundings.predicted")
        return {"scores": scores_of(points, self.surroundings["schedule"]["within_s_per_gb"]), "predicted": predicted}

    def sentence(self, points: Sequence[DayPoint]) -> str:
        """Report for each setting the matters carried, the load at which it broke, and the overall response time."""
        if not any(point.at.matters for point in points):
            return "every matter ran alone"
        found = self.more_fields(points)
        predicted = {one.setting: one for one in found["predicted"]}
        clauses = [self._score_text(score, predicted.get(score.setting), points) for score in found["scores"]]
        return "; ".join(clauses)

    def _score_text(self, score: Score, predicted: Prediction | None, points: Sequence[DayPoint]) -> str:
        bound = f"95 % of discoveries within {duration(score.within_s_per_gb)} per GB"
        clauses = [
            f"{score.carried:,} matters/day with {bound}" if score.carried else f"no measured load keeps {bound}"
        ]
        if score.broken is not None:
            point = next(one for one in points if (one.at.setting, one.at.matters) == (score.setting, score.broken))
            clauses.append(f"{score.broken:,} matters/day take {duration(point.figures[P95].median)} a GB")
        if score.overall_response is not None:
            clauses.append(f"overall response time {interval_text(score.overall_response, one_decimal)} s a discovery")
        if predicted is not None:
            clauses.append(f"the simulator predicted {predicted.carried:,} matters/day before the run")
        return ("" if score.setting is None else f"{score.setting}: ") + "; ".join(clauses)


ABOUT = About(
    name=NAME,
    title="day",
    result=DayResult,
    point=DayPoint,
    figures=(
        Figure("in_time", "discoveries in time", lambda run: float(run.in_time), headline=True, write=words.count),
        Figure(P95, "s/GB for 95 %", p95_s_per_gb, headline=True),
        Figure("response_s", "mean response s", mean_response_s),
        Figure(
            RATE,
            "GB/hour discovered",
            lambda run: sum(job.bytes for job in run.discoveries) / 1e9 / run.elapsed_s * 3600,
        ),
        Figure("calls_per_s", "calls/s", lambda run: sum(job.calls_made for job in run.jobs) / run.elapsed_s),
        Figure(name="fairness", title="fairness", of=fairness, write=words.figure),
        Figure(name=SHARE, title="storage share", of=lambda run: run.storage_share, write=words.percent),
        Figure(name="elapsed_s", title="elapsed s", of=lambda run: run.elapsed_s),
    ),
    sections=lambda result: imported("experiments.workloads.day.sections:sections")(result),  # draws
    notes={
        "matters": lambda run: len(run.discoveries),
        "jobs": lambda run: sum(j.type in set(JobType) for j in run.jobs),
    },
    same=(
        Same(name="schedule", path=("schedule",)),
        Same(name="corpus raw_bytes", path=("corpus", "raw_bytes")),
    ),
    near_null=near_null,
    pair_decides=True,
    rule=(
        "The storage share of a day is 1 − response times on null storage ÷ response times, over all jobs: a day "
        "lasts as long as its schedule. Fairness is Jain's index over the clients, of the seconds per GB of their "
        "discoveries."
    ),
    wording=DayWording,
)


def searched(bases: Sequence[DayLoad], loads: Sequence[int], within: float, *, repeats: int, seed: int) -> Plan:
    """Return the plan of an experiment: these loads on each base; without loads, the matters alone and then a search
    for the highest load within the bound."""
    points = [dataclasses.replace(base, matters=load) for base in bases for load in sorted(set(loads)) or (0,)]
    if loads:
        return planned("profile", "matters", points, repeats=repeats, seed=seed)
    first, *others = (base.values() for base in bases)
    search = Search(
        base=first, others=tuple(others), axis="matters", figure=P95, bound=within, most=MOST_MATTERS, least=FIRST, within=CLOSE
    )  # fmt: skip
    return planned("profile", "matters", points, repeats=repeats, seed=seed, search=search)

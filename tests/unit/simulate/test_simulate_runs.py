"""Whole runs: the same bytes twice, data sets that are as large with every seed, and what is drawn or served together."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from simulate.answer import Wish, simulate
from simulate.demands import shipped
from simulate.facts import Fact, Row, reason
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import Case, run_case
from simulate.site import load_site
from simulate.tasks import COLUMNS, JobLoad, Task, jobs_of

_SCALE = 0.02
_CALIBRATION = shipped()


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of("r1", _SCALE, 1, contents_of_plain(_CALIBRATION.contents))


def test_two_simulations_give_the_same_bytes() -> None:
    """Promise: the same arguments give the same document, byte for byte."""
    wish = Wish(site=load_site("r1"), workers=(3,), scale=0.002, gains=False)
    first, second = (json.dumps(simulate(wish, lambda _: None).document.to_json()) for _ in range(2))
    assert first == second


def test_every_seed_has_as_many_bytes_inside(plan: Plan) -> None:
    """Promise: seeds differ in where things are; what files hold comes to the same size within 0.5 %."""
    other = plan_of("r1", _SCALE, 2, contents_of_plain(_CALIBRATION.contents))
    ratio = [one.discovered_bytes / one.raw_bytes for one in (plan, other)]
    assert ratio[0] == pytest.approx(ratio[1], rel=0.005)


def test_chunks_change_report_r1_by_little(plan: Plan) -> None:
    """Promise: with the chunks of the full scale, R1 at scale 0.02 takes as long as with each item served alone, within 3 %."""
    site, case = load_site("r1"), Case(workers=3, databases=1)
    elapsed = [run_case(site, case, plan, _CALIBRATION.demands, seed=1, chunk=chunk)[0].elapsed_s for chunk in (1, 33)]
    assert elapsed[1] == pytest.approx(elapsed[0], rel=0.03)


def test_drawn_tasks_come_to_the_whole_data_set(plan: Plan) -> None:
    """Promise: a data set of 7 times a sample demands 7 times as much, in no more tasks than asked for, and says how many they are."""
    site = load_site("cluster")
    one = jobs_of(plan, _CALIBRATION.demands, site, 0)
    many = jobs_of(dataclasses.replace(plan, copies=7), _CALIBRATION.demands, site, 0, most_tasks=400)
    assert _demand(many) == pytest.approx(7 * _demand(one))
    tasks = [task for job in many for _, some in job.phases for task in some]
    assert len(tasks) < 7 * sum(len(some) for job in one for _, some in job.phases)
    assert sum(task.stands_for for task in tasks) == 7 * sum(len(some) for job in one for _, some in job.phases)


def _demand(jobs: list[JobLoad]) -> np.ndarray:
    def of(task: Task) -> np.ndarray:
        return np.array(task.demand) + sum((of(one) for one in task.follow), np.zeros(COLUMNS))

    return sum((of(task) for job in jobs for _, some in job.phases for task in some), np.zeros(COLUMNS))


def test_a_dispatcher_bounds_the_tasks_a_second(plan: Plan) -> None:
    """Promise: with a dispatcher of 1 task/s a run takes a second a task or longer."""
    site = dataclasses.replace(load_site("cluster"), dispatched_per_s=1.0)
    tasks = sum(len(some) for job in jobs_of(plan, _CALIBRATION.demands, site, 0) for _, some in job.phases)
    slow = run_case(site, Case(workers=16, databases=1), plan, _CALIBRATION.demands, seed=1)[0].elapsed_s
    free = dataclasses.replace(site, dispatched_per_s=0.0)
    assert (
        slow >= tasks > run_case(free, Case(workers=16, databases=1), plan, _CALIBRATION.demands, seed=1)[0].elapsed_s
    )


@pytest.mark.parametrize("name", ["plateau-A", "units-26k", "sql-after-B", "gain-databases", "elapsed-C", "late-B"])
def test_a_miss_is_explained_by_the_series(name: str) -> None:
    """Promise: the reason of a fact that is not held says figures of its row."""
    series = {key: [1.0] * 20 for key in ("filer_ops", "fsa", "fsb", "database_io", "read_ms", "write_ms", "queued")}
    row = Row(elapsed_s=1200.0, discovery_end_s=300.0, gb_before=1.0, gb_after=2.0, series=series)
    fact = Fact(id=name, what="", use="predict", required=False, stated="", value=None, held=False)
    said = reason(fact, {"A": row, "B": row, "C": row})
    assert any(sign.isdigit() for sign in said)
    assert "limited by" not in said

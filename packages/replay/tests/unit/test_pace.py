"""What a result says of pace, scaling and backlog."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import replay_results as made

from core.errors import UsageError
from experiments.report.page import write_report
from experiments.result.codec import read_result, write_result
from experiments.result.compare import compare
from replay.runs import (
    Backlog,
    ReplayResult,
    Scaling,
    backlogs,
    closed_fidelity,
    most_behind,
    refuse_other_scaling,
    scaling_of,
    told,
)
from replay.tally import ClientResult
from replay.telling import as_recorded, closed_doubts, pace_of, warnings_of
from sql.replay import ReplayClient


@pytest.mark.parametrize(
    ("streams", "clients", "scaling"),
    [
        (4, [1, 2, 4], Scaling.STRONG),
        (4, [4], Scaling.STRONG),
        (4, [4, 8, 16], Scaling.WEAK),
        (1, [1, 4, 16], Scaling.WEAK),
        (4, [2, 8], Scaling.MIXED),
        (4, [4, 6], Scaling.MIXED),
    ],
)
def test_numbers_of_clients_are_of_one_scaling(streams: int, clients: list[int], scaling: Scaling) -> None:
    assert scaling_of(streams, clients) is scaling
    fitting = {asked for asked in (Scaling.STRONG, Scaling.WEAK) if _fits(asked, streams, clients)}
    assert fitting - {scaling} <= ({Scaling.WEAK} if clients == [streams] else set())
    assert scaling in fitting or scaling is Scaling.MIXED
    assert _fits(None, streams, clients)


def _fits(asked: Scaling | None, streams: int, clients: list[int]) -> bool:
    """Whether nothing is refused."""
    try:
        for number in clients:
            refuse_other_scaling(asked, streams, number)
    except UsageError:
        return False
    return True


def _scaled(scaling: Scaling | None) -> ReplayResult:
    found = made.result(made.point(4, 990.0), scaling=scaling)
    known = {} if scaling is None else {"scaling": scaling.value}
    return dataclasses.replace(found, conditions=found.conditions | known)


def test_strong_and_weak_scaling_are_compared_when_asked_for_by_name(tmp_path: Path) -> None:
    strong, weak = _scaled(Scaling.STRONG), _scaled(Scaling.WEAK)
    for other in (weak, _scaled(None)):
        with pytest.raises(UsageError, match=r"scaling .*, the first has strong.*--allow scaling compares them"):
            compare([strong, other], force=False)
        assert compare([strong, other], force=False, allow={"scaling"}).differences == ()
    assert compare([strong, strong], force=False).differences == ()
    write_result(weak, tmp_path)
    assert read_result(tmp_path) == weak
    assert "weak scaling: a data set for every 4 clients" in write_report(weak, tmp_path).read_text(encoding="utf-8")


def _client(number: int, **found: Any) -> ReplayClient:
    result = {"found": ClientResult(**found).to_json()}
    return ReplayClient(client=number, host="h", worker="w", slot=0, taken=0.0, ready=0.0, finished=1.0, result=result)


def test_a_late_clients_backlog_is_a_figure() -> None:
    """Seconds behind at worst, and calls due and not over; the worst first, by its streams' names. Where no call had a
    schedule nobody is behind one."""
    late = {"due_by_second": (10, 10, 10), "by_second": (4, 4, 4, 4, 14), "lateness_max_ns": 2_500_000_000}
    clients = [
        _client(0, due_by_second=(5,), by_second=(5,), lateness_max_ns=900_000_000),
        _client(1, **late),
        _client(2, **late | {"lateness_max_ns": 7_000_000_000}),
        _client(3, by_second=(4,), lateness_max_ns=9_000_000_000),
    ]
    found = backlogs(clients, [("w1/0",), ("w1/1", "w1/4"), ("w1/2",), ("w1/3",)])
    assert found == (
        Backlog(client=2, streams=("w1/2",), seconds=7.0, calls=18),
        Backlog(client=1, streams=("w1/1", "w1/4"), seconds=2.5, calls=18),
    )
    assert told(found[1]) == "w1/1, w1/4 was up to 2.5 s and 18 calls behind its intended starts"
    assert most_behind(ClientResult(due_by_second=(3,), by_second=(3,))) == 0


def test_the_report_and_the_warnings_name_the_worst_stream(tmp_path: Path) -> None:
    behind = (Backlog(client=1, streams=("w1/1",), seconds=4.0, calls=1200),)
    point = made.point(4, 990.0, backlog=behind)
    assert point.figures["backlog_s"].median == 4.0
    assert point.figures["backlog_calls"].median == 1200
    assert warnings_of(made.recorded(), [point], adapted=0) == [
        "4 clients: w1/1 was up to 4.0 s and 1,200 calls behind its intended starts"
    ]
    text = write_report(made.result(point), tmp_path).read_text(encoding="utf-8")
    assert "Streams behind their intended starts" in text
    assert (tmp_path / "series" / "backlog.csv").read_text().splitlines()[1].endswith("1,1,w1/1,4.0,1200")


def test_of_a_closed_loop_the_elapsed_time_is_judged() -> None:
    recorded = made.recorded()  # 10 s
    judged = [
        closed_fidelity(recorded, made.point(4, 990.0, 3.0, elapsed_s=took), same_filer=True)
        for took in (10.4, 10.6, 9.4)
    ]
    assert [one.passed for one in judged] == [True, False, False]
    assert {row.bound for one in judged for row in one.rows[1:]} == {None}
    elsewhere = closed_fidelity(recorded, made.point(4, 990.0, elapsed_s=18.0), same_filer=False)
    assert elsewhere.passed is None
    said = as_recorded(made.result(made.point(4, 990.0), fidelity=elsewhere))
    assert said == [f"18.0 s on {made.EMULATED} against 10.0 s recorded (+80.0 %)"]


def test_what_think_times_cannot_be_taken_for_is_said() -> None:
    known = dataclasses.replace(made.recorded(), tasks_known=True)
    assert closed_doubts(known) == []
    short = dataclasses.replace(known, origin={"labels": ["CACHED", "GENERATOR-LIMITED at every point"]})
    assert ["GENERATOR-LIMITED" in line for line in closed_doubts(short)] == [True]
    assert ["had no task" in line for line in closed_doubts(dataclasses.replace(known, tasks_known=False))] == [True]


def test_results_of_older_versions_called_it_a_speed() -> None:
    paces = [
        pace_of({key: value})
        for key, value in (("pace", "job"), ("speed", "recorded"), ("speed", "x2"), ("speed", "max"))
    ]
    assert paces == ["job", "schedule", "x2", "max"]

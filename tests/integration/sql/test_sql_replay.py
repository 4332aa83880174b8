"""Clients of a replay: each is taken once, by a slot of its host, and never again."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from taskbench import TaskBench

from core.errors import SystemFault, TaskLost
from core.records import ClaimedTask, JobOptions, JobState, NewTask, Phase, ReplayChoice
from sql import jobs, ledger, replay
from sql.findings import TaskResult
from sql.replay import Seats


@pytest.fixture
def bench(task_bench: TaskBench) -> TaskBench:
    """A replay with two clients for host h1 and one for h2."""
    task_bench.options = JobOptions(of_type=ReplayChoice(clients=3, paths=("/x",)))
    task_bench.create(tasks=[NewTask(phase=Phase.REPLAY, weight=1, payload={})] * 3)
    _do(task_bench, replay.add_clients, task_bench.job, ["h1", "h1", "h2"])
    return task_bench


def _do(bench: TaskBench, function: Any, *arguments: Any) -> Any:
    with bench.database.transaction() as conn:
        return function(conn, *arguments)


def _claim(bench: TaskBench, slot: int) -> ClaimedTask:
    task = bench.dispatch()[0] if slot == 0 else bench.rows("SELECT id FROM task WHERE state = 'dispatched'")[0].id
    claimed = _do(bench, ledger.claim, bench.job, task, uuid.uuid4(), "w1", slot)
    assert isinstance(claimed, ClaimedTask)
    return claimed


def test_a_replay_begins_in_its_own_phase_and_says_what_it_is(bench: TaskBench) -> None:
    summary = _do(bench, jobs.summary, bench.job)
    assert (summary.type, summary.job.phase) == ("replay", Phase.REPLAY)


def test_a_host_plays_its_own_clients_and_no_more(bench: TaskBench) -> None:
    claims = [_claim(bench, slot) for slot in range(3)]
    taken = [_do(bench, replay.take_client, claimed, "w1", n, "h1") for n, claimed in enumerate(claims)]
    assert taken == [0, 1, None]
    assert _do(bench, replay.take_client, claims[2], "w2", 0, "h2") == 2


def test_all_start_at_one_moment_once_the_last_is_ready(bench: TaskBench) -> None:
    claims = [_claim(bench, slot) for slot in range(3)]
    for claimed, host in zip(claims, ("h1", "h1", "h2"), strict=True):
        _do(bench, replay.take_client, claimed, "w1", 0, host)
    for claimed in claims[:2]:
        _do(bench, replay.ready, claimed)
    standing = _do(bench, replay.replay_status, bench.job)
    assert (standing.state, standing.clients, standing.ready, standing.start) == (JobState.RUNNING, 3, 2, None)
    _do(bench, replay.ready, claims[2])
    _do(bench, replay.ready, claims[0])  # asked again after a lost connection: it was ready before
    first, second = (_do(bench, replay.replay_status, bench.job) for _ in range(2))
    latest = max(client.ready for client in _do(bench, replay.clients, bench.job))
    assert first.start == second.start == pytest.approx(latest + replay.LEAD_SECONDS, abs=1e-3)


def test_a_second_claim_ends_the_replay_with_one_line(bench: TaskBench) -> None:
    claimed = _claim(bench, 0)
    _do(bench, replay.take_client, claimed, "w1", 0, "h1")
    with bench.database.transaction() as conn:
        ledger.release(conn, claimed.id, claimed.token, failed=True)
    with pytest.raises(SystemFault, match=r"client 0 of the replay died \(worker w1, slot 0"):
        _do(bench, replay.take_client, _claim(bench, 0), "w1", 1, "h1")


def test_a_client_is_its_claims_alone(bench: TaskBench) -> None:
    claimed, other = _claim(bench, 0), _claim(bench, 1)
    assert [_do(bench, replay.take_client, claimed, "w1", 0, "h1") for _ in range(2)] == [0, 0]
    with pytest.raises(TaskLost):
        _do(bench, replay.ready, other)
    bench.rows("UPDATE replay_client SET task = NULL, token = NULL RETURNING 1")
    assert _do(bench, replay.take_client, other, "w1", 1, "h1") == 0
    with pytest.raises(TaskLost):
        _do(bench, replay.ready, claimed)


def test_a_result_is_written_behind_the_fence(bench: TaskBench) -> None:
    claimed = _claim(bench, 0)
    _do(bench, replay.take_client, claimed, "w1", 0, "h1")
    _do(bench, ledger.finish, claimed, TaskResult(own=replay.ReplayFindings(client=0, result={"found": 1})))
    found = _do(bench, replay.clients, bench.job)
    assert [client.result for client in found] == [{"found": 1}, None, None]
    assert found[0].finished is not None
    assert _do(bench, replay.replay_status, bench.job).state is JobState.RUNNING


def test_containers_of_one_machine_are_hosts_of_their_own(database: Any) -> None:
    """They have one kernel but no memory in common."""
    for name, slots in (("c1", 4), ("c2", 2), ("c1", 3)):
        with database.transaction() as conn:
            conn.exec_driver_sql(
                "INSERT INTO worker (incarnation, name, host, pid, boot_id, slots, version, seen_at)"
                " VALUES (gen_random_uuid(), 'w', %(host)s, 1, 'boot', %(slots)s, '0', clock_timestamp())",
                {"host": name, "slots": slots},
            )
    with database.transaction() as conn:
        assert replay.seats(conn) == [Seats(host="boot/c1", slots=7), Seats(host="boot/c2", slots=2)]

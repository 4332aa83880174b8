"""Phase replay on a real ledger with real files: clients that start together, and replays that end early."""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from installation import until
from replay_traces import reading_trace
from taskbench import SelectingRecorder, TaskBench

from controller.databases import JobHandle
from controller.timeline.read import read_timeline
from core.places import replayed_trace_location
from core.records import JobOptions, NewTask, Phase, ReplayChoice
from monitoring.block import boot_id
from replay.host import MEMORY
from replay.tally import ClientResult, merge_results
from sql import jobs, replay, states
from traces.file import write_trace
from worker.slots.context import SlotContext

CLIENTS = 2


@pytest.fixture
def bench(task_bench: TaskBench, tmp_path: Path) -> TaskBench:
    """A replay of two streams by two clients, all on this host."""
    (tmp_path / "target").mkdir()
    choice = ReplayChoice(clients=CLIENTS, paths=(str(tmp_path / "target"),))
    task_bench.options = JobOptions(of_type=choice)
    task_bench.create(tasks=[NewTask(phase=Phase.REPLAY, weight=1, payload={})] * CLIENTS)
    write_trace(reading_trace(streams=CLIENTS), _trace(task_bench))
    here = replay.host_key(boot_id(), socket.gethostname())
    with task_bench.database.transaction() as conn:
        replay.add_clients(conn, task_bench.job, [here] * CLIENTS)
    return task_bench


def _trace(bench: TaskBench) -> Path:
    return bench.storage_root / os.fsdecode(replayed_trace_location(bench.job))


def _slots(bench: TaskBench) -> list[SlotContext]:
    """Two slots of one worker: scratch is one, as on a host."""
    first = bench.context
    recorder = SelectingRecorder()
    return [first, dataclasses.replace(bench.slot("w1"), slot=1, recorder=recorder, settings=first.settings)]


def _begin(bench: TaskBench, context: SlotContext, task: uuid.UUID) -> threading.Thread:
    thread = threading.Thread(target=bench.handle, args=(task, context), daemon=True)
    thread.start()
    return thread


def _clients(bench: TaskBench) -> list[Any]:
    with bench.database.transaction() as conn:
        return replay.clients(conn, bench.job)


def _job(bench: TaskBench) -> Any:
    return bench.rows("SELECT state, phase, reason FROM job")[0]


def _nothing_left(bench: TaskBench) -> None:
    """On scratch and in shared memory."""
    assert not (bench.context.settings.scratch / "replay" / bench.job.hex).exists()
    assert not (MEMORY / f"edbench-replay-{bench.job.hex}").exists()


def test_two_slots_play_a_trace(bench: TaskBench, tmp_path: Path) -> None:
    """Every call is made once, by two clients with one start; what was found is in the database."""
    slots = _slots(bench)
    threads = [_begin(bench, context, task) for context, task in zip(slots, bench.dispatch(), strict=True)]
    for thread in threads:
        thread.join()
    clients = _clients(bench)
    assert [client.result is not None for client in clients] == [True, True], _job(bench)
    results = [client.result for client in clients if client.result is not None]
    assert len({result["start"] for result in results}) == 1
    merged = merge_results(ClientResult.from_json(result["found"]) for result in results)
    assert (merged.calls, merged.errors, merged.differences) == (32, 0, ())
    assert merged.elapsed_s >= 0.030  # the trace's own length
    made = sum(result["files"] for result in results)
    assert made == 8
    assert [found["dropped"]["files"] for found in results] == [found["files"] for found in results]
    assert all(found["dropped"]["refused"] == 0 for found in results)
    home = tmp_path / "target" / f"edbench-replay-{bench.job.hex}"
    assert len([path for path in home.rglob("*") if path.is_file()]) == 10  # with the two that the calls made
    assert {row.state for row in bench.rows("SELECT state FROM task")} == {"done"}
    _nothing_left(bench)


def test_a_replay_is_drawn_without_what_only_discovery_has(bench: TaskBench) -> None:
    """No items, no GB/hour: the panels would be empty."""
    bench.dispatch()
    with bench.database.transaction() as conn:
        bench.rows("UPDATE job SET first_claim_at = clock_timestamp() RETURNING 1")
        handle = JobHandle(bench.database, jobs.get_job(conn, bench.job))
    drawn = {panel.id for panel in read_timeline([handle]).panels}
    assert drawn
    assert not drawn & {"gb_per_hour", "items", "exceptions"}


def test_a_client_that_waits_ends_with_its_replay(bench: TaskBench) -> None:
    thread = _begin(bench, bench.context, bench.dispatch()[0])
    until(lambda: any(client.ready for client in _clients(bench)), "the client is ready")
    with bench.database.transaction(durable=True) as conn:
        states.request_cancel(conn, bench.job)
    thread.join()
    assert {row.state for row in bench.rows("SELECT state FROM task")} == {"pending"}
    assert all(client.result is None for client in _clients(bench))
    _nothing_left(bench)


def test_a_client_that_began_is_not_begun_again(bench: TaskBench) -> None:
    thread = _begin(bench, bench.context, bench.dispatch()[0])
    until(lambda: any(client.ready for client in _clients(bench)), "the client is ready")
    (task,) = [row.id for row in bench.rows("SELECT id FROM task WHERE state = 'running'")]
    bench.rows("UPDATE task SET state = 'pending', lease = NULL WHERE id = %(task)s RETURNING 1", task=task)
    bench.dispatch()
    bench.handle(task, _slots(bench)[1])
    thread.join()
    found = _job(bench)
    assert found.state == "suspended"
    assert "client 0 of the replay died (worker w1, slot 0" in found.reason
    _nothing_left(bench)


def test_a_damaged_trace_suspends_the_job_in_one_line(bench: TaskBench) -> None:
    _trace(bench).write_bytes(_trace(bench).read_bytes()[:-9])
    bench.handle(bench.dispatch()[0])
    found = _job(bench)
    assert found.state == "suspended"
    assert "client 0 of the replay: the trace" in found.reason
    assert "\n" not in found.reason
    _nothing_left(bench)


def test_a_slot_of_another_host_gives_its_task_back(bench: TaskBench) -> None:
    bench.rows("UPDATE replay_client SET host = 'elsewhere' RETURNING 1")
    task = bench.dispatch()[0]
    bench.handle(task)
    (row,) = bench.rows("SELECT state, failures FROM task WHERE id = %(task)s", task=task)
    assert (row.state, row.failures) == ("pending", 0)
    assert _job(bench).state == "running"
    assert all(client.taken is None for client in _clients(bench))

"""What the clients of a host share goes with the last of them, whoever that is."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from replay_traces import reading_trace

from core.errors import StorageFault, UsageError
from core.records import ReplayChoice
from replay.host import plan_of, replay_host, target_of
from traces.write import write_trace


def test_the_last_user_removes_what_is_shared(tmp_path: Path) -> None:
    job = uuid.uuid4()
    with replay_host(tmp_path, job) as one:
        with replay_host(tmp_path, job) as other:
            assert other.directory == one.directory
            assert other.progress(0) == one.progress(0)
            assert one.progress(0).is_dir()
            assert one.progress(1) != one.progress(0)
        assert one.progress(0).is_dir()
    assert not one.directory.exists()
    assert not one.memory.exists()


def test_what_killed_processes_left_is_removed_by_the_next_replay(tmp_path: Path) -> None:
    left = tmp_path / "replay" / uuid.uuid4().hex
    (left / "program").mkdir(parents=True)
    (left / "lock").touch()
    with replay_host(tmp_path, uuid.uuid4()) as running:
        assert not left.exists()
        with replay_host(tmp_path, uuid.uuid4()):
            assert running.directory.exists()


def test_one_process_of_a_host_makes_the_program(tmp_path: Path) -> None:
    """The second finds it, even when the trace is gone by then; what somebody began and left is made anew."""
    trace = tmp_path / "t.edbtrace"
    write_trace(reading_trace(), trace)
    choice = ReplayChoice(clients=2, paths=("/x",), speed=0.0)
    with replay_host(tmp_path, uuid.uuid4()) as host:
        (host.directory / "program").mkdir()
        made = host.program(trace, choice, lambda: None)
        trace.unlink()
        assert host.program(trace, choice, lambda: None) == made
    assert (made.calls, made.plan.clients, made.plan.speed) == (32, 2, None)


@pytest.mark.parametrize("closed", [False, True])
def test_every_host_plans_what_was_asked_for(closed: bool) -> None:
    plan = plan_of(
        reading_trace().header, ReplayChoice(clients=3, paths=("/x", "/y"), shared=True, seed=7, closed=closed)
    )
    assert (plan.clients, plan.paths, plan.shared, plan.seed) == (3, 2, True, 7)
    assert (plan.closed, plan.speed) == ((True, None) if closed else (False, 1.0))


def test_a_damaged_trace_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "t.edbtrace"
    write_trace(reading_trace(), trace)
    trace.write_bytes(trace.read_bytes()[:-1])
    with replay_host(tmp_path, uuid.uuid4()) as host, pytest.raises(UsageError, match="cut short"):
        host.program(trace, ReplayChoice(clients=1, paths=("/x",)), lambda: None)


def test_scratch_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "scratch").write_bytes(b"")
    with pytest.raises(StorageFault, match="EDBENCH_SCRATCH"), replay_host(tmp_path / "scratch", uuid.uuid4()):
        raise AssertionError("not reached")


def test_memory_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    """As a full /dev/shm is: the slot lives, and the replay says why it ended."""
    with replay_host(tmp_path, uuid.uuid4()) as host:
        host.memory = tmp_path / "full"
        host.memory.touch()
        with pytest.raises(StorageFault, match="free memory"):
            host.progress(0)


def test_the_target_is_named_for_the_job() -> None:
    job = uuid.uuid4()
    homes = target_of(job, ReplayChoice(clients=1, paths=("/a", "/b"))).homes()
    assert homes == (Path(f"/a/edbench-replay-{job.hex}"), Path(f"/b/edbench-replay-{job.hex}"))

"""Replays of the workload on this host: what cannot be is refused before anything is made; the ceiling; what is observed."""

import dataclasses
from pathlib import Path

import pytest
from memory_traces import write_trace
from replay_traces import reading_trace

from core.clock import SystemClock
from core.errors import RunFailed, UsageError
from core.settings import Settings
from experiments.workload import Turn
from replay.local import Order, players
from replay.orders import ReplayOrder
from replay.runs import Load, Observed, run_of
from replay.workload import Replays

LINK = """
name = "slow"
[link]
bytes_per_s = 1_000_000
"""


@pytest.fixture
def order(tmp_path: Path) -> ReplayOrder:
    """Two streams, to be played into an empty directory."""
    (tmp_path / "target").mkdir()
    write_trace(reading_trace(streams=2), tmp_path / "t.edbtrace")
    return ReplayOrder(trace=tmp_path / "t.edbtrace", paths=(tmp_path / "target",), speed=0.0)


def _replays(order: ReplayOrder, filer: str = "none") -> Replays:
    root = order.trace.parent
    settings = Settings(storage=root / "storage", scratch=root / "scratch")
    return Replays(settings, None, 1, order, [filer], (), SystemClock(), lambda _line: None)


def _observed(replays: Replays, clients: int) -> Observed:
    (at,) = replays.loads(clients)
    assert isinstance(at, Load)
    with replays.prepared([at]), replays.started(Turn(at=at, repeat=0, order=0, name="t")) as observe:
        seen = observe()
    assert isinstance(seen, Observed)
    return seen


def test_a_path_without_room(order: ReplayOrder) -> None:
    trace = reading_trace(streams=1, files=1)
    nodes = [node._replace(size=10**15) if node.size else node for node in trace.nodes]
    write_trace(dataclasses.replace(trace, nodes=nodes), order.trace)
    with pytest.raises(UsageError, match=str(order.paths[0])):
        _observed(_replays(order), 1)
    assert list(order.paths[0].iterdir()) == []
    assert list((order.trace.parent / "scratch").iterdir()) == []


def test_every_part_of_the_time_is_observed(order: ReplayOrder) -> None:
    """Each client's own; nothing is left where it was played."""
    run = run_of(_observed(_replays(order), 2))
    assert (run.calls, run.differences, run.data_sets, run.emulated) == (32, {}, 1, False)
    assert run.call_time is not None
    assert not run.call_time.exact
    assert run.service_mean_us is not None
    assert run.call_time.call_s == pytest.approx(run.service_mean_us * run.calls / 1e6, abs=0.001)
    assert run.job["versions"].keys() == {"edbench", "python", "kernel"}
    assert run.prepared_s > 0
    assert list(order.paths[0].iterdir()) == []


def test_an_emulated_filer_is_watched(order: ReplayOrder) -> None:
    """Its stations are in the record, and what was time in its queues is known of each call."""
    filer = order.trace.parent / "slow.toml"
    filer.write_text(LINK)
    seen = _observed(_replays(order, str(filer)), 2)
    assert seen.job["filer"]["stations"]["link"]["calls"] > 0
    run = run_of(seen)
    assert run.call_time is not None
    assert run.call_time.exact
    assert run.call_time.queue_s is not None


def test_the_self_check_needs_no_room_for_data(order: ReplayOrder) -> None:
    trace = reading_trace(streams=1, files=1)
    nodes = [node._replace(size=10**15) if node.size else node for node in trace.nodes]
    write_trace(dataclasses.replace(trace, nodes=nodes), order.trace)
    replays = _replays(order)
    (at,) = replays.loads(1)
    with replays.prepared([at]):
        found = replays.on_null(Turn(at=at, repeat=0, order=0, name="t"))
    assert found["null_calls"] == trace.header.calls
    assert found["null_elapsed_s"] > 0
    assert list((order.trace.parent / "scratch").iterdir()) == []


def test_a_trace_that_is_none_is_named(order: ReplayOrder, tmp_path: Path) -> None:
    order.trace.write_bytes(b"no trace")
    asked = Order(trace=str(order.trace), scratch=str(tmp_path / "scratch"), choice=order.choice(1), null=True)
    with pytest.raises(UsageError, match="is not a trace") as error, players(asked):
        raise RunFailed("not reached")
    assert len(str(error.value).splitlines()) == 1
    assert list((tmp_path / "scratch").iterdir()) == []

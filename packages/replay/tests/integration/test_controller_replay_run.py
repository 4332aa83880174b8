"""A replay that cannot be: refused before anything is made."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ports import own_ports
from replay_traces import reading_trace

from controller.databases import JobHandle
from core.clock import SystemClock
from core.errors import RunFailed, UsageError
from core.settings import Settings
from replay.job import Stage, clear, replay_once
from replay.local import ceiling
from replay.orders import ReplayOrder
from replay.tree import Target
from sql.replay import Seats, seats
from sql.session import Database
from traces.file import open_trace, write_trace


@pytest.fixture
def order(tmp_path: Path) -> ReplayOrder:
    """Of a trace with one file of 10^15 bytes, into an empty directory."""
    (tmp_path / "target").mkdir()
    trace = reading_trace(streams=1, files=1)
    nodes = [node._replace(size=10**15) if node.size else node for node in trace.nodes]
    write_trace(dataclasses.replace(trace, nodes=nodes), tmp_path / "t.edbtrace")
    return ReplayOrder(trace=tmp_path / "t.edbtrace", paths=(tmp_path / "target",))


def _stage(database: Database, tmp_path: Path) -> Stage:
    return Stage(
        settings=Settings(storage=tmp_path / "storage", scratch=tmp_path / "scratch"),
        database=database,
        clock=SystemClock(),
        show=lambda _snapshot, _at: None,
        say=lambda _line: None,
    )


def _refused(stage: Stage, order: ReplayOrder, said: str) -> None:
    with open_trace(order.trace) as trace, pytest.raises(UsageError, match=said):
        replay_once(stage, trace, order, 1)
    assert list(order.paths[0].iterdir()) == []
    with stage.database.transaction() as conn:
        assert conn.exec_driver_sql("SELECT count(*) FROM job").scalar_one() == 0


def test_a_path_without_room(
    database: Database, tmp_path: Path, order: ReplayOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replay.job.replay.seats", lambda _conn: [Seats(host="here", slots=1)])
    _refused(_stage(database, tmp_path), order, str(order.paths[0]))
    assert list((tmp_path / "scratch" / "replay").iterdir()) == []


def test_workers_of_others_that_have_no_slot(database: Database, tmp_path: Path, order: ReplayOrder) -> None:
    with database.transaction() as conn:
        assert seats(conn) == []
    _refused(_stage(database, tmp_path), order, "start more slots")


def test_files_go_also_where_the_database_is_away(tmp_path: Path) -> None:
    """They stayed for ever, and nothing said so; the job is named, because workers may go on with it."""
    with own_ports() as port:  # and nobody listens there
        away = Database("db1", f"postgresql+psycopg2://nobody@127.0.0.1:{port}/none")
    job: Any = SimpleNamespace(id=uuid.uuid4())
    target = Target(paths=(tmp_path / "target",), replay_id="r")
    (home,) = target.homes()
    (Path(home) / "below").mkdir(parents=True)
    (Path(home) / "below" / "file").write_bytes(b"abc")
    said: list[str] = []
    stage = dataclasses.replace(_stage(away, tmp_path), say=said.append)
    clear(stage, JobHandle(away, job), target, keep=False)
    assert list((tmp_path / "target").iterdir()) == []
    assert len(said) == 1
    assert f"edbench job cancel {job.id}" in said[0]


def test_the_self_check_needs_no_room_for_data(tmp_path: Path, order: ReplayOrder) -> None:
    found = ceiling(order.trace, order.choice(1), tmp_path / "scratch")
    assert found.calls
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_self_check_says_why_it_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "t.edbtrace").write_bytes(b"no trace")
    order = ReplayOrder(trace=tmp_path / "t.edbtrace", paths=(tmp_path,))
    with pytest.raises(RunFailed, match="is not a trace") as error:
        ceiling(order.trace, order.choice(1), tmp_path / "scratch")
    assert len(str(error.value).splitlines()) == 1
    assert list((tmp_path / "scratch").iterdir()) == []

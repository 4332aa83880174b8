"""An arbiter's file after a process that was killed: nothing of an old run is in the next."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.filer.arbiter import Arbiter
from core.filer.model import FilerModel, load_filer
from core.operations import Op

_TEXT = """
name = "mine"
[metadata]
servers = 1
service_us.default = 1000.0
[data]
servers = 1
service_us.default = 100.0
[client]
cache_bytes = 1000000
reread_us = 10.0
"""
MS = 1_000_000


@pytest.fixture
def model(tmp_path: Path) -> FilerModel:
    file = tmp_path / "filer.toml"
    file.write_text(_TEXT)
    found = load_filer(str(file))
    assert found is not None
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory that all workers share, as EDBENCH_FILER_ARBITER names one."""
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared" / "edbench-filer-a"


@contextmanager
def _user(work: Callable[[], object]) -> Iterator[int]:
    """A process that has done `work` and sleeps; killed at the end."""
    ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        kept = work()
        os.write(ready[1], b"x" if kept is not None else b"-")
        signal.pause()
    try:
        assert os.read(ready[0], 1) == b"x"
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for end in ready:
            os.close(end)


def _used(path: Path, model: FilerModel) -> Arbiter:
    arbiter = Arbiter(path, model)
    arbiter.book(Op.READ, 4096, 0, b"/file")
    for _ in range(5):
        arbiter.book(Op.STAT, 0, 0)
    return arbiter


def test_a_killed_run_leaves_the_next_nothing(path: Path, model: FilerModel) -> None:
    """Its bookings and its client's cache are of no run but its own."""
    with _user(lambda: _used(path, model)):
        pass
    assert path.exists()
    with Arbiter(path, model) as arbiter:
        assert arbiter.book(Op.STAT, 0, 0) == 1 * MS
        assert arbiter.book(Op.READ, 4096, 0, b"/file") == 100_000
        counts = arbiter.snapshot()
    assert (counts.cached_calls, counts.stations["metadata"].calls) == (0, 1)


def test_who_comes_to_a_run_under_way_shares_it(path: Path, model: FilerModel) -> None:
    with _user(lambda: _used(path, model)), Arbiter(path, model) as arbiter:
        assert arbiter.book(Op.STAT, 0, 0) == 6 * MS
    mine = Arbiter(path, model)
    mine.book(Op.STAT, 0, 0)
    again = Arbiter(path, model)
    assert again.book(Op.STAT, 0, 0) == 2 * MS
    again.close()
    mine.close_and_remove()
    assert not path.exists()


def test_what_killed_runs_left_is_removed(path: Path, model: FilerModel) -> None:
    left, used, own, link = (path.with_name(f"edbench-filer-{n:024x}") for n in range(10, 14))
    other = path.with_name("edbench-filer-notes.toml")
    with _user(lambda: Arbiter(left, model)):
        pass
    other.write_text("mine")
    link.symlink_to(other)
    with _user(lambda: Arbiter(used, model)), Arbiter(own, model), Arbiter(path, model):
        assert sorted(one.name for one in path.parent.iterdir()) == sorted(
            one.name for one in (path, used, own, other, link)
        )
    assert other.read_text() == "mine"

"""Workers forked from one process: each its own, started again when one dies, gone when they should be."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from installation import until

from core.settings import DatabaseAddress, Settings
from worker.crowd import Crowd
from worker.supervisor import WorkerPlan


def _plans(number: int, tmp_path: Path) -> list[WorkerPlan]:
    database = DatabaseAddress(name="db1", url="postgresql+psycopg2://u:p@h/d")
    settings = Settings(databases=(database,), broker="redis://u:p@h", scratch=tmp_path, box=False)
    handle, nothing = (lambda *_: None), (lambda _settings: None)
    return [WorkerPlan(settings=settings, name=f"w{n}", handle=handle, preload=nothing) for n in range(1, number + 1)]


class _Forked:
    """A crowd in a process of its own, whose workers write their process ids down and wait to be told to stop."""

    def __init__(self, tmp_path: Path, number: int) -> None:
        self._place = tmp_path
        self.names = [f"w{n}" for n in range(1, number + 1)]
        self.pid = os.fork()
        if not self.pid:
            if not os.fork():
                os._exit(1)  # not one of its own: the first process of a container is given orphans
            os._exit(Crowd(_plans(number, tmp_path), become=self._become).run())

    def _become(self, plan: WorkerPlan) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # it waits for us, whenever it comes
        written = self._place / f"{plan.name}.part"
        written.write_text(str(os.getpid()))
        written.rename(self._place / plan.name)
        signal.sigwait({signal.SIGTERM})
        (self._place / f"{plan.name}.left").touch()
        return 0

    def worker(self, name: str) -> int:
        """Its process id; 0: it is not up yet."""
        file = self._place / name
        return int(file.read_text()) if file.exists() else 0

    def pids(self) -> list[int]:
        return [self.worker(name) for name in self.names]

    def __enter__(self) -> _Forked:
        until(lambda: all(self.pids()), "all workers are up")
        return self

    def __exit__(self, *_: object) -> None:
        for pid in (self.pid, *self.pids()):
            _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_each_worker_is_a_process_of_its_own(tmp_path: Path) -> None:
    with _Forked(tmp_path, 3) as crowd:
        before = crowd.pids()
        assert len({crowd.pid, *before}) == 4
        os.kill(before[1], signal.SIGKILL)
        until(lambda: crowd.worker("w2") != before[1], "another w2")
        assert (crowd.worker("w1"), crowd.worker("w3")) == (before[0], before[2])


def test_asked_to_stop_it_asks_its_workers(tmp_path: Path) -> None:
    with _Forked(tmp_path, 3) as crowd:
        workers = crowd.pids()
        os.kill(crowd.pid, signal.SIGTERM)
        assert os.waitpid(crowd.pid, 0)[1] == 0
        assert all(map(_gone, workers))
        assert all((tmp_path / f"{name}.left").exists() for name in crowd.names)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_workers_die_with_their_crowd(tmp_path: Path) -> None:
    """SIGKILL of it leaves nobody behind who would go on working."""
    with _Forked(tmp_path, 2) as crowd:
        workers = crowd.pids()
        os.kill(crowd.pid, signal.SIGKILL)
        os.waitpid(crowd.pid, 0)
        until(lambda: all(map(_gone, workers)), "the workers are gone")

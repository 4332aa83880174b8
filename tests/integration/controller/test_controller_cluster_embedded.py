"""The embedded cluster: processes are kept up, scaled, and gone when they should be."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from installation import is_gone, until

from controller.cluster.embedded import EmbeddedCluster, module_commands, together
from core.errors import SystemFault
from core.services.process import MOST_BYTES
from core.settings import Settings

REPOSITORY = Path(__file__).parents[3]

# Stands for a queue manager or worker: says its name and what it got, has a child, stays.
STAYING = """
import json, os, subprocess, sys, time
env = {k: v for k, v in os.environ.items() if k.startswith(("EDBENCH_", "SECRET"))}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(json.dumps({"name": sys.argv[1], "env": env, "child": child.pid}), flush=True)
time.sleep(600)
"""
# The same, deaf to SIGTERM.
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + STAYING
WORKERS_OWN = {
    "EDBENCH_REMOUNT": "/etc/remount.toml",
    "EDBENCH_GRACE_S": "7",
}  # what a worker reads besides the settings
FAILING = "import sys; print('cannot go on: reason', flush=True); sys.exit(3)"


def program(text: str) -> Callable[[str, int], Sequence[str]]:
    """Command lines that run this program whatever the name."""
    return lambda name, slots: (sys.executable, "-c", text, name)


def first_line(scratch: Path, name: str) -> dict[str, object] | None:
    """What the stand-in of that name printed first."""
    log = scratch / "logs" / f"{name}.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return json.loads(lines[-1]) if lines else None


def make(tmp_path: Path, text: str, workers: int = 2) -> EmbeddedCluster:
    """A cluster of stand-ins."""
    settings = Settings(scratch=tmp_path / "scratch of test", storage=tmp_path / "storage")
    env = {"PATH": os.environ["PATH"], "SECRET": "not for children", "EDBENCH_SLOTS": "99", **WORKERS_OWN}
    return EmbeddedCluster(settings, workers, 4, env=env, commands=program(text))


def test_command_lines() -> None:
    assert module_commands("queue-manager", 4) == (sys.executable, "-m", "queue_manager")
    assert module_commands("w2", 3) == (sys.executable, "-m", "worker", "--name", "w2", "--slots", "3", "--alone")
    many = ("--name", "w", "--workers", "30", "--slots", "4", "--alone")
    assert module_commands("w1-w30", 4) == (sys.executable, "-m", "worker", *many)


def test_from_two_on_workers_are_forked_from_one_process() -> None:
    """Each by itself would load everything again. Where Prometheus is answered, a few answer for themselves."""
    asked = {"EDBENCH_METRICS_PORT": "9100"}
    assert [workers for workers in range(1, 12) if together(workers, {})] == [*range(2, 12)]
    assert [workers for workers in range(1, 12) if together(workers, asked)] == [9, 10, 11]


def test_many_workers_are_one_process_to_keep_up(tmp_path: Path) -> None:
    """Thirty interpreters would take two processors a minute to start: there is one, and the queue manager."""
    settings = Settings(scratch=tmp_path / "scratch of test", storage=tmp_path / "storage")
    env = {"PATH": os.environ["PATH"]}
    many = EmbeddedCluster(settings, 30, 4, env=env, commands=program(STAYING), together=True, managed=False)
    with many as cluster:
        assert set(cluster.pids()) == {"w1-w30"}, "nothing is dispatched before all of them are there"
        cluster.manage()
        until(lambda: set(cluster.pids()) == {"queue-manager", "w1-w30"})


def test_logs_do_not_grow_without_end(tmp_path: Path) -> None:
    with make(tmp_path, STAYING, workers=1):
        log = tmp_path / "scratch of test" / "logs" / "w1.log"
        until(lambda: log.exists() and log.stat().st_size > 0)
        os.truncate(log, MOST_BYTES + 1)  # sparse: it takes no room
        until(lambda: log.stat().st_size == 0)
        older = log.with_name("w1.log.1")
        assert older.stat().st_size == MOST_BYTES + 1
        older.unlink()


def test_starts_scales_and_stops(tmp_path: Path) -> None:
    """One queue manager and the workers run, get the settings and nothing else of ours, follow `scale` both ways,
    and after `stop` nothing is left, children of theirs included."""
    scratch = tmp_path / "scratch of test"
    with make(tmp_path, STAYING) as cluster:
        assert set(cluster.pids()) == {"queue-manager", "w1", "w2"}
        until(lambda: all(first_line(scratch, name) for name in cluster.pids()))
        first = first_line(scratch, "w1")
        settings = Settings(scratch=scratch, storage=tmp_path / "storage")
        assert first["env"] == settings.environment() | WORKERS_OWN
        cluster.scale(3)
        until(lambda: set(cluster.pids()) == {"queue-manager", "w1", "w2", "w3"})
        cluster.scale(1)
        until(lambda: set(cluster.pids()) == {"queue-manager", "w1"})
        children = [int(str((first_line(scratch, name) or {})["child"])) for name in ("queue-manager", "w1", "w2")]
        pids = [*cluster.pids().values(), *children]
        cluster.check()
    assert cluster.pids() == {}
    until(lambda: all(map(is_gone, pids)))


@pytest.mark.parametrize("name", ["queue-manager", "w1"])
def test_dead_process_is_started_again(tmp_path: Path, name: str) -> None:
    with make(tmp_path, STAYING) as cluster:
        before = cluster.pids()
        os.kill(before[name], signal.SIGKILL)
        until(lambda: cluster.pids().get(name, before[name]) != before[name])
        after = cluster.pids()
        assert {n: p for n, p in after.items() if n != name} == {n: p for n, p in before.items() if n != name}
        cluster.check()


def test_process_that_will_not_stay_up(tmp_path: Path) -> None:
    with make(tmp_path, FAILING) as cluster:

        def failed() -> bool:
            try:
                cluster.check()
            except SystemFault as error:
                return "cannot go on: reason" in str(error) and "5 times" in str(error)
            return False

        until(failed)


def test_deaf_process_is_killed_after_the_grace(tmp_path: Path) -> None:
    cluster = make(tmp_path, DEAF, workers=1)
    cluster.start()
    until(lambda: first_line(tmp_path / "scratch of test", "w1") is not None)
    pids = list(cluster.pids().values())
    start = time.monotonic()
    cluster.stop(0.5)
    assert time.monotonic() - start >= 0.5
    assert all(map(is_gone, pids))


# A command that starts a cluster and then waits; its parent kills it.
OWNER = """
import json, sys, time
from pathlib import Path
from controller.cluster.embedded import EmbeddedCluster
from core.settings import Settings
settings = Settings(scratch=Path(sys.argv[1]))
stay = lambda name, slots: (sys.executable, "-c", "import time; time.sleep(600)")
with EmbeddedCluster(settings, 2, 4, env={}, commands=stay) as cluster:
    print(json.dumps(list(cluster.pids().values())), flush=True)
    time.sleep(600)
"""


def test_killed_command_takes_its_processes_along(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, cwd=REPOSITORY, start_new_session=True
    )
    assert owner.stdout is not None
    with owner.stdout as pipe:
        pids = json.loads(pipe.readline())
    assert len(pids) == 3
    assert not any(map(is_gone, pids))
    owner.kill()
    owner.wait()
    until(lambda: all(map(is_gone, pids)))


def test_terminal_interrupt_does_not_reach_them(tmp_path: Path) -> None:
    with make(tmp_path, STAYING) as cluster:
        until(lambda: len(cluster.pids()) == 3)
        for pid in cluster.pids().values():
            until(lambda pid=pid: os.getsid(pid) == pid)  # type: ignore[misc]

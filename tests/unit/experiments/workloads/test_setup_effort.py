"""Steps are what a person types, seconds what it takes; whatever was started is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from core.errors import RunFailed
from experiments.workloads.setup_effort.profile import environment
from experiments.workloads.setup_effort.result import SetupSeen, SetupTask, run_of
from experiments.workloads.setup_effort.stepping import Order, Stepped, steps
from experiments.workloads.setup_effort.tasks import tasks

ROOT = Path(__file__).parents[4]
_DEADLINE_S = 300.0  # for a machine that is busy; nothing waits so long where it works


def test_what_is_typed_is_what_the_project_has() -> None:
    """Targets are the Makefile's, commands the documented ones, packages those of the README."""
    every = tasks("https://example.org/edbench.git", 0.002, 7)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    readme, commands = (ROOT / "README.md").read_text(), (ROOT / "docs" / "commands.md").read_text()
    for line in (line for task in every for line in task.typed):
        words = line.split()
        if words[0] == "make":
            assert words[1] in targets, line
        elif words[0].endswith("edbench"):
            assert f"edbench {words[1]}" in commands, line
        elif words[0] == "apt":
            assert line in readme
    assert all(task.runs is None or " ".join(task.runs) in task.typed for task in every)


def test_the_time_to_the_first_result_is_that_of_its_tasks() -> None:
    """What comes after it, and what was not run, is in no sum of seconds; its steps count."""
    told = (
        SetupTask(name="packages", typed=("a",), seconds=None, cpu_s=None, to_result=True),
        SetupTask(name="source", typed=("b", "c"), seconds=2.0, cpu_s=1.0, to_result=True),
        SetupTask(name="removed", typed=("d",), seconds=5.0, cpu_s=1.0, to_result=False),
    )
    run = run_of(
        SetupSeen(repeat=0, order=0, started_at=0.0, elapsed_s=2.0, worker_cpu=0.5, tasks=told, source="here", commit="c0",
                  versions={}, installed_bytes=9)
    )  # fmt: skip
    assert (run.elapsed_s, run.all_s) == (2.0, 7.0)
    assert (run.steps(lambda task: task.to_result), run.steps()) == (3, 4)


def test_nothing_of_this_installation_is_handed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its settings, its Python, its caches; where packages come from is."""
    for name in ("EDBENCH_STORAGE", "PYTHONPATH", "VIRTUAL_ENV", "PIP_CACHE_DIR", "UV_CACHE_DIR", "GIT_DIR"):
        monkeypatch.setenv(name, "/somewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example.org/simple")
    monkeypatch.setenv("PATH", f"{ROOT / '.venv' / 'bin'}:/usr/bin")
    told = environment(tmp_path)
    assert {name: value for name, value in told.items() if value == "/somewhere"} == {}
    assert (told["HOME"], told["PATH"]) == (str(tmp_path), "/usr/bin")
    assert told["PIP_INDEX_URL"] == "https://index.example.org/simple"


def _order(tmp_path: Path, *scripts: str) -> Order:
    commands = tuple((str(tmp_path), ("/bin/sh", "-c", script)) for script in scripts)
    return Order(commands=commands, env=dict(os.environ), log=str(tmp_path / "log"), grace_s=0.0)


def test_commands_run_one_after_another_and_what_they_left_is_ended(tmp_path: Path) -> None:
    """Also what has left their session."""
    leaving = "setsid sleep 3600 & echo $! >pid"
    done = list(steps(_order(tmp_path, leaving, "cat pid")))
    assert [type(one) for one in done] == [Stepped, Stepped]
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_a_command_that_fails_ends_it_in_its_own_words(tmp_path: Path) -> None:
    """The next one is not begun."""
    with pytest.raises(RunFailed, match="status 3: no such luck"):
        list(steps(_order(tmp_path, "echo no such luck; exit 3", "touch next")))
    assert not (tmp_path / "next").exists()


def test_after_kill_9_nothing_of_it_goes_on(tmp_path: Path) -> None:
    """The command's death is its commands' death, those of other sessions too."""
    script = (
        "import sys, pathlib\n"
        "from experiments.workloads.setup_effort.stepping import Order, steps\n"
        "here = sys.argv[1]\n"
        "line = 'setsid sh -c \"echo $$ >pid.part; mv pid.part pid; exec sleep 3600\"'\n"
        "list(steps(Order(commands=((here, ('/bin/sh', '-c', line)),), env={'PATH': '/usr/bin:/bin'}, log=here + '/log')))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT) as command:
        try:
            started = _until(lambda: (tmp_path / "pid").exists())
        finally:
            command.send_signal(signal.SIGKILL)
    assert started
    sleeping = int((tmp_path / "pid").read_text())
    assert _until(lambda: not psutil.pid_exists(sleeping))


def _until(so: object) -> bool:
    """Whether it came to be in time."""
    end = time.monotonic() + _DEADLINE_S
    while time.monotonic() < end:
        if so():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False

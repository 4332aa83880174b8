"""core.program: a flag for signal handlers."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from core.program import Stop, shown_url, without_logins


def _opcodes_of_a_wait(stop: Stop, set_at: int) -> int:
    """Wait without patience in a thread, and set the flag before the so-manieth instruction of our code in it, as a
    signal handler does; how many there were."""
    done = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal done
        frame.f_trace_opcodes = True
        if event == "opcode":
            done += 1
            if done == set_at:
                stop.set()
        return trace

    def run() -> None:
        sys.settrace(trace)
        try:
            stop.wait(0)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), f"a handler before instruction {set_at} waits for what it interrupted"
    return done


def test_it_may_be_set_in_the_middle_of_a_wait() -> None:
    """Promise: wherever the signal finds the thread that waits, the handler returns and every later wait ends."""
    whole = _opcodes_of_a_wait(Stop(), 0)
    assert whole > 5
    for instruction in range(1, whole + 1):
        stop = Stop()
        _opcodes_of_a_wait(stop, instruction)
        assert stop.is_set()
        assert stop.wait()
        assert stop.wait()


def test_a_signal_ends_a_wait() -> None:
    """Promise: a real handler, in the thread that waits."""
    stop = Stop()
    before = signal.signal(signal.SIGALRM, lambda *_: stop.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert stop.wait(60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_all_who_wait_are_woken() -> None:
    """Promise: it is for several threads, and for those that come later; without a word a wait ends with its time."""
    stop = Stop()
    assert not stop.wait(0)
    reported: list[bool] = []
    threads = [threading.Thread(target=lambda: reported.append(stop.wait(60))) for _ in range(5)]
    for thread in threads:
        thread.start()
    stop.set()
    for thread in threads:
        thread.join()
    assert reported == [True] * 5


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://10.0.0.1:6390/0", "redis://10.0.0.1:6390/0"),
        ("redis://u:p@h:6390", "redis://…@h:6390"),
        ("redis://:p@h:6390", "redis://…@h:6390"),
        ("redis://u:p@ss w/rd@h:6390", "redis://…@h:6390"),
        ("redis:/u:p@h:6390", "…@h:6390"),
        ("db1=postgresql+psycopg2://u:p@h/db?sslmode=require", "db1=postgresql+psycopg2://…@h/db?sslmode=require"),
        ("postgresql://h/db?password=p&user=u", "postgresql://h/db?password=…&user=u"),
        ("https://token@host/repository.git", "https://…@host/repository.git"),
        ("no URL at all", "no URL at all"),
    ],
)
def test_a_url_is_shown_without_its_login(url: str, shown: str) -> None:
    """Also one that is none: what was meant as a password stands before the last @."""
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cannot clone 'https://u:p@h/x.git' into y", "cannot clone 'https://…@h/x.git' into y"),
        ("'redis://u:p/w@h:1' and amqp://:q@k", "'redis://…@h:1' and amqp://…@k"),
        ("mail a@b.c, see http://h/about", "mail a@b.c, see http://h/about"),
        ("s3://bucket/a@b stays", "s3://bucket/a@b stays"),
    ],
)
def test_a_message_is_reported_without_the_logins_of_its_urls(text: str, message: str) -> None:
    assert without_logins(text) == message


REPOSITORY = Path(__file__).parents[4]
_PROGRAM = """
import atexit, gc
while_loading = gc.get_threshold()[0]
atexit.register(print, "tidied up")
def run():
    print("collects after", while_loading)
    return 3
"""


def _python(code: str, path: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=env, capture_output=True, text=True)


def test_a_program_loads_in_peace_and_ends_where_its_work_does(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM)
    code = "import atexit; atexit.register(print, 'taken apart'); from core.program import begin; begin('program')"
    ended = _python(code, tmp_path)
    assert (ended.returncode, ended.stdout) == (3, "collects after 100000\ntidied up\n")


def test_a_program_that_fails_states_where(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def run():\n    raise ValueError('so')\n")
    ended = _python("from core.program import begin; begin('program')", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith("ValueError: so\n")


@pytest.mark.parametrize("package", ["cli", "worker", "worker.sandbox", "queue_manager"])
def test_every_program_of_a_job_begins_so(package: str) -> None:
    code = f"import sys, {package}.__main__ as first; print(first.begin.__module__, '{package}.main' in sys.modules)"
    assert _python(code).stdout.split() == ["core.program", "False"]

"""worker.sandbox.lockdown: what an ordinary user's sandbox is worth, and that the probe finds out where it is worth less."""

import contextlib
import ctypes
import errno
import faulthandler
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

from worker.sandbox import lockdown, seccomp
from worker.sandbox.confine import SYSTEM
from worker.sandbox.lockdown import Powers, lock_down_program

NOBODY = 65_534
needs_landlock = pytest.mark.skipif(not lockdown.abi(), reason="this kernel has no Landlock")


def _as_ordinary_user(body: Callable[[], Any]) -> Any:
    """What `body` returns in a child process that is not root."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(write, json.dumps(body()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as shown:
        answer = shown.read()
    os.waitpid(pid, 0)
    return json.loads(answer)


def _lacking() -> list[str]:
    return lockdown.try_out().lacking


@needs_landlock
def test_an_ordinary_users_sandbox_is_complete() -> None:
    assert _as_ordinary_user(_lacking) == []


@needs_landlock
@pytest.mark.parametrize("open_one", ["seccomp", "landlock"])
def test_either_barrier_alone_keeps_files_and_other_processes(monkeypatch: pytest.MonkeyPatch, open_one: str) -> None:
    monkeypatch.setattr({"seccomp": seccomp, "landlock": lockdown}[open_one], "confine", lambda: None)
    reached = " ".join(_as_ordinary_user(_lacking))
    assert "environment" not in reached
    assert "memory" not in reached
    assert "files" not in reached


def test_the_probe_reports_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither barrier holds although both say so, the sandbox is not called complete; also in a process that has opened more
    files than a sandbox may."""
    monkeypatch.setattr(seccomp, "confine", lambda: None)
    monkeypatch.setattr(lockdown, "confine", lambda: None)
    with contextlib.ExitStack() as opened:
        for _ in range(80):
            opened.enter_context(open(os.devnull, "rb"))
        found = _as_ordinary_user(_lacking)
    assert "it could read files" in found
    assert "it could signal its parent" in found
    assert "it could open a socket" in found


@pytest.mark.parametrize(
    ("powers", "complete"),
    [
        (Powers(user="", landlock="", seccomp=""), True),
        (Powers(user="not root", landlock="", seccomp=""), True),
        (Powers(user="", landlock="the kernel has none", seccomp=""), True),
        (Powers(user="not root", landlock="the kernel has none", seccomp=""), False),
        (Powers(user="", landlock="", seccomp="forbidden"), False),
        (Powers(user="", landlock="", seccomp="", reached=("open a socket",)), False),
    ],
)
def test_what_is_complete(powers: Powers, complete: bool) -> None:
    """Promise: seccomp, and one of Landlock and a user of its own beside it; and no attack that works."""
    assert (powers.lacking == []) is complete


@needs_landlock
@pytest.mark.skipif(seccomp.forbidding(os.uname().machine, 1) is None, reason="no numbers of calls for this machine")
def test_a_program_reaches_neither_secrets_nor_its_parent() -> None:
    """tesseract, as an ordinary user: no file beyond its own, no signal but to itself, no socket, no namespace."""
    secret = "/etc/passwd"  # readable by everyone, and nothing that the program needs
    parent = os.getpid()

    def tried(attempt: Callable[[], Any]) -> str:
        try:
            attempt()
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        return "done"

    def attack() -> dict[str, str]:
        before = tried(lambda: os.open(secret, os.O_RDONLY))
        lock_down_program(os.getppid(), (sys.executable, *SYSTEM))
        return {
            "before": before,
            "secret": tried(lambda: os.open(secret, os.O_RDONLY)),
            "environment": tried(lambda: os.open(f"/proc/{parent}/environ", os.O_RDONLY)),
            "parent": tried(lambda: os.kill(parent, 0)),
            "group": tried(lambda: os.kill(0, 0)),
            "everything": tried(lambda: os.kill(-1, 0)),
            "queued": tried(lambda: _call(129, parent, 0, 0)),
            "socket": tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
            "itself": tried(lambda: os.kill(os.getpid(), 0)),
            "library": tried(lambda: os.open("/usr/bin/env", os.O_RDONLY)),
        }

    found = _as_ordinary_user(attack)
    assert {what for what, how in found.items() if how == "done"} == {"before", "itself", "library"}, found


def _call(number: int, *arguments: int) -> None:
    """A system call by its number on x86_64 (rt_sigqueueinfo); others are as good where the number means another."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "syscall")


@needs_landlock
def test_a_program_may_still_abort() -> None:
    pid = os.fork()
    if not pid:
        faulthandler.disable()
        lock_down_program(os.getppid(), (sys.executable,))
        os.abort()
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGABRT

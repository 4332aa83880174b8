"""Sandboxes for tests: a fork server forked from this process, as another user if asked, and a slot that may die."""

import gc
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from readers.registry import all_handlers
from worker.sandbox.fork_server import ForkServer, ForkServerAddress
from worker.sandbox.main import live

MEMORY_MB = 1024


def _memory_mb() -> int:
    """As much for a sandbox as ever, whatever this process holds by now: its forks hold that too, and it counts."""
    (held,) = re.findall(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return MEMORY_MB + int(held) // 1024


@contextmanager
def fork_server(user: int | None = None, body: Callable[[int, int], int] = live) -> Iterator[ForkServerAddress]:
    """A fork server with this process's modules, whose sandboxes do `body` (parse, unless said), given their socket and memory in MB."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    all_handlers()  # as the fork server has
    memory_mb = _memory_mb()
    gc.collect()
    gc.freeze()  # else the fork server, as it begins, looks through all that this process holds, and so copies it
    pid = os.fork()
    if not pid:
        try:
            ours.close()
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            ForkServer(theirs, lambda talk: body(talk, memory_mb)).run()
        finally:
            os._exit(0)
    theirs.close()
    try:
        yield ForkServerAddress(ours, pid)
    finally:
        ours.close()
        os.waitpid(pid, 0)


def ended(slot: Callable[[], object], seconds: float = 300.0) -> int:
    """The wait status of a process that did this."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            slot()
        finally:
            os._exit(0)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise AssertionError("it did not end")

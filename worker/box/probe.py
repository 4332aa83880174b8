"""What a sandbox can have on this machine: tried out, in a process that ends with it, and then attacked."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, replace

from worker.box.lockdown import Powers, lock_down


def try_out() -> Powers:
    """How far a child of this process can lock itself down. OSError when not even that can be tried."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            parent = os.getppid()
            powers = lock_down()
            os.write(write, json.dumps(asdict(replace(powers, reached=_reached(parent)))).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with open(read, "rb") as said:
        answer = said.read()
    os.waitpid(pid, 0)
    if not answer:
        raise OSError("a process could not lock itself down")
    said = json.loads(answer)
    return Powers(**said | {"reached": tuple(said["reached"])})


def _reached(parent: int) -> tuple[str, ...]:
    """What a process that was locked down can still do to its parent, and to the network."""
    attempts: dict[str, Callable[[], object]] = {
        "read its parent's environment": lambda: os.open(f"/proc/{parent}/environ", os.O_RDONLY),
        "read its parent's memory": lambda: os.open(f"/proc/{parent}/mem", os.O_RDONLY),
        "read files": lambda: os.open("/proc/self/status", os.O_RDONLY),
        "signal its parent": lambda: os.kill(parent, 0),
        "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach(),
    }
    return tuple(what for what, attempt in attempts.items() if _works(attempt))


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def lacking() -> str:
    """What makes sandboxes incomplete here, for people; empty when nothing does."""
    return "; ".join(try_out().lacking)

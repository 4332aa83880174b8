"""What a box can have on this machine: tried out, in a process that ends with it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from worker.box.lockdown import Powers, lock_down


def try_out() -> Powers:
    """How far a child of this process can lock itself down. OSError when not even that can be tried."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(write, json.dumps(asdict(lock_down())).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with open(read, "rb") as said:
        answer = said.read()
    os.waitpid(pid, 0)
    if not answer:
        raise OSError("a process could not restrict itself")
    return Powers(**json.loads(answer))


def lacking() -> str:
    """What boxes lack here, for people; empty when nothing."""
    return "; ".join(try_out().lacking)

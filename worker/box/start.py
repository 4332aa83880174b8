"""Starting a nursery, and ordering a box from it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worker.box.box import Box
from worker.box.fate import PID
from worker.box.nursery import ORDER
from worker.box.pipe import Pipe

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "TZ")

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # of numpy's library: a nursery forks


@dataclass(frozen=True, slots=True)
class NurseryAddress:
    """The nursery of a worker, as its slots inherit it."""

    orders: socket.socket
    pid: int

    def close(self) -> None:
        """Let go of it; it ends when everybody has."""
        self.orders.close()


def start_nursery(memory_mb: int, plugins: Sequence[str], env: Mapping[str, str]) -> NurseryAddress:
    """A nursery that dies with this process, of whose environment it gets what a Python needs. Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:  # whoever calls waits for the process, as for its other children
        command = [sys.executable, "-m", "worker.box", str(theirs.fileno())]
        command += ["--memory-mb", str(memory_mb), "--plugins", ",".join(plugins), "--parent", str(os.getpid())]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={key: env[key] for key in _PASSED_ON if key in env} | _ONE_THREAD,
            pass_fds=(theirs.fileno(),),
        )
    return NurseryAddress(ours, process.pid)


def order_box(nursery: NurseryAddress) -> Box:
    """A box of one's own. Raises OSError when the nursery is gone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    status, its_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs, its_status:
        socket.send_fds(nursery.orders, [ORDER], [theirs.fileno(), its_status.fileno()])
    answer = status.recv(PID.size, socket.MSG_WAITALL)  # nothing where the nursery ended: the first question says so
    pid = PID.unpack(answer)[0] if len(answer) == PID.size else 0
    return Box(Pipe(ours.detach()), status.detach(), pid)

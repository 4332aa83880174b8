"""The fork server: a process that has every parser loaded and never held a secret; sandboxes are forked from it.

It is started by exec with an environment of its own, so that neither a database's URL nor anything that was opened is
in its memory or in that of a sandbox. A process that holds the other end of its socket orders a sandbox by sending two
ends of socket pairs: one to exchange messages with the sandbox, one on which the fork server reports how the sandbox
ended. Sandboxes share its memory; they die with it, and each with the process that ordered it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from worker.processes import ended_children, freeze, oom_kills
from worker.sandbox.messages import Pipe
from worker.sandbox.sandbox import PID, STATUS, Sandbox

ORDER = b"sandbox"
_STDERR_BYTES = 1 << 16  # of what a sandbox writes to standard error
_DESCRIPTORS = 4_096  # more than a fork server ever has open


@dataclass(slots=True)
class _Child:
    """A running sandbox: where to report its end, and what it may still write to our standard error."""

    status: socket.socket
    stderr: int  # the pipe from its standard error
    left: int = _STDERR_BYTES


@dataclass(slots=True)
class ForkServer:
    """Forks sandboxes as they are ordered on `orders`; `body` runs in a sandbox, with the socket to its slot."""

    orders: socket.socket
    body: Callable[[int], int]
    _children: dict[int, _Child] = field(default_factory=dict)
    _oom_kills: int | None = None

    def run(self) -> int:
        """Serve orders until no process is left that might order."""
        freeze()
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._oom_kills = oom_kills()
        while True:
            poll = select.poll()
            poll.register(self.orders, select.POLLIN)
            poll.register(read, select.POLLIN)
            for child in self._children.values():
                poll.register(child.status, 0)  # its other end closed: POLLHUP comes unasked
                if child.stderr >= 0:
                    poll.register(child.stderr, select.POLLIN)
            ready = dict(poll.poll())
            if read in ready:
                os.read(read, 4096)
            self._reap()
            for pid, child in list(self._children.items()):
                if child.stderr in ready:
                    _pass_on(child)
                if child.status.fileno() in ready:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)  # the process that it worked for is gone
            if self.orders.fileno() in ready and not self._take_order():
                return self._end()

    def _end(self) -> int:
        """End the sandboxes that are left, and wait for them, so that the time they used is counted."""
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return 0

    def _take_order(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self.orders, 16, 2)
        if not data:
            return False
        if data != ORDER or len(descriptors) != 2:
            for descriptor in descriptors:
                os.close(descriptor)
            return True
        talk, status = descriptors
        stderr, its_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(stderr, False)
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self._become_sandbox(parent, talk, its_end)
        os.close(talk)
        os.close(its_end)
        child = _Child(socket.socket(fileno=status), stderr)
        with contextlib.suppress(OSError):
            child.status.send(PID.pack(pid))
        self._children[pid] = child
        return True

    def _become_sandbox(self, parent: int, talk: int, stderr: int) -> None:
        """Be a sandbox, in the child: nothing of the fork server stays open but the socket to the slot."""
        code = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number, target in ((nothing, 0), (nothing, 1), (stderr, 2)):
                os.dup2(number, target)
            talk = os.dup2(talk, 3, inheritable=False)
            os.closerange(4, _DESCRIPTORS)
            if os.getppid() == parent:
                code = self.body(talk)
        except BaseException:  # noqa: BLE001  # as `worker.slots.slot.fork_into`: nothing comes back from here
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> None:
        for pid, status in ended_children():
            if (child := self._children.pop(pid, None)) is None:  # a plugin's helper
                continue
            _pass_on(child)
            memory = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and self._oom_grown()
            with contextlib.suppress(OSError):
                child.status.send(STATUS.pack(status, memory))
            child.status.close()
            if child.stderr >= 0:
                os.close(child.stderr)

    def _oom_grown(self) -> bool:
        before, self._oom_kills = self._oom_kills, oom_kills()
        return before is not None and self._oom_kills is not None and self._oom_kills > before


def _pass_on(child: _Child) -> None:
    """Print what the sandbox wrote to standard error, such as where it crashed, up to its limit."""
    while child.stderr >= 0:
        try:
            data = os.read(child.stderr, 4096)
        except BlockingIOError:
            return
        if data and child.left:
            os.write(2, data[: child.left])
            child.left = max(0, child.left - len(data))
        if not data or not child.left:
            os.close(child.stderr)
            child.stderr = -1


_PASSED_ON = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "TZ")

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # of numpy's library: a fork server forks


@dataclass(frozen=True, slots=True)
class ForkServerAddress:
    """The fork server of a worker, as its slots inherit it."""

    orders: socket.socket
    pid: int

    def close(self) -> None:
        """Close our end; the fork server ends when all processes have closed theirs."""
        self.orders.close()


def start_fork_server(memory_mb: int, plugins: Sequence[str], env: Mapping[str, str]) -> ForkServerAddress:
    """Start a fork server that dies with this process, with only those variables of `env` that Python needs.
    Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:  # the caller waits for the process, as for its other children
        command = [sys.executable, "-m", "worker.sandbox", str(theirs.fileno())]
        command += ["--memory-mb", str(memory_mb), "--plugins", ",".join(plugins), "--parent", str(os.getpid())]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={key: env[key] for key in _PASSED_ON if key in env} | _ONE_THREAD,
            pass_fds=(theirs.fileno(),),
        )
    return ForkServerAddress(ours, process.pid)


def order_sandbox(fork_server: ForkServerAddress) -> Sandbox:
    """Order a sandbox for this process. Raises OSError when the fork server is gone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    status, its_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs, its_status:
        socket.send_fds(fork_server.orders, [ORDER], [theirs.fileno(), its_status.fileno()])
    answer = status.recv(PID.size, socket.MSG_WAITALL)  # nothing where the fork server ended: the first request fails
    pid = PID.unpack(answer)[0] if len(answer) == PID.size else 0
    return Sandbox(Pipe(ours.detach()), status.detach(), pid)

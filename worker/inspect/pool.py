"""Processes of `edbench inspect`, forked from the command itself, so that nothing is imported twice.

The command has one thread: the caller that waits for a result does pending work meanwhile. A process that dies loses
only its current work; another one is forked when there is work for it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import sys
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from worker.processes import die_with_parent


class Died(Exception):
    """A process ended before it had answered. `status` is an exit status, or minus the number of the signal."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(slots=True)
class Work:
    """A call that some process is to make, or has made."""

    pool: InspectPool
    call: tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]
    done: bool = False
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Wait for it; what the call gave. Raises Died, or what the call raised."""
        while not self.done:
            self.pool.go_on()
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(slots=True)
class _Process:
    pid: int
    talk: socket.socket
    said: BinaryIO
    work: Work | None = None

    def give(self, work: Work) -> None:
        self.work = work
        with contextlib.suppress(BrokenPipeError):  # it died idle; reading from it will say so
            self.talk.sendall(pickle.dumps(work.call))

    def take(self) -> None:
        """Its answer; raises EOFError where it died."""
        try:
            error, value = pickle.load(self.said)
        except (pickle.UnpicklingError, OSError) as cut:  # in the middle of an answer
            raise EOFError from cut
        self._finish(error, value)

    def bury(self) -> None:
        self.close()
        _, status = os.waitpid(self.pid, 0)
        self._finish(Died(os.waitstatus_to_exitcode(status)))

    def close(self) -> None:
        self.said.close()
        self.talk.close()

    def _finish(self, error: BaseException | None, value: Any = None) -> None:
        if self.work is not None:
            self.work.done, self.work.error, self.work.value, self.work = True, error, value, None


@dataclass(slots=True)
class InspectPool:
    """At most `most` processes, each of which does `begin` first. Close it, or use it as a context.

    `meanwhile`: something to be done once, here, while the first processes are busy."""

    most: int
    begin: Callable[[], None]
    meanwhile: Callable[[], None] | None = None
    _processes: list[_Process] = field(default_factory=list)
    _waiting: deque[Work] = field(default_factory=deque)

    def __enter__(self) -> InspectPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def schedule(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Work:
        """Have a process call this, as soon as one is idle; the call and what it gives are pickled."""
        work = Work(self, (function, args, kwargs))
        self._waiting.append(work)
        self._hand_out()
        return work

    def go_on(self) -> None:
        """Wait until some process has sent something, and distribute the waiting work. Only while there is work."""
        if self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
        poll = select.poll()
        busy = {process.talk.fileno(): process for process in self._processes if process.work is not None}
        for number in busy:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll():
            process = busy[number]
            try:
                process.take()
            except EOFError:
                self._processes.remove(process)
                process.bury()
        self._hand_out()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._waiting.clear()
        while self._processes:
            process = self._processes.pop()
            os.kill(process.pid, signal.SIGKILL)
            process.bury()

    def _hand_out(self) -> None:
        while self._waiting:
            idle = next((process for process in self._processes if process.work is None), None)
            if idle is None:
                if len(self._processes) >= self.most:
                    return
                idle = self._fork()
            idle.give(self._waiting.popleft())

    def _fork(self) -> _Process:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            ours.close()
            for process in self._processes:  # else the end of the others would go unnoticed
                process.close()
            self._serve(theirs, parent)
        theirs.close()
        process = _Process(pid, ours, ours.makefile("rb"))
        self._processes.append(process)
        return process

    def _serve(self, talk: socket.socket, parent: int) -> None:
        """In the child, which does not come back: call what comes, until nothing comes any more."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            die_with_parent(parent)
            begun, _ = _outcome(self.begin)
            with talk, talk.makefile("rb") as orders:
                while True:
                    function, args, kwargs = pickle.load(orders)
                    talk.sendall(_told(*((begun, None) if begun else _outcome(function, *args, **kwargs))))
        except EOFError:
            status = 0
        except BaseException:  # noqa: BLE001 — nothing comes back from here
            traceback.print_exc()
        finally:
            os._exit(status)


def _outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Exception | None, Any]:
    """What it raised, to be raised where the call was ordered, and what it gave."""
    try:
        return None, function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 — it is reported
        error.add_note(traceback.format_exc())
        return error, None


def _told(error: Exception | None, value: Any) -> bytes:
    """The result as it is sent; an exception that cannot be pickled is sent as its text."""
    try:
        data = pickle.dumps((error, value))
        pickle.loads(data)
    except Exception:  # noqa: BLE001 — whatever its own way of being made again raises
        return pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), None))
    return data

"""Hears of the moments that processes come to (core.moments), counts them, and strikes at the one that was aimed at."""

import shutil
import socket
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from chaos.hook import GATE
from chaos.plan import ANY, Strike
from monitoring.processes import process_state

_HEAR_SECONDS = 0.5  # a process may be stopped between saying that it is there and saying where
_CREDENTIALS = struct.Struct("3i")


@dataclass(slots=True, kw_only=True)
class Pending:
    """A strike that waits for its moment."""

    strike: Strike
    moment: str
    of_phase: str  # empty: any
    arrival: int  # the how-manieth
    fired_at: float | None = None  # monotonic seconds
    phase: str = ""  # of the last task that was claimed before it


Answerer = Callable[[str, str, int], str]  # moment, detail, process → what to answer it; empty: nothing special
Strikes = Callable[[Strike, int], None]  # the strike, and the process that came to the moment


class Moments:
    """A listener in a thread; entering it starts it."""

    def __init__(self, strike: Strikes) -> None:
        self._strike = strike
        self._directory = Path(tempfile.mkdtemp(prefix="edbench-chaos-"))
        self.path = self._directory / "moments"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(128)
        self._thread = threading.Thread(target=self._listen, name="moments", daemon=True)
        self._ending = False
        self._lock = threading.Lock()
        self._striking = threading.Lock()
        self._pending: list[Pending] = []
        self._timers: list[threading.Timer] = []
        self._phase = ""
        self._answerers: list[Answerer] = []
        self.counts: Counter[tuple[str, str]] = Counter()  # (moment, phase; "" is any)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending = True
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waker:
            waker.connect(str(self.path))
        self._thread.join()
        self._listener.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def begin(self, strikes: Sequence[Strike], usual: Mapping[tuple[str, str], int]) -> list[Pending]:
        """Forget what was counted and wait for these from now on. `usual`: arrivals in an undisturbed run."""
        with self._lock:
            self.counts.clear()
            self._phase = ""
            self._pending = [_pending(strike, usual) for strike in strikes]
            return list(self._pending)

    def end(self) -> None:
        """Nothing strikes any more; what is striking just now has ended."""
        with self._striking, self._lock:
            self._pending = []
            timers, self._timers = self._timers, []
        for timer in timers:
            timer.cancel()
        for timer in timers:
            timer.join()

    def answering(self, answerer: Answerer, *, storage: bool = False) -> Callable[[], None]:
        """Answer whoever comes to any moment from now on; gives what ends it. `storage`: calls of the storage layer ask
        as well meanwhile."""
        self._answerers.append(answerer)
        gate = self._directory / GATE
        if storage:
            gate.touch()

        def end() -> None:
            if answerer in self._answerers:
                self._answerers.remove(answerer)
            if storage:
                gate.unlink(missing_ok=True)

        return end

    def _listen(self) -> None:
        while not self._ending:
            line, _ = self._listener.accept()
            with line:
                line.settimeout(_HEAR_SECONDS)
                try:
                    self._answer(line)
                except OSError:
                    continue  # it was killed, or is stopped

    def _answer(self, line: socket.socket) -> None:
        shown = line.recv(8192).decode(errors="surrogateescape")
        if not shown:
            return
        pid, _, _ = _CREDENTIALS.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        moment, _, detail = shown.partition(" ")
        phase = "" if moment == "storage" else detail
        answer = b"go"
        for answerer in list(self._answerers):
            answer = answerer(moment, detail, pid).encode() or answer
        with self._striking:
            for due in self._due(moment, phase):
                self._fire(due.strike, pid)
        line.sendall(answer)

    def _fire(self, strike: Strike, pid: int) -> None:
        if not strike.aim.delay:
            self._strike(strike, pid)
            return
        timer = threading.Timer(strike.aim.delay, self._strike, (strike, pid))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _due(self, moment: str, phase: str) -> list[Pending]:
        with self._lock:
            self.counts[moment, ""] += 1
            if phase:
                self.counts[moment, phase] += 1
                self._phase = phase
            due = []
            for pending in self._pending:
                here = pending.moment == moment and pending.of_phase in ("", phase)
                reached = self.counts[pending.moment, pending.of_phase] >= pending.arrival
                if pending.fired_at is None and here and reached:
                    pending.fired_at = time.monotonic()
                    pending.phase = self._phase or "start"
                    due.append(pending)
            return due


def _pending(strike: Strike, usual: Mapping[tuple[str, str], int]) -> Pending:
    """Which arrival it is. Where a job of the kind never comes to such a moment, any commit will do."""
    key = (strike.aim.moment, strike.aim.phase)
    if usual and not usual.get(key):
        key = (ANY, "")
    return Pending(
        strike=strike, moment=key[0], of_phase=key[1], arrival=1 + int(strike.aim.position * usual.get(key, 0))
    )


def is_alive(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    return process_state(pid) not in (None, "Z", "X")

"""core.program.whole: a flag for signal handlers."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from core.program.whole import Stop


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


def test_all_who_wait_are_told() -> None:
    """Promise: it is for several threads, and for those that come later; without a word a wait ends with its time."""
    stop = Stop()
    assert not stop.wait(0)
    told: list[bool] = []
    threads = [threading.Thread(target=lambda: told.append(stop.wait(60))) for _ in range(5)]
    for thread in threads:
        thread.start()
    stop.set()
    for thread in threads:
        thread.join()
    assert told == [True] * 5

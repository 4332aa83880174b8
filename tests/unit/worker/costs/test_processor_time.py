"""What a parser takes is charged to the loose file although it runs in another process, the box."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from worker.costs import count_box, processor_seconds


@pytest.fixture
def spinning() -> Iterator[int]:
    """A process that takes a processor for as long as it gets one."""
    pid = os.fork()
    if not pid:
        while True:
            pass
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    count_box(0)


def test_the_time_of_the_box_counts(spinning: int) -> None:
    """This process waits, its box works: the seconds go on."""
    count_box(spinning)
    begun = processor_seconds()
    end = time.monotonic() + 60
    while processor_seconds() - begun < 0.2 and time.monotonic() < end:
        os.sched_yield()
    own = time.thread_time()
    assert processor_seconds() - begun >= 0.2
    assert processor_seconds() > own + 0.05


def test_a_box_that_is_gone_is_no_fault(spinning: int) -> None:
    """Its slot is about to die of the same; until then the slot's own time counts."""
    count_box(2**22 + 1)  # no process has this number
    assert processor_seconds() >= 0

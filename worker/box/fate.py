"""A slot whose box died dies of the same, so that whoever watches over slots sees what he always saw."""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import struct
from typing import NoReturn

PID = struct.Struct("<i")  # of the box, the first thing that the nursery tells
STATUS = struct.Struct("<i?")  # a wait status, and whether the kernel had killed for want of memory
EXIT_MEMORY, EXIT_BROKEN = 71, 70  # as worker.slots.slot has them
_WAIT_MS = 10_000


def die_alike(descriptor: int) -> NoReturn:
    """End this process as the box ended, whose status the nursery tells on `descriptor`."""
    status, out_of_memory = _told(descriptor)
    if out_of_memory:
        os._exit(EXIT_MEMORY)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        faulthandler.disable()
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
        os.kill(os.getpid(), number)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else EXIT_BROKEN
    os._exit(code if code == EXIT_MEMORY else EXIT_BROKEN)


def _told(descriptor: int) -> tuple[int, bool]:
    """What the nursery says; SIGKILL where it says nothing, because it is gone itself and took its boxes along."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(_WAIT_MS):
        data = os.read(descriptor, STATUS.size)
        if len(data) == STATUS.size:
            status, memory = STATUS.unpack(data)
            return int(status), bool(memory)
    return int(signal.SIGKILL), False

"""One worker of a host looks for all of them.

Two hundred workers that share a kernel would read, send and have thrown away the same counters two hundred times a
second. Those that share scratch agree by a lock on a file there; whoever holds it looks, and when it is gone another
takes over in the same second. Workers in containers of their own do not meet there: they all look, and the
sources' names make it count once.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Protocol

from monitoring.observations import Observation

LOCK = "host-samplers.lock"


class Sampler(Protocol):
    """Looks at one thing of this host."""

    def sample(self) -> list[Observation]:
        """What there is to see now."""


class HostTurn:
    """Whether this process is the one that looks. Held until it ends; the kernel frees the lock of a dead one."""

    def __init__(self, scratch: Path) -> None:
        self._path = scratch / LOCK
        self._descriptor: int | None = None

    def mine(self) -> bool:
        """Whether it is our turn. Without a usable scratch everybody looks."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError:  # a file system without locks
            os.close(descriptor)
            return True
        self._descriptor = descriptor
        return True

    def close(self) -> None:
        """Leave it to another."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class OncePerHost:
    """A sampler that is silent while another worker of the host looks."""

    def __init__(self, turn: HostTurn, sampler: Sampler) -> None:
        self._turn = turn
        self._sampler = sampler

    def sample(self) -> list[Observation]:
        """What the sampler sees, or nothing."""
        return self._sampler.sample() if self._turn.mine() else []

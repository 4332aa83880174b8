"""Ports for servers whose address has to be known before they are started, or that are started again at the same."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

# Below those that the kernel gives to connections, and that embedded brokers choose from (core.services.keeper).
_LOW, _HIGH = 4_000, 10_000


def _take(port: int, held: ExitStack) -> bool:
    """Whether the port is free, and no other test process of this machine has it.

    What says so is a socket with a name in place of a file, which goes with its process, however that ends."""
    mark = held.enter_context(closing(socket.socket(socket.AF_UNIX)))
    try:
        mark.bind(f"\0edbench-test-port-{port}")
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


@contextmanager
def own_ports(count: int = 1) -> Iterator[int]:
    """The first of so many successive ports, which are the caller's while the block lasts."""
    start = _LOW + os.getpid() * 7 % (_HIGH - _LOW - count)
    for base in (*range(start, _HIGH - count, count), *range(_LOW, start, count)):
        with ExitStack() as held:
            if all(_take(port, held) for port in range(base, base + count)):
                yield base
                return
    raise RuntimeError("no free ports")


@pytest.fixture
def port() -> Iterator[int]:
    """A port of one test's own."""
    with own_ports() as own:
        yield own

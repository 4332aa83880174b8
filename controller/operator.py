"""Who gives a command, as it is written down beside what was done."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ACTING: ContextVar[str] = ContextVar("edbench_operator")


def operator() -> str:
    """Whoever is said to act here; else the login's name and the host's, the login's number where it has no name."""
    said = _ACTING.get("")
    if said:
        return said
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.geteuid()}"
    return f"{name}@{socket.gethostname()}"


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Somebody else acts in this context: a request's caller."""
    token = _ACTING.set(who)
    try:
        yield
    finally:
        _ACTING.reset(token)

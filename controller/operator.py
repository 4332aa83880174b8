"""Who gives a command, as it is recorded with the action."""

from __future__ import annotations

import os
import pwd
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ACTING: ContextVar[str] = ContextVar("edbench_operator")
_NAME = re.compile(r"[\w.@\\-]{1,64}\$?")  # of a login; nothing else of the environment gets into a list


def operator() -> str:
    """The caller set by `acting`; else the name of the user that the process runs as and the host's, the user's number
    where it has no name. The user that sudo acts for follows in parentheses. `LOGNAME` and `USER` are not used: any
    user can set them."""
    said = _ACTING.get("")
    if said:
        return said
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = f"uid {os.geteuid()}"
    caller = os.environ.get("SUDO_USER", "")
    behind = f" (sudo: {caller})" if caller != name and _NAME.fullmatch(caller) else ""
    return f"{name}@{socket.gethostname()}{behind}"


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Set another caller for this context: that of a request."""
    token = _ACTING.set(who)
    try:
        yield
    finally:
        _ACTING.reset(token)

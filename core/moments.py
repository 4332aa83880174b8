"""Points of the work that the fault campaign (tests/chaos) can aim a fault at: just before and after claim, commit, publish, barrier.

Anywhere else they cost one comparison. A process that was armed tells the campaign's socket that it has come to a
moment and waits for the answer; while it waits, the campaign may kill or stop it, or take something away from it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

GATE = "storage"  # a file beside the socket: there while calls of the storage layer are to ask too (core.storage.faulty_os)

_socket = ""  # of the campaign; empty: nobody listens
_thread = threading.local()


def arm(path: str) -> None:
    """Tell the campaign that listens at this socket of every moment from now on; forked children inherit it."""
    global _socket
    _socket = path


def reached(moment: str, detail: str = "") -> str:
    """The process is at this moment (`detail`: the phase, say); what the campaign answers, mostly nothing.

    Raises OSError, or sleeps, when the campaign wants that.
    """
    return _tell(moment, detail) if _socket and not getattr(_thread, "unheard", False) else ""


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """This thread tells of no moment: a fault that is being carried out may commit too, and nobody would answer it."""
    _thread.unheard = True
    try:
        yield
    finally:
        _thread.unheard = False


def _tell(moment: str, detail: str) -> str:
    """A campaign that is gone changes nothing."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.connect(_socket)
            line.sendall(f"{moment} {detail}".encode(errors="surrogateescape"))
            line.shutdown(socket.SHUT_WR)
            answer, _, value = line.recv(64).decode().partition(" ")
    except OSError:
        return ""
    if answer == "errno":
        raise OSError(int(value), os.strerror(int(value)))
    if answer == "wait":
        time.sleep(float(value))
    return answer

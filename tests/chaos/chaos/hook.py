"""The hook of `core.moments` in the processes of a campaign: each moment is reported to the campaign's socket, and the process
waits for the answer; meanwhile the campaign may kill or stop it, or take something away from it."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

from core import moments

GATE = "storage"  # a file next to the socket: there while calls of the storage layer are reported too (chaos.faulty_os)

_socket = ""  # of the campaign; empty: none
_thread = threading.local()


def arm(path: str) -> None:
    """Report every moment to the campaign that listens at this socket from now on, or to none; forked children inherit it."""
    global _socket
    _socket = path
    moments.hook = ask if path else None


def ask(moment: str, detail: str = "") -> str:
    """Report a moment and return the answer, empty when the campaign is gone; sleeps, or raises OSError, if the answer says so."""
    if not _socket or getattr(_thread, "unheard", False):
        return ""
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


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Report no moment of this thread: a fault that is being injected may commit too, and no thread would answer it."""
    _thread.unheard = True
    try:
        yield
    finally:
        _thread.unheard = False

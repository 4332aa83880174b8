"""Start, stop and end of a process of edbench, and the URLs that it may show."""

from __future__ import annotations

import atexit
import gc
import os
import queue
import re
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

_HIDDEN = "…"
# A login ends at the last @ of what has no space in it: a password that was not encoded may hold anything else. Without a password
# it ends before the path, where an @ is only a character.
_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s:/?#@]*:\S*|[^\s/?#]*)@")
_PARAMETER = re.compile(r"([?&](?:password|sslpassword|secret|token)=)[^&\s'\"]+", re.IGNORECASE)


def shown_url(url: str) -> str:
    """A URL, valid or not, with everything before its last @ hidden, except the scheme."""
    login, at, place = url.rpartition("@")
    if not at:
        return without_logins(url)
    scheme, separator, _ = login.partition("://")
    return without_logins(f"{scheme}://{_HIDDEN}@{place}" if separator else f"{_HIDDEN}@{place}")


def without_logins(text: str) -> str:
    """A message with the logins of all URLs in it hidden, also passwords that are URL parameters."""
    return _PARAMETER.sub(rf"\1{_HIDDEN}", _LOGIN.sub(rf"\1{_HIDDEN}@", text))


class Stop:
    """A request to stop, like `threading.Event`, that a signal handler may set.

    A handler runs in the main thread between two of its instructions. If that thread is inside `Event.wait` it may hold
    the event's lock; `Event.set` would wait for it for ever, and the process would not end. `SimpleQueue.put` may be
    called at any point (Python's documentation of `queue`), so an entry in a queue ends the wait."""

    def __init__(self) -> None:
        self._entries: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._set = False

    def set(self) -> None:
        """Request the stop; every wait ends, now and later."""
        self._set = True
        self._entries.put(None)

    def is_set(self) -> bool:
        """Whether a stop was requested."""
        return self._set

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until a stop is requested, or for so many seconds; return whether it was requested."""
        if not self._set:
            try:
                self._entries.get(timeout=None if seconds is None else max(0.0, seconds))
            except queue.Empty:
                return self._set
            self._entries.put(None)  # for other waiting threads
        return True


_REQUIRED = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)")


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """The package to install if the missing module belongs to an extra; else None."""
    from importlib.metadata import distributions  # it imports a mail parser, which few commands need

    module = (error.name or "").partition(".")[0]
    ours = (
        (one.name, line) for one in distributions() if one.name.startswith("edbench") for line in one.requires or ()
    )
    for name, line in ours:
        found = _REQUIRED.match(line)
        if found and found[1].replace("-", "_") == module:
            return f"this command needs {found[1]}, which is not installed; run: pip install '{name}[{found[2]}]'"
    return None


# New objects after which the collector looks for cycles among them. A start makes tens of thousands, nearly all of which
# stay: to look at them after every 20,000 took a tenth of the start of `inspect`, and by default it is after every 700.
_NEW_OBJECTS = 100_000


def begin(module: str) -> NoReturn:
    """Load that module, call its `run`, and end with the exit status that it returns."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])  # before there is anything to collect
    status: list[int] = []
    atexit.register(_leave, status)  # registered first, it runs last, after threads, loggers, temporary files
    status.append(import_module(module).run())
    sys.exit(status[0])


def _leave(status: list[int]) -> None:
    """End the process at once: the interpreter would free every module, and the kernel frees all of them anyway."""
    if status:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # the reader has ended; closed; no stream
                stream.flush()
        os._exit(status[0])

"""libmagic by its C interface, loaded at first use: the system's, which its distribution keeps patched, else the one in the
wheel `pylibmagic` (extra `embedded`), which is version 5.41 of 2021.

The wheel is not imported: that would patch `ctypes.CDLL` and set variables that child processes inherit.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path

_MIME_TYPE = 0x10  # MAGIC_MIME_TYPE of magic.h
_UNKNOWN = ("application/octet-stream", "application/x-empty", "inode/x-empty")


class _Library:
    """One loaded library with a database; `database` None: its own. Raises OSError when either cannot be loaded."""

    def __init__(self, path: str, database: bytes | None) -> None:
        self._library = ctypes.CDLL(path)
        for name, result, arguments in (
            ("magic_open", ctypes.c_void_p, [ctypes.c_int]),
            ("magic_load", ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]),
            ("magic_buffer", ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]),
            ("magic_error", ctypes.c_char_p, [ctypes.c_void_p]),
        ):
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self.version = "{}.{:02}".format(*divmod(self._library.magic_version(), 100))
        self._cookie = self._library.magic_open(_MIME_TYPE)
        self._lock = threading.Lock()  # a cookie answers one at a time
        if self._cookie is None or self._library.magic_load(self._cookie, database):
            raise OSError((self._library.magic_error(self._cookie) or b"out of memory").decode(errors="replace"))

    def ask(self, head: bytes) -> str | None:
        with self._lock:
            answer = self._library.magic_buffer(self._cookie, head, len(head))
            return None if answer is None else answer.decode("ascii", "replace")


def _candidates() -> Iterator[tuple[str, bytes | None, str]]:
    """Path, database and description of each."""
    yield "libmagic.so.1", None, "of this system"
    wheel = importlib.util.find_spec("pylibmagic")
    for directory in (wheel and wheel.submodule_search_locations) or ():
        folder = Path(directory)
        yield str(folder / "libmagic.so.1"), bytes(folder / "magic.mgc"), "in the wheel pylibmagic"


@functools.cache
def _found() -> tuple[_Library | None, str]:
    """The library and its description; without one, why there is none."""
    why = "not found"
    for path, database, description in _candidates():
        try:
            library = _Library(path, database)
        except (OSError, AttributeError) as error:  # AttributeError: it lacks a function
            why = str(error)
            continue
        return library, f"{library.version} {description}"
    return None, why


def preload() -> str | None:
    """Load libmagic now (before forking, for example). Returns None, or why there is none."""
    library, description = _found()
    return description if library is None else None


def found() -> str | None:
    """Version and place of the library, such as "5.46 of this system"; None without one."""
    library, description = _found()
    return None if library is None else description


def media_type(head: bytes) -> str | None:
    """The media type of these first bytes; None when libmagic does not know it or is not available. Never raises."""
    library, _ = _found()
    label = None if library is None else library.ask(head)
    return label if label and label.count("/") == 1 and label not in _UNKNOWN else None

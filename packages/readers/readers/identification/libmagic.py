"""libmagic through python-magic, loaded at first use: the system's, which its distribution keeps patched, else the one
in the wheel `pylibmagic` (extra `embedded`), which is version 5.41 of 2021.

The wheel is not imported: that would patch `ctypes.CDLL` and set variables that child processes inherit. Its library is
loaded by path instead; the loader of python-magic then finds it by its name, `libmagic.so.1`."""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Any

_SYSTEM = "libmagic.so.1"
_UNKNOWN = ("application/octet-stream", "application/x-empty", "inode/x-empty")


def _database() -> Path | None:
    """Load libmagic; return the wheel's database, None for the system's library. Raises OSError."""
    try:
        ctypes.CDLL(_SYSTEM)
    except OSError:
        wheel = importlib.util.find_spec("pylibmagic")
        for directory in (wheel and wheel.submodule_search_locations) or ():
            ctypes.CDLL(str(Path(directory) / "libmagic.so.1"))
            return Path(directory) / "magic.mgc"
        raise
    return None


@functools.cache
def _found() -> tuple[Any | None, str]:
    """Return a `magic.Magic` and its description; None and the reason if there is none."""
    try:
        database = _database()
        magic = importlib.import_module("magic")
    except (OSError, ImportError) as error:
        return None, str(error)
    place = "of this system" if database is None else "in the wheel pylibmagic"
    try:
        library = magic.Magic(mime=True, magic_file=None if database is None else str(database))
    except magic.MagicException as error:  # no database
        return None, error.message
    return library, "{}.{:02} {}".format(*divmod(magic.version(), 100), place)


def preload() -> str | None:
    """Load libmagic now (before forking, for example). Return None, or the reason why there is none."""
    library, description = _found()
    return description if library is None else None


def found() -> str | None:
    """Return version and place of the library, such as "5.46 of this system"; None without one."""
    library, description = _found()
    return None if library is None else description


def media_type(head: bytes) -> str | None:
    """Return the media type of these first bytes; None if it is unknown or libmagic is not available. Never raises."""
    library, _ = _found()
    if library is None:
        return None
    try:
        label = str(library.from_buffer(head))
    except Exception:  # noqa: BLE001 - MagicException has no better base; a type that is not known is an answer
        return None
    return label if label.count("/") == 1 and label not in _UNKNOWN else None

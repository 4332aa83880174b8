"""libmagic as `pylibmagic` ships it, loaded at first use.

Importing `pylibmagic` patches `ctypes.CDLL` and prepends its folder to `LD_LIBRARY_PATH`, `LIBRARY_PATH` and
`MAGIC`, which child processes (the database servers) would inherit; both are put back as soon as the library is
loaded. It has to be imported before `magic`, whence the explicit order here instead of import statements.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from typing import Any

_CHANGED = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "MAGIC")


@functools.cache
def _library() -> Any | None:
    """A `magic.Magic` that answers media types; None when libmagic cannot be loaded on this machine."""
    before = {key: os.environ.get(key) for key in _CHANGED}
    init = ctypes.CDLL.__init__
    try:
        shipped = importlib.import_module("pylibmagic")
        magic = importlib.import_module("magic")
        return magic.Magic(mime=True, magic_file=str(shipped.data.joinpath("magic.mgc")))
    except Exception as error:  # noqa: BLE001 - ImportError, OSError, MagicException: any means "not available"
        _why_missing.append(f"{type(error).__name__}: {error}")
        return None
    finally:
        ctypes.CDLL.__init__ = init  # type: ignore[method-assign]
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


_why_missing: list[str] = []


def preload() -> str | None:
    """Load libmagic now (before forking, say); None when it is there, else why it is not."""
    return None if _library() is not None else _why_missing[0]


def media_type(head: bytes) -> str | None:
    """What libmagic takes these first bytes for; None when it does not know or is not available. Never raises."""
    library = _library()
    if library is None:
        return None
    try:
        label = str(library.from_buffer(head))
    except Exception:  # noqa: BLE001 - MagicException is no subclass of anything better; not knowing is an answer
        return None
    if label.count("/") != 1 or label in ("application/octet-stream", "application/x-empty", "inode/x-empty"):
        return None
    return label

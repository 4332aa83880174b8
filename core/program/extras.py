"""Packages of the extras in pyproject.toml, which an installation may lack: a worker does not need them."""

from __future__ import annotations

import re

_REQUIRED = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)")


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to install, when the missing module is of an extra; else None."""
    from importlib.metadata import requires  # it imports a mail parser, which few commands need

    module = (error.name or "").partition(".")[0]
    for line in requires("edbench") or ():
        found = _REQUIRED.match(line)
        if found and found[1].replace("-", "_") == module:
            return f"this needs {found[1]}, which is not installed; run: pip install 'edbench[{found[2]}]'"
    return None

"""Files whose bytes go nowhere: what null storage makes of files that nobody reads again."""

from __future__ import annotations

import os

_NOWHERE = os.devnull


def lead_nowhere(descriptor: int) -> None:
    """What is written through it from now on is discarded by the kernel, a call each as before; the file that it was
    opened as keeps its name and stays as it is. It cannot be synced any more. Raises OSError."""
    nowhere = os.open(_NOWHERE, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.dup2(nowhere, descriptor, inheritable=False)
    finally:
        os.close(nowhere)

"""How much memory this host gives us, control groups considered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psutil

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_USED = (Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"))


def client_memory() -> int:
    """Bytes that may cache files here: the machine's, or the control group's limit if that is less."""
    total, limit = machine_memory(), _number(_LIMITS)
    return total if limit is None else min(total, limit)


def machine_memory() -> int:
    """Bytes of this machine."""
    return int(psutil.virtual_memory().total)


def free_memory() -> int:
    """Bytes that may still be taken without anything being pushed out."""
    available = int(psutil.virtual_memory().available)
    limit, used = _number(_LIMITS), _number(_USED)
    return available if limit is None or used is None else min(available, max(0, limit - used))


def _number(files: Sequence[Path]) -> int | None:
    for file in files:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdigit() else None  # "max": no limit
    return None

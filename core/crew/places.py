"""Where an order's places are: below the roots that a member was configured with, and nowhere else."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from core.crew.messages import Place
from core.errors import SystemFault, UsageError
from core.settings import Settings

NULL_ROOT = Path("/dev/shm")
_PATIENCE_SECONDS = 20.0  # for what the controller made to be seen here: clients cache what is not there


def roots_of(settings: Settings, env: Mapping[str, str]) -> dict[str, Path]:
    """The roots of this process by name. `null`: memory that the workers of a host share, EDBENCH_NULL."""
    roots = {"storage": settings.storage, "null": Path(env.get("EDBENCH_NULL") or NULL_ROOT)}
    return roots if settings.evidence is None else roots | {"evidence": settings.evidence}


def resolved(place: Place, roots: Mapping[str, Path]) -> Path:
    """The path of a place here. Raises UsageError where it is not below its root, links followed, or there is no such root."""
    root = roots.get(place.root)
    if root is None:
        raise UsageError(f"this member has no root {place.root}")
    path = Path(place.path)
    if "\0" in place.path:
        raise UsageError(f"{place.path!r} is not below the {place.root} root of this member")
    real, top = os.path.realpath(root / path), os.path.realpath(root)
    if path.is_absolute() or ".." in path.parts or not _below(real, top):
        raise UsageError(f"{place.path!r} is not below the {place.root} root of this member")
    return root / path


def place_at(path: Path, roots: Mapping[str, Path]) -> Place | None:
    """The place that a path of this host is; None where it is below none of the roots."""
    real = os.path.realpath(path)
    for name, root in roots.items():
        top = os.path.realpath(root)
        if _below(real, top):
            return Place(root=name, path=os.path.relpath(real, top))  # type: ignore[arg-type]
    return None


def wait_for(path: Path) -> None:
    """Until it is here. Raises SystemFault when it does not come."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemFault(f"{path}, which the controller made, is not here: is the same storage mounted?")
        time.sleep(0.1)


def _below(real: str, top: str) -> bool:
    return os.path.commonpath([real, top]) == top

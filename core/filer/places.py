"""Where the arbiter of an emulated filer lies."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from core.filer.model import FilerModel
from core.filer.use import PREFIX

SHARED_MEMORY = Path("/dev/shm")


def arbiter_path(model: FilerModel, scratch: Path, directory: Path | None = None) -> Path:
    """One file for each emulated filer and installation; `directory` belongs to one installation, whose processes share it."""
    home = "" if directory is not None else scratch
    key = hashlib.sha256(f"{os.geteuid()} {home} {model.digest}".encode()).hexdigest()[:24]
    return (directory or SHARED_MEMORY) / f"{PREFIX}{key}"

"""Shared memory that is the workers' own: a small tmpfs, which they see as /dev/shm in a mount namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PLACE = "/dev/shm"
_SCRIPT = f'mount --bind "$0" {_PLACE} && exec "$@"'


def cannot() -> str:
    """Why there can be none here; empty: there can."""
    if os.geteuid() != 0:
        return "mounting a file system requires root"
    for program in ("unshare", "mount", "umount"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    tried = subprocess.run(seeing(Path("/tmp"), ["true"]), capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no mount namespace: {' '.join(tried.stderr.split())[:200]}"


def seeing(directory: Path, command: Sequence[str]) -> Sequence[str]:
    """The command, for which this directory is /dev/shm; it keeps its process id."""
    return [shutil.which("unshare") or "unshare", "--mount", "sh", "-c", _SCRIPT, str(directory), *command]
